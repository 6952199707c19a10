"""What vectors say that they cost: their `extensions.cost`, a text by name."""

from ledger.projections.docket import Docket
from ledger.projections.lineage import REVEAL, Lineage
from ledger.projections.tables import CostRow


def cost_rows(docket: Docket, lineage: Lineage) -> list[CostRow]:
    """Return what vectors state of their cost; a reveal is no vector and made none."""
    forecasts, numbers = docket.forecasts, docket.units.number
    return [
        CostRow(
            seq=int(forecasts.seq[row]),
            cost=name,
            unit=int(numbers[forecasts.unit[row]]),
            stated=stated,
        )
        for row, costs in enumerate(forecasts.costs)
        if costs and lineage.kind[row] != REVEAL
        for name, stated in costs.items()
    ]
