"""Reporting rows: what one competitor did in one suite version, slot and slice.

A row is a function of the tables and the manifest alone: no clock is read, and the
ledger's head is attached only when a row is exported, so that a row does not change
when something unrelated is appended. `docs/rows.md` says what each field means.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from ledger import __version__
from ledger.clock import from_micros, instant_text
from ledger.errors import UsageError
from ledger.projections.board import Board
from ledger.projections.columns import Flags, Integers
from ledger.projections.counts import count, integrity, rate
from ledger.projections.entrants import Entrant, enter, has_row
from ledger.projections.measures import cohort_of, measures
from ledger.projections.slots import AT_LEAD

Row = dict[str, Any]
_TAG = "tag:"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which units a row is about, and under which name.

    `grouping` is None for the row over everything. `has_vector` is where the
    competitor's vectors count in this row.
    """

    grouping: str | None
    value: str
    declared: Integers
    has_vector: Flags


def rows(
    board: Board, *, slot: str | None = None, by: Sequence[str] = ()
) -> Iterator[Row]:
    """Yield a suite's rows: each competitor's overall one, then those of its parts.

    `slot` is the suite's headline unless another is asked for. The suite's own
    `report_by` and `slices` are always there; those of `by` come on top. Raises
    `UsageError` for a slot or grouping that there is not.
    """
    manifest = board.suite.manifest
    chosen = slot or manifest.headline
    groupings = dict.fromkeys((*manifest.report_by, *manifest.slices, *by))
    for competitor in manifest.competitors:
        if has_row(board, competitor):
            entrant = enter(board, competitor, chosen)
            for part in _parts(board, entrant, tuple(groupings)):
                yield _row(board, entrant, chosen, part)


def _parts(board: Board, entrant: Entrant, groupings: Sequence[str]) -> Iterator[Part]:
    declared = np.flatnonzero(board.units.cutoff_us <= board.as_of_us)
    has_vector = entrant.slotted.has_vector
    whole = Part(grouping=None, value="", declared=declared, has_vector=has_vector)
    yield whole
    for grouping in groupings:
        if grouping == "adaptation_budget":
            yield from _by_budget(entrant, whole)
        elif grouping == "evidence_tier":
            tier = entrant.competitor.evidence_tier
            if tier is not None:
                yield msgspec.structs.replace(whole, grouping=grouping, value=tier)
        else:
            values = _values(board, grouping)
            for value, units in _grouped(declared, values):
                yield msgspec.structs.replace(
                    whole, grouping=grouping, value=value, declared=units
                )


def _by_budget(entrant: Entrant, whole: Part) -> Iterator[Part]:
    """Yield a part for each budget: all units, those forecast under it counting."""
    for budget in sorted(set(entrant.budgets.values())):
        under = np.zeros(len(whole.has_vector), dtype=np.bool_)
        under[[unit for unit, each in entrant.budgets.items() if each == budget]] = True
        yield msgspec.structs.replace(
            whole,
            grouping="adaptation_budget",
            value=budget,
            has_vector=whole.has_vector & under,
        )


def _values(board: Board, grouping: str) -> Sequence[str | None]:
    """Return what each unit of the suite is grouped by; None for no value."""
    units = board.units
    if grouping.startswith(_TAG):
        tag = grouping.removeprefix(_TAG)
        return [tags.get(tag) for tags in units.traits.tags]
    named: dict[str, Sequence[str | None]] = {
        "horizon": units.horizons,
        "target": units.traits.targets,
        "template": units.templates,
        "slot": [slot or None for slot in units.slots],
    }
    if grouping not in named:
        msg = (
            f"rows cannot be grouped by {grouping!r}: take "
            f"{', '.join(named)}, evidence_tier, adaptation_budget or tag:<name>"
        )
        raise UsageError(msg)
    return named[grouping]


def _grouped(
    declared: Integers, values: Sequence[str | None]
) -> Iterator[tuple[str, Integers]]:
    found: dict[str, list[int]] = {}
    for row in declared.tolist():
        value = values[row]
        if value is not None:
            found.setdefault(value, []).append(row)
    for value in sorted(found, key=str.encode):
        yield value, np.array(found[value], dtype=np.int64)


def _row(board: Board, entrant: Entrant, slot: str, part: Part) -> Row:
    slotted, declared = entrant.slotted, part.declared
    counts = count(board, entrant, declared, part.has_vector)
    scored = part.has_vector[declared] & slotted.is_scored[declared]
    cohort = cohort_of(board, declared[scored])
    shown = {
        name: measure.told()
        for name, measure in measures(board, entrant, cohort).items()
    }
    if slot.startswith(AT_LEAD) and counts["resolved"] and not counts["eligible"]:
        for measure in shown.values():
            measure["reason"] = "no_forecast_at_lead"
    return {
        **_identity(board, entrant, slot, part),
        "exploratory": _exploratory(board, slot, part, counts),
        "counts": counts,
        "coverage": rate(counts["eligible"], counts["units"]),
        "scores": shown,
        "integrity": integrity(board, entrant, declared, counts),
        "window": _window(entrant, cohort.units),
        "as_of": _instant(board.as_of_us),
        "cohort_hash": cohort.hash,
        "scorer": f"sealed-ledger/{__version__} {board.suite.manifest.metrics}",
        "superseded_at": _instant(board.superseded_us),
    }


def _identity(board: Board, entrant: Entrant, slot: str, part: Part) -> Row:
    suite, manifest = board.suite, board.suite.manifest
    owners = {each.question_owner for each in manifest.observable}
    is_horizon = part.grouping == "horizon"
    is_slice = part.grouping is not None and not is_horizon
    return {
        "suite": suite.name,
        "suite_hash": suite.suite_hash,
        "track": manifest.track,
        "run_class": manifest.run_class,
        "run_purpose": manifest.run_purpose,
        "tier": manifest.tier,
        "status": manifest.status,
        "chronology": manifest.chronology,
        "question_owner": "+".join(sorted(owner for owner in owners if owner)),
        "custody": board.custody,
        "forecaster": entrant.competitor.name,
        "layer": entrant.competitor.layer,
        "horizon": part.value if is_horizon else None,
        "slot": slot,
        "slice": f"{part.grouping}={part.value}" if is_slice else None,
        "estimator": "mean",
    }


def _exploratory(
    board: Board, slot: str, part: Part, counts: dict[str, int]
) -> list[str]:
    """Return why a row is no result of the suite's plan; nothing where it is one."""
    manifest = board.suite.manifest
    declared = {*manifest.report_by, *manifest.slices}
    is_part = part.grouping is not None
    claims = {
        "run_class": manifest.run_class == "exploratory",
        "undeclared_slot": slot != manifest.headline,
        "undeclared_slice": is_part and part.grouping not in declared,
        "min_slice": is_part and counts["scored"] < manifest.statistics.min_slice,
    }
    return [reason for reason, holds in claims.items() if holds]


def _window(entrant: Entrant, units: Integers) -> dict[str, str] | None:
    """Return when the cohort's first and last vectors were sealed."""
    if not len(units):
        return None
    first = from_micros(int(entrant.slotted.first_us[units].min()))
    last = from_micros(int(entrant.slotted.last_us[units].max()))
    return {"from": instant_text(first), "until": instant_text(last)}


def _instant(instant_us: int | None) -> str | None:
    return None if instant_us is None else instant_text(from_micros(instant_us))
