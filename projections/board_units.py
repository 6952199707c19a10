"""The units of one suite as columns, in the order of their names' bytes.

Nothing else orders anything, so that no sum and no hash can depend on how a database
or a dictionary happens to list things.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import apsw
import msgspec
import numpy as np

from ledger.canonical import canonical_text
from ledger.clock import micros
from ledger.codec import read_questions
from ledger.errors import UncheckableError
from ledger.events import Question
from ledger.projections.cohort import cohort_line
from ledger.projections.columns import NEVER, Flags, Integers, integers
from ledger.projections.fetching import Columns, Texts, batches, gather
from ledger.projections.suites import SuiteVersion
from ledger.unit import unit_name

STATUSES = ("RESOLVED", "VOID", "INVALID", "CENSORED", "CANCELED", "PENDING")
RESOLVED, VOID, INVALID, CENSORED, CANCELED, PENDING = range(6)
# Returns the bytes of a pinned file by its SHA-256, or None where it is absent.
Pinned = Callable[[str], bytes | None]
Cells = tuple[Any, ...]


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit: those that the log speaks of, and those that are only pinned.

    `number` is that of the tables, -1 for a unit that is only pinned. `answers` is a
    row of `answer_lists`; `outcome` and `positive` are indexes into that list, -1 for
    none. `lines` are what a cohort's hash reads. `end_us` is when forecasting ended:
    the cut-off or the start of work. At `own_place` (`own_seq` in the log) computed
    competitors forecast. `resolved_seq` is the position of the record that stands,
    `NEVER` without one, and `reason` the code that it gives, empty for none.
    """

    number: Integers
    identities: list[str]
    lines: list[bytes]
    template: Texts
    horizon: Texts
    target: Texts
    cluster: Texts
    slot: Texts
    tags: Texts
    reason: Texts
    answers: Integers
    answer_lists: list[tuple[str, ...]]
    outcome: Integers
    positive: Integers
    status: Integers
    cutoff_us: Integers
    resolve_by_us: Integers
    end_us: Integers
    own_seq: Integers
    own_us: Integers
    own_place: Integers
    own_eligible: Flags
    reviews: Integers
    vectors: Integers
    records: Integers
    resolved_seq: Integers
    is_spoken: Flags

    def are_declared(self, as_of_us: int) -> Flags:
        """Mark the units whose cut-off is past, and that not only thieves opened."""
        declared: Flags = (self.cutoff_us <= as_of_us) & self.is_spoken
        return declared


_NUMBERS = (
    "number cutoff_us resolve_by_us end_us own_seq own_us own_eligible reviews vectors "
    "records resolved_seq is_spoken"
)
_TRAITS = "template horizon target cluster slot tags reason"
_TEXTS = f"{_TRAITS} answers status outcome"
_SQL = f"""SELECT unit, cutoff_us, resolve_by_us,
    min(cutoff_us, ifnull(started_us, {NEVER})), ifnull(own_seq, {NEVER}),
    ifnull(own_us, {NEVER}), own_eligible, reviews, vectors,
    (SELECT count(*) FROM resolutions r WHERE r.unit = q.unit AND NOT r.is_review
        AND r.status <> 'PENDING'), ifnull(resolved_seq, {NEVER}),
    is_spoken, template, horizon, target, cluster, ifnull(slot, ''), ifnull(tags, ''),
    ifnull((SELECT reason_code FROM resolutions r WHERE r.seq = q.resolved_seq), ''),
    answers, status, ifnull(outcome, ''), identity
    FROM questions q WHERE suite = ? ORDER BY identity"""  # noqa: S608 - a constant


def read_units(
    connection: apsw.Connection, suite: SuiteVersion, pinned: Pinned
) -> Units:
    """Return the units of a suite.

    Raises `UncheckableError` where a pinned list of questions is not at hand.
    """
    identities: list[str] = []
    lines: list[bytes] = []
    found = gather(
        (
            _named(rows, identities, lines)
            for rows in _rows(connection, suite, pinned, identities)
        ),
        _NUMBERS,
        _TEXTS,
    )
    if -1 in found["number"]:
        rows = sorted(range(len(identities)), key=lambda row: identities[row].encode())
        identities, order = [identities[row] for row in rows], integers(rows)
        lines = [lines[row] for row in rows]
        found = {
            name: column.ordered(order) if isinstance(column, Texts) else column[order]
            for name, column in found.items()
        }
    return _units(suite, identities, lines, found)


