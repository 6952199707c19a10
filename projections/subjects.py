"""What the rows of a suite are about: each competitor on each part, in one slot."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ledger.projections.entrants import Field
from ledger.projections.parts import BUDGET, Part, Parts
from ledger.projections.sample import Sample, sample


class Subject(NamedTuple):
    """One row's subject: a competitor's sample of a part of the suite, in a slot."""

    about: Sample
    part: Part
    slot: str


def subjects(
    field: Field, *, slot: str | None = None, by: Sequence[str] = ()
) -> Iterator[Subject]:
    """Yield each competitor on everything, then on its parts.

    `slot` is the suite's headline unless another is asked for. The suite's own
    `report_by` and `slices` are always there; those of `by` come on top. Raises
    `UsageError` for a slot or grouping that there is not.
    """
    board, manifest = field.board, field.board.suite.manifest
    chosen = manifest.headline if slot is None else slot
    parts = Parts(board, (*manifest.report_by, *manifest.slices, *by))
    for competitor in manifest.competitors:
        if not field.competes(competitor):
            continue
        whole = field.enter(competitor, chosen)
        for part in parts.of(competitor, field.budgets(competitor)):
            entrant = whole
            if part.grouping == BUDGET:
                entrant = field.enter(competitor, chosen, part.value)
            yield Subject(sample(board, entrant, part.units), part, chosen)
