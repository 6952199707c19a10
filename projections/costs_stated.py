"""What vectors say that they cost: their `extensions.cost`, a text by name.

Few state any. An event whose bytes do not hold the key is not looked into again.
"""

import msgspec

from ledger.projections.docket import Docket
from ledger.projections.lineage import REVEAL, Lineage
from ledger.projections.tables import CostRow

# Canonical JSON spells a key in this one way.
_KEY = b'"cost":'


class _Extensions(msgspec.Struct, frozen=True, gc=False):
    cost: dict[str, str] = {}


class _Forecast(msgspec.Struct, frozen=True, gc=False):
    extensions: _Extensions = _Extensions()


_FORECAST = msgspec.json.Decoder(_Forecast)


def cost_rows(docket: Docket, lineage: Lineage) -> list[CostRow]:
    """Return what vectors state of their cost; a reveal is no vector and made none."""
    forecasts, numbers = docket.forecasts, docket.units.number
    stating = (
        row
        for row, entry in enumerate(forecasts.entries)
        if _KEY in entry.payload and lineage.kind[row] != REVEAL
    )
    return [
        CostRow(
            seq=int(forecasts.seq[row]),
            cost=name,
            unit=int(numbers[forecasts.unit[row]]),
            stated=stated,
        )
        for row in stating
        for name, stated in _FORECAST.decode(
            forecasts.entries[row].payload
        ).extensions.cost.items()
    ]
