"""Competitors side by side in declared columns, and never in one number.

A scalar over tracks or tasks would need weights that nobody declared. What can be
said without them is who is beaten in every respect: the others are the Pareto front.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec
import numpy as np

from ledger.projections.cohort import Measure
from ledger.projections.columns import Integers
from ledger.projections.exact import UNITS
from ledger.projections.resampling_sums import cluster_sums


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One capability, as declared: what it is called, and which way is better."""

    name: str
    higher_is_better: bool


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """Who has what in each column, in the order of the columns.

    `front` are those whom nobody else beats, by name; `incomparable` those with a
    column that is undefined: with nothing to compare they neither beat nor are beaten.
    """

    columns: tuple[Column, ...]
    cells: dict[str, tuple[Measure, ...]]
    front: tuple[str, ...]
    incomparable: tuple[str, ...]


class Extremes(msgspec.Struct, frozen=True, kw_only=True):
    """The cells, such as partners, in which a mean score is least and most.

    Of cells with the same mean, the first by name is named.
    """

    least: Fraction
    least_cell: str
    most: Fraction
    most_cell: str


def capability(
    columns: Sequence[Column], scores: Mapping[str, Mapping[str, Measure]]
) -> Capability:
    """Return the table of competitors, given their measures by column, and its front."""
    cells = {
        name: tuple(measures[column.name] for column in columns)
        for name, measures in scores.items()
    }
    whole = {
        name: [
            each.value if column.higher_is_better else -each.value
            for column, each in zip(columns, row, strict=True)
            if each.value is not None
        ]
        for name, row in cells.items()
    }
    comparable = {name: row for name, row in whole.items() if len(row) == len(columns)}
    return Capability(
        columns=tuple(columns),
        cells=cells,
        front=tuple(
            sorted(
                (
                    name
                    for name, row in comparable.items()
                    if not any(_beats(other, row) for other in comparable.values())
                ),
                key=str.encode,
            )
        ),
        incomparable=tuple(sorted(cells.keys() - comparable.keys(), key=str.encode)),
    )


def _beats(one: Sequence[Fraction], other: Sequence[Fraction]) -> bool:
    """Tell whether one is nowhere worse than the other, and somewhere better."""
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def extremes(
    scores: Integers, cells: Integers, names: Sequence[str]
) -> Extremes | None:
    """Return the least and the most mean of unit scores by cell; None of no units.

    `scores` are in units of 1e-12; `cells` are rows of `names`, which ascend.
    """
    if not len(scores):
        return None
    sizes = np.bincount(cells, minlength=len(names)).tolist()
    sums = cluster_sums(scores, cells, len(names))
    means = {
        cell: Fraction(total, size * UNITS)
        for cell, (total, size) in enumerate(zip(sums, sizes, strict=True))
        if size
    }
    least, most = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    return Extremes(
        least=means[least],
        least_cell=names[least],
        most=means[most],
        most_cell=names[most],
    )
