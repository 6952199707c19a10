"""Reporting rows: what one competitor did in one suite version, horizon, slot, slice.

A row is a function of the tables and the manifest alone: no clock is read, and the
ledger's head is attached only when a row is exported, so that a row does not change
when something unrelated is appended. `docs/rows.md` says what each field means.

    board, board_units, board_looks, pool   a suite's tables as columns, and its past
    baselines, computed        what its computed competitors say, and where
    decay, recalibration       how old outcomes count, what the past makes of a source
    slots, slotted, entrants   what a competitor has on each unit, in a slot
    parts, sample, subjects    which units a row is about; splits, looks: and when
    counts, costs, missing, rates, labels, looks, splits   what a row says of its units
    ground, seeds, inferred    what its statistics take, and are drawn from
    measures, calibrated, drifting, quantified, ablating, adapting, spreading   scores
    recalibrating              how much of a recalibrated row is recalibrated
    permuted, leak_tests, promoting, gated, acting   what may be claimed, and its worth
    weighed                    all of these, each once
    report                     rows that are kept until an event outdates them
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ledger import __version__
from ledger.clock import text_of_micros
from ledger.projections.cohort import EMPTY, NO_FORECAST_AT_LEAD
from ledger.projections.costs import costs
from ledger.projections.counts import count
from ledger.projections.entrants import Entrant, Field
from ledger.projections.ground import Ground
from ledger.projections.labels import in_the_way, labels
from ledger.projections.looks import look
from ledger.projections.missing import bounds
from ledger.projections.parts import BUDGET, SPLIT, Part
from ledger.projections.rates import coverage, integrity
from ledger.projections.sample import Cohort, Sample
from ledger.projections.slots import AT_LEAD
from ledger.projections.splits import HOLDOUT
from ledger.projections.subjects import Subject, subjects
from ledger.projections.weighed import Question, Scale

# Canonical JSON holds it as it is: text, integers, no floats.
Row = dict[str, Any]


def rows(
    field: Field, *, slot: str | None = None, by: Sequence[str] = ()
) -> Iterator[Row]:
    """Yield a suite's rows: each competitor's overall one, then those of its parts.

    Slot and groupings are as `subjects` takes them, and refused as there.
    """
    scale = Scale(field)
    for subject in subjects(field, slot=slot, by=by):
        yield row_of(subject, scale)


def row_of(subject: Subject, scale: Scale) -> Row:
    """Return the row of a subject."""
    about, part, slot = subject
    board, entrant = about.board, about.entrant
    counts, cohort = count(about), about.cohort(about.scored)
    covered = coverage(about)
    labelled = labels(about, part, counts, covered, slot)
    asked = _question(about, part, labelled)
    ground = Ground(about, cohort)
    found = scale.weigh(ground, asked)
    if part.grouping != BUDGET:
        found = {**found, **scale.declared(ground, slot)}
    spent = costs(about, cohort)
    if slot.startswith(AT_LEAD) and counts["unslotted"]:
        _name_the_lead(found["scores"])
    return {
        **_identity(about, part, slot),
        "labels": labelled,
        "counts": counts,
        "coverage": covered,
        **found,
        **({"costs": spent} if spent else {}),
        "bounds": bounds(about, cohort),
        "integrity": integrity(about, counts),
        "window": _window(entrant, cohort),
        "as_of": _instant(board.as_of_us),
        "look": look(board),
        "cohort_hash": cohort.hash,
        "scorer": f"{board.suite.manifest.metrics} sealed-ledger/{__version__}",
        "superseded_at": _instant(board.superseded_us),
    }


def _identity(about: Sample, part: Part, slot: str) -> Row:
    board, competitor = about.board, about.entrant.competitor
    suite, manifest = board.suite, board.suite.manifest
    owners = {str(each.question_owner) for each in manifest.observable}
    return {
        "suite": suite.name,
        "suite_hash": suite.suite_hash,
        "track": manifest.track,
        "run_class": manifest.run_class,
        "run_purpose": manifest.run_purpose,
        "tier": manifest.tier,
        "status": manifest.status,
        "chronology": manifest.chronology,
        "question_owner": "+".join(sorted(owners)),
        "custody": board.custody,
        "forecaster": competitor.name,
        "layer": competitor.layer,
        "source": competitor.of,
        "role": competitor.role,
        "principal_entries": _entries(about),
        "evidence_tier": competitor.evidence_tier,
        "horizon": part.horizon,
        "slot": slot,
        "slice": part.slice,
        "estimator": manifest.estimator,
    }


def _entries(about: Sample) -> int | None:
    """Return how many competitors of the suite the same principal seals.

    Of many entries some look good by chance alone. None where nobody seals it.
    """
    principal = about.entrant.competitor.principal
    if principal is None:
        return None
    competitors = about.board.suite.manifest.competitors
    return sum(each.principal == principal for each in competitors)


def _question(about: Sample, part: Part, labelled: list[str]) -> Question:
    """Return what a row is asked: promotion is decided on the whole, or on a holdout."""
    splits = about.board.suite.manifest.statistics.splits
    return Question(
        is_whole=part.grouping in {None, SPLIT},
        is_forward=HOLDOUT in labelled if splits else True,
        in_the_way=in_the_way(labelled),
    )


def _name_the_lead(scores: Row) -> None:
    """Say of what is empty that no vector was sealed so early."""
    for each in scores.values():
        if each.get("reason") == EMPTY:
            each["reason"] = NO_FORECAST_AT_LEAD


def _window(entrant: Entrant, cohort: Cohort) -> dict[str, str] | None:
    """Return when the cohort's first and last vectors were sealed."""
    if not cohort.size:
        return None
    first = int(entrant.slotted.first_us[cohort.units].min())
    last = int(entrant.slotted.last_us[cohort.units].max())
    return {
        "from": text_of_micros(first),
        "until": text_of_micros(last),
    }


def _instant(instant_us: int | None) -> str | None:
    return None if instant_us is None else text_of_micros(instant_us)
