"""How many units of a suite ever had an outcome, and since which entry so many.

An outcome that is amended away was known all the same: whoever could take it out of the
number could look at the same look twice.
"""

import apsw
import msgspec
import numpy as np

from ledger.projections.columns import Integers, integers
from ledger.projections.schema import found

# The entries about a suite: the first one that was received at a unit's cut-off or later
# makes it a declared one.
ENTRIES = """SELECT e.seq, e.received_us FROM
    (SELECT seq, received_us, unit FROM forecasts
    UNION ALL SELECT seq, received_us, unit FROM resolutions) e
    JOIN questions q USING (unit) WHERE q.suite = :suite"""
_COUNTING = """SELECT r.unit, r.seq, r.received_us, r.status,
    ifnull(r.outcome, '') AS outcome, r.started_us, r.published_us, q.cutoff_us
    FROM resolutions r JOIN questions q USING (unit)
    WHERE q.suite = :suite AND q.is_spoken AND r.counts"""
FIRST_OUTCOMES = f"""SELECT min(seq), received_us, cutoff_us FROM ({_COUNTING})
    WHERE status = 'RESOLVED' GROUP BY unit"""  # noqa: S608 - constants
# As they stood before a charter called the key of one of them compromised.
_EVER = """SELECT min(r.seq), q.cutoff_us, min(r.counts)
    FROM resolutions r JOIN questions q USING (unit)
    WHERE q.suite = :suite AND r.status = 'RESOLVED' AND NOT r.is_review
    GROUP BY r.unit"""
# What a later record says of the outcome; of the start of work, of which the last is in
# force; or of an earlier publication. Either of these shuts out vectors that counted.
_AMENDED = f"""WITH counting AS ({_COUNTING} AND q.cutoff_us <= :as_of
        AND r.unit IN (SELECT unit FROM resolutions WHERE seq > :since)),
    known AS (SELECT DISTINCT unit FROM counting
        WHERE seq <= :since AND status = 'RESOLVED'),
    earlier AS (SELECT * FROM counting JOIN known USING (unit) WHERE seq <= :since),
    later AS (SELECT * FROM counting JOIN known USING (unit) WHERE seq > :since)
    SELECT (SELECT count(*) FROM
        (SELECT unit, max(seq), status, outcome FROM earlier GROUP BY unit) AS e
        JOIN (SELECT unit, max(seq), status, outcome FROM later GROUP BY unit) AS l
        USING (unit) WHERE (e.status, e.outcome) <> (l.status, l.outcome))
    + (SELECT count(*) FROM
        (SELECT unit, max(seq), started_us FROM later
            WHERE started_us IS NOT NULL GROUP BY unit) AS l
        LEFT JOIN (SELECT unit, max(seq), started_us FROM earlier
            WHERE started_us IS NOT NULL GROUP BY unit) AS e
        USING (unit) WHERE l.started_us IS NOT e.started_us)
    + (SELECT count(*) FROM
        (SELECT unit, min(published_us) AS published_us FROM later
            WHERE published_us IS NOT NULL GROUP BY unit) AS l
        LEFT JOIN (SELECT unit, min(published_us) AS published_us FROM earlier
            WHERE published_us IS NOT NULL GROUP BY unit) AS e
        USING (unit) WHERE ifnull(l.published_us < e.published_us, 1))
    """  # noqa: S608 - constants


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How many declared units ever had an outcome, and how many before the last rise.

    `is_amended` says that an outcome among them has changed since that rise, or when
    its work is said to have started or it was published, or that a charter took something
    back. So many had one before it took outcomes back (`spent`): looks up to that number
    fell due then, and do so no second time.
    """

    resolved: int
    before: int
    is_amended: bool
    spent: int = 0


def read_reached(
    connection: apsw.Connection, suite: str, as_of_us: int, voided: int
) -> Reached:
    """Return how many units of a suite ever had an outcome, when it was read.

    `voided` is where the last charter stands that took something back; 0 for none.
    """
    spent = _spent(connection, suite, voided) if voided else 0
    rows = found(connection, FIRST_OUTCOMES, {"suite": suite})
    first, received_us, cutoff_us = (
        integers([row[column] for row in rows]) for column in range(3)
    )
    is_declared = cutoff_us <= as_of_us
    first, cutoff_us = first[is_declared], cutoff_us[is_declared]
    if not len(first):
        return Reached(resolved=0, before=0, is_amended=False, spent=spent)
    since = first
    if (received_us[is_declared] < cutoff_us).any():
        entries = found(connection, f"{ENTRIES} ORDER BY e.seq", {"suite": suite})
        seqs, receipts = (
            integers([row[column] for row in entries]) for column in range(2)
        )
        since = declared_with(first, cutoff_us, seqs, receipts)
    last = int(since.max())
    asked: dict[str, str | int] = {"suite": suite, "as_of": as_of_us, "since": last}
    [(amended,)] = found(connection, _AMENDED, asked)
    return Reached(
        resolved=len(since),
        before=int(np.count_nonzero(since < last)),
        is_amended=amended > 0 or voided > last,
        spent=spent,
    )


def _spent(connection: apsw.Connection, suite: str, voided: int) -> int:
    """Return how many declared units had an outcome before some were taken back.

    Whoever signed it: who had the key was not known yet. 0 where none of the suite's
    outcomes was.
    """
    rows = found(connection, _EVER, {"suite": suite})
    first, cutoff_us, counts = (integers([row[at] for row in rows]) for at in range(3))
    if counts.all():
        return 0
    entries = found(connection, f"{ENTRIES} ORDER BY e.seq", {"suite": suite})
    seqs, receipts = (integers([row[column] for row in entries]) for column in range(2))
    since = declared_with(first, cutoff_us, seqs, receipts)
    return int(np.count_nonzero(since < voided))


def declared_with(
    first: Integers, cutoff_us: Integers, seqs: Integers, received_us: Integers
) -> Integers:
    """Return with which entry each unit was first both resolved and declared.

    `first` are the entries of their first outcomes. It lies behind all of `seqs` for a
    unit whose cut-off was not past at the last of these.
    """
    as_of_us = np.maximum.accumulate(received_us)
    place = np.searchsorted(as_of_us, cutoff_us)
    behind = np.append(seqs, seqs[-1:] + 1)
    since: Integers = np.maximum(first, behind[place])
    return since
