"""The pool: whose outcomes are the past of a suite's computed competitors."""

import apsw
import msgspec
import numpy as np

from ledger.projections.baselines import Past, Traits, decays
from ledger.projections.board_units import Units
from ledger.projections.columns import NEVER, Integers, integers, taken
from ledger.projections.decay import DAY_US
from ledger.projections.fetching import Columns, batches, gather, joined
from ledger.projections.resolutions import spans
from ledger.projections.suites import SuiteVersion


def read_pool(
    connection: apsw.Connection, suite: SuiteVersion, units: Units
) -> tuple[Traits, dict[tuple[str, ...], Past]]:
    """Return the traits of all units concerned, and while each outcome was known."""
    pool = suite.manifest.baseline_pool
    within = (
        f"q.suite IN ({','.join('?' * len(pool.suites))}) "
        f"AND q.template IN ({','.join('?' * len(pool.templates))})"
    )
    named = (*pool.suites, *pool.templates)
    sql = (
        "SELECT unit, target, ifnull(tags, '') FROM questions q "  # noqa: S608 - marks
        f"WHERE suite <> ? AND {within}"
    )
    others = gather(
        batches(connection, sql, (suite.name, *named)), "unit", "target tags"
    )
    # Only what decays has an age: then the moments of the records are read too.
    aged = ("r.received_us, ", " received_us") if decays(suite.manifest) else ("", "")
    sql = (
        f"SELECT r.unit, r.seq, ifnull(r.published_us, {NEVER}), r.counts, {aged[0]}"  # noqa: S608 - marks
        "CASE r.status WHEN 'RESOLVED' THEN r.outcome ELSE '' END, q.answers "
        f"FROM resolutions r JOIN questions q USING (unit) WHERE {within} "
        "ORDER BY r.unit, r.seq"
    )
    records = gather(
        batches(connection, sql, named),
        f"unit seq published_us counts{aged[1]}",
        "outcome answers",
    )
    numbers = np.concatenate([units.number, others["unit"]])
    traits = Traits(
        joined(units.target, others["target"]), joined(units.tags, others["tags"])
    )
    return traits, _past(suite, numbers, records)


def _past(
    suite: SuiteVersion, numbers: Integers, records: Columns
) -> dict[tuple[str, ...], Past]:
    seq, counts = records["seq"], records["counts"] > 0
    span = spans(records["unit"], seq, records["published_us"], counts)
    known, until = (
        (span.known_us, span.known_until_us)
        if suite.is_claimed
        else (np.where(counts, seq, NEVER), span.until_seq)
    )
    days = _days(suite, records, known, until)
    order = np.argsort(numbers)
    row = order[np.searchsorted(numbers[order], records["unit"])]
    found = {}
    for code, text in enumerate(records["answers"].names):
        answers = tuple(msgspec.json.decode(text, type=list[str]))
        names = records["outcome"].names
        places = integers(
            [answers.index(name) if name in answers else -1 for name in names]
        )
        outcome = places[records["outcome"].code]
        of_list = records["answers"].code == code
        chosen = np.flatnonzero(of_list & (known != NEVER) & (outcome >= 0))
        found[answers] = Past(
            unit=row[chosen],
            outcome=outcome[chosen],
            known=known[chosen],
            until=until[chosen],
            known_day=None if days is None else days[0][chosen],
            until_day=None if days is None else days[1][chosen],
        )
    return found


def _days(
    suite: SuiteVersion, records: Columns, known: Integers, until: Integers
) -> tuple[Integers, Integers] | None:
    """Return the days of two places of each record, where some rate decays."""
    if not decays(suite.manifest):
        return None
    if suite.is_claimed:
        return known // DAY_US, until // DAY_US
    received_us, seq = records["received_us"], records["seq"]
    order = np.argsort(seq)
    superseding = np.where(
        until == NEVER, -1, order[np.searchsorted(seq, until, sorter=order) % len(seq)]
    )
    return received_us // DAY_US, taken(received_us, superseding) // DAY_US
