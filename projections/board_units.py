"""The units of one suite as columns, in the order of their names' bytes.

Nothing else orders anything, so that no sum and no hash can depend on how a database
or a dictionary happens to list things.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from ledger.canonical import canonical_text
from ledger.clock import micros
from ledger.codec import read_questions
from ledger.errors import UncheckableError
from ledger.events import Question
from ledger.projections.cohort import cohort_line
from ledger.projections.columns import NEVER, Flags, Integers, coded, integers
from ledger.projections.suites import SuiteVersion
from ledger.unit import unit_name

STATUSES = ("RESOLVED", "VOID", "INVALID", "CENSORED", "CANCELED", "PENDING")
RESOLVED, VOID, INVALID, CENSORED, CANCELED, PENDING = range(6)
# Returns the bytes of a pinned file by its SHA-256, or None where it is absent.
Pinned = Callable[[str], bytes | None]
FETCHED = 20_000
Cells = tuple[Any, ...]


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """One row a unit: those that the log speaks of, and those that are only pinned.

    `number` is that of the tables, -1 for a unit that is only pinned. `answers` is a
    row of `answer_lists`; `outcome` and `positive` are indexes into that list, -1 for
    none. `lines` are what a cohort's hash reads. `end_us` is when forecasting ended:
    the cut-off or the start of work. At `own_place` (`own_seq` in the log) computed
    competitors forecast. `targets` and `clusters` are coded in `target` and `cluster`.
    """

    number: Integers
    identities: list[str]
    templates: list[str]
    horizons: list[str]
    targets: list[str]
    clusters: list[str]
    slots: list[str]
    tags: list[str]
    lines: list[bytes]
    answers: Integers
    answer_lists: list[tuple[str, ...]]
    outcome: Integers
    positive: Integers
    target: Integers
    cluster: Integers
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


_SQL = f"""SELECT unit, identity, template, horizon, target, cluster,
    ifnull(slot, ''), ifnull(tags, ''), answers, status, ifnull(outcome, ''),
    cutoff_us, resolve_by_us, min(cutoff_us, ifnull(started_us, {NEVER})),
    ifnull(own_seq, {NEVER}), ifnull(own_us, {NEVER}), own_eligible, reviews, vectors,
    (SELECT count(*) FROM resolutions r WHERE r.unit = q.unit AND NOT r.is_review
        AND r.status <> 'PENDING')
    FROM questions q WHERE suite = ? ORDER BY identity"""  # noqa: S608 - a constant


def read_units(
    connection: sqlite3.Connection, suite: SuiteVersion, pinned: Pinned
) -> Units:
    """Return the units of a suite.

    Raises `UncheckableError` where a pinned list of questions is not at hand.
    """
    rows = connection.execute(_SQL, (suite.name,)).fetchall()
    silent = list(_only_pinned(suite, pinned, {row[1] for row in rows}))
    if silent:
        rows = sorted(rows + silent, key=lambda row: row[1].encode())
    column: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) or [()] * 20
    answer_lists, answers = coded([_answers(text) for text in column[8]])
    kinds = list(zip(column[2], answers.tolist(), strict=True))
    own_seq, own_us = integers(column[14]), integers(column[15])
    return Units(
        number=integers(column[0]),
        identities=list(column[1]),
        templates=list(column[2]),
        horizons=list(column[3]),
        targets=list(column[4]),
        clusters=list(column[5]),
        slots=list(column[6]),
        tags=list(column[7]),
        lines=[
            cohort_line(name, status, outcome) if outcome else b""
            for name, status, outcome in zip(
                column[1], column[9], column[10], strict=True
            )
        ],
        answers=answers,
        answer_lists=answer_lists,
        outcome=_places(zip(column[10], answers.tolist(), strict=True), answer_lists),
        positive=_positives(suite, kinds, answer_lists),
        target=coded(column[4])[1],
        cluster=coded(column[5])[1],
        status=integers([STATUSES.index(status) for status in column[9]]),
        cutoff_us=integers(column[11]),
        resolve_by_us=integers(column[12]),
        end_us=integers(column[13]),
        own_seq=own_seq,
        own_us=own_us,
        own_place=own_us if suite.is_claimed else own_seq,
        own_eligible=integers(column[16]) > 0,
        reviews=integers(column[17]),
        vectors=integers(column[18]),
        records=integers(column[19]),
    )


def _places(
    stated: Iterator[tuple[str, int]], answer_lists: list[tuple[str, ...]]
) -> Integers:
    """Return where each answer stands in its unit's list; -1 for no answer."""
    places = [{each: at for at, each in enumerate(of)} for of in answer_lists]
    return integers([places[of].get(answer, -1) for answer, of in stated])


def _positives(
    suite: SuiteVersion,
    kinds: Sequence[tuple[str, int]],
    answer_lists: list[tuple[str, ...]],
) -> Integers:
    """Return which answer is the event of each unit's template; -1 for none."""
    named = {
        (template, of): (suite.templates[template].positive or "", of)
        for template, of in dict.fromkeys(kinds)
    }
    return _places((named[kind] for kind in kinds), answer_lists)


@lru_cache(1_024)
def _answers(text: str) -> tuple[str, ...]:
    return tuple(msgspec.json.decode(text, type=list[str]))


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
    named = (question.target_name, question.cluster_name, question.slot or "", tags)
    stands = (canonical_text(answers), "PENDING", "")
    times = (cutoff_us, resolve_by_us, cutoff_us, NEVER, NEVER)
    asked = (-1, name, question.template, question.horizon)
    return (*asked, *named, *stands, *times, 0, 0, 0, 0)
