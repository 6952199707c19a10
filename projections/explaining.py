"""One figure of a row explained: its formula, and what the row put into it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ledger.errors import UsageError
from ledger.projections.explaining_steps import total
from ledger.projections.glossary import GLOSSARY, Entry
from ledger.projections.glossary_blocks import OF_BLOCKS
from ledger.projections.glossary_gates import OF_GATES
from ledger.projections.glossary_units import OF_UNITS
from ledger.projections.glossary_worth import OF_WORTH
from ledger.projections.rows import Row
from ledger.suite import SuiteManifest
from ledger.suite_table import suggestion

# Everything that a row publishes by name, scores first.
FIGURES: dict[str, Entry] = {
    **{
        name: each._replace(paths=(f"scores.{name}",))
        for name, each in GLOSSARY.items()
    },
    **OF_GATES,
    **OF_WORTH,
    **OF_BLOCKS,
    **OF_UNITS,
}
# Which row a figure is of.
_OF = ("suite", "forecaster", "horizon", "slot", "slice", "cohort_hash", "window")
# A path's step that any name or place takes.
_ANY = "*"
# What begins an input that stands beside its figure, wherever that stands.
_BESIDE = "./"
# What comes before a path of the manifest.
_SUITE = "suite"
# The steps to something in a row, and what stands there.
Found = tuple[tuple[str, ...], Any]


def entry_of(figure: str) -> Entry:
    """Return what is known of a figure, by its name or by a path at which it stands.

    Raises `UsageError` for one that there is not.
    """
    found = FIGURES.get(figure) or next(_at_path(figure), None)
    if found is None:
        hint = suggestion(figure, FIGURES) or "docs/rows.md lists what there is"
        raise UsageError(f"no row has a figure {figure!r}: {hint}")
    return found


def _at_path(path: str) -> Iterator[Entry]:
    """Yield the entries of figures that stand at a path such as `scores.brier`."""
    for entry in FIGURES.values():
        for known in entry.paths:
            if re.fullmatch(re.escape(known).replace(r"\*", ".+"), path):
                yield entry


def explained(
    figure: str, rows: Iterable[Row], suites: Mapping[str, SuiteManifest]
) -> dict[str, Any]:
    """Return a figure's definition and, wherever a row has it, value and inputs.

    `suites` are the suites of the rows, by name: they declare parameters that formulas
    take. Raises `UsageError` for a figure that there is not.
    """
    entry = entry_of(figure)
    return {
        "figure": figure,
        "better": entry.better or None,
        "meaning": entry.meaning,
        "formula": entry.formula,
        "source": entry.source,
        "elsewhere": entry.elsewhere or None,
        "rows": [
            _of_row(entry, row, suites.get(row["suite"]), path, found)
            for row in rows
            for path in entry.paths
            for found in standing_at(row, path)
        ],
    }


def _of_row(
    entry: Entry, row: Row, manifest: SuiteManifest | None, path: str, found: Found
) -> dict[str, Any]:
    steps, measure = found[0], _measure(found[1])
    inputs = {"n": measure["n"]} if "n" in measure else {}
    if entry.is_mean:
        inputs |= total(row, measure)
    if entry.step is not None:
        inputs |= entry.step(row, measure)
    has_interval = entry.is_resampled and bool({"lo", "ci_reason"} & measure.keys())
    if has_interval and "drawn" not in measure:
        inputs["counts.clusters"] = row["counts"]["clusters"]
    # An input stands under the same names as the figure.
    names = [
        at for step, at in zip(path.split("."), steps, strict=True) if step == _ANY
    ]
    beside = ".".join(steps[:-1])
    for each in entry.inputs:
        place = each.replace(_BESIDE, f"{beside}.", 1)
        inputs |= {".".join(at): told for at, told in standing_at(row, place, names)}
    if manifest is not None:
        inputs |= _declared(manifest, entry.declared, names)
    # A figure over fewer units than the row says how its own resamples were drawn.
    inference = {**row["inference"], **measure.get("drawn", {})}
    return {
        **{name: row[name] for name in _OF},
        "path": ".".join(steps),
        **measure,
        "inputs": inputs,
        "inference": inference if has_interval else None,
    }


def _declared(
    manifest: SuiteManifest, paths: Iterable[str], names: Iterable[str]
) -> dict[str, Any]:
    """Return what a suite declares at some paths, as its manifest spells it."""
    found: dict[str, Any] = {}
    for path in paths:
        known = iter(names)
        steps = [next(known) if step == _ANY else step for step in path.split(".")]
        declared: Any = manifest
        for step in steps:
            of_name = isinstance(declared, dict)
            declared = declared.get(step) if of_name else getattr(declared, step)
        found[".".join((_SUITE, *steps))] = _spelled(declared)
    return found


def _spelled(declared: Any) -> Any:  # noqa: ANN401 - any part of a manifest
    """Return a part of a manifest as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(declared))


def _measure(found: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a figure with its parts by name; one that has none is its own value."""
    if isinstance(found, dict) and {"value", "lo"} & found.keys():
        return found
    return {"value": found}


def standing_at(row: Row, path: str, names: Iterable[str] = ()) -> list[Found]:
    """Return what stands at a path of a row, and where: in several places if it has `*`.

    `names` are what its first `*` stand for. What is not there is left out.
    """
    found: list[Found] = [((), row)]
    known = iter(names)
    for step in path.split("."):
        wanted = next(known, _ANY) if step == _ANY else step
        found = [
            ((*at, name), inner)
            for at, outer in found
            for name, inner in _within(outer)
            if wanted in {name, _ANY}
        ]
    return found


def _within(outer: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    if isinstance(outer, dict):
        yield from outer.items()
    elif isinstance(outer, list):
        yield from ((str(place), inner) for place, inner in enumerate(outer))