def _rows(
    connection: apsw.Connection,
    suite: SuiteVersion,
    pinned: Pinned,
    spoken_of: Collection[str],
) -> Iterator[list[Cells]]:
    """Yield the rows of units: first those that `spoken_of` comes to name, then others."""
    yield from batches(connection, _SQL, (suite.name,))
    yield from ([cells] for cells in _only_pinned(suite, pinned, set(spoken_of)))


def _named(rows: list[Cells], identities: list[str], lines: list[bytes]) -> list[Cells]:
    """Note the names of units, and their lines; return the other cells."""
    for *_, status, outcome, identity in rows:
        identities.append(identity)
        lines.append(cohort_line(identity, status, outcome) if outcome else b"")
    return [row[:-1] for row in rows]


def _units(
    suite: SuiteVersion, identities: list[str], lines: list[bytes], found: Columns
) -> Units:
    stated, answers, template = (
        found["answers"],
        found["answers"].code,
        found["template"],
    )
    lists = [tuple(msgspec.json.decode(text, type=list[str])) for text in stated.names]
    positive = [suite.templates[name].positive or "" for name in template.names]
    statuses = integers([STATUSES.index(status) for status in found["status"].names])
    kept = (*_NUMBERS.split(), *_TRAITS.split())
    return Units(
        identities=identities,
        lines=lines,
        answers=answers,
        answer_lists=lists,
        outcome=_places(found["outcome"], answers, lists),
        positive=_places(Texts(positive, template.code), answers, lists),
        status=statuses[found["status"].code],
        own_place=found["own_us" if suite.is_claimed else "own_seq"],
        **{
            **{name: found[name] for name in kept},
            "own_eligible": found["own_eligible"] > 0,
            "is_spoken": found["is_spoken"] > 0,
        },
    )


def _places(stated: Texts, answers: Integers, lists: list[tuple[str, ...]]) -> Integers:
    """Return where each unit's answer stands in its list; -1 for one that does not."""
    pairs, which = np.unique(stated.code * len(lists) + answers, return_inverse=True)
    found = []
    for pair in pairs.tolist():
        name, of = stated.names[pair // len(lists)], lists[pair % len(lists)]
        found.append(of.index(name) if name in of else -1)
    return integers(found)[which]


def _only_pinned(
    suite: SuiteVersion, pinned: Pinned, spoken_of: set[str]
) -> Iterator[Cells]:
    """Yield the cells of pinned units that no event of the log speaks of."""
    for template in suite.manifest.observable:
        if template.question_owner != "evaluator" or template.questions is None:
            continue
        digest = suite.manifest.pins[template.questions]
        content = pinned(digest)
        if content is None:
            msg = (
                f"{suite.name} pins its questions in {template.questions!r} "
                f"({digest}), and that file is not in blobs/: put it there"
            )
            raise UncheckableError(msg)
        for question in read_questions(content):
            name = unit_name(
                suite.name, question.template, question.id, question.horizon
            )
            if question.template == template.id and name not in spoken_of:
                spoken_of.add(name)
                yield _silent(name, question, template.answers or question.answers)


def _silent(name: str, question: Question, answers: tuple[str, ...]) -> Cells:
    cutoff_us, resolve_by_us = micros(question.cutoff_at), micros(question.resolve_by)
    tags = canonical_text(question.tags) if question.tags else ""
    times = (cutoff_us, resolve_by_us, cutoff_us, NEVER, NEVER)
    asked = (question.template, question.horizon)
    named = (question.target_name, question.cluster_name, question.slot or "", tags)
    return (
        -1,
        *times,
        0,
        0,
        0,
        0,
        NEVER,
        1,
        *asked,
        *named,
        "",
        canonical_text(answers),
        "PENDING",
        "",
        name,
    )
