"""What events say of numbers: forecasts of quantities, and their observed values.

Most suites ask for no number, and their events are not looked into again. Where one
does, its events are decoded a second time, for nothing else.
"""

from collections.abc import Iterator

import msgspec

from ledger.projections.columns import Integers
from ledger.projections.docket import Docket
from ledger.projections.lineage import REVEAL, Lineage
from ledger.projections.tables import ObservationRow, QuantityRow

_ABSENT = msgspec.Raw(b"")


class _Quantity(msgspec.Struct, gc=False):
    point: str | None = None
    quantiles: msgspec.Raw = _ABSENT
    samples: msgspec.Raw = _ABSENT


class _Forecast(msgspec.Struct, gc=False):
    quantities: dict[str, _Quantity] = {}


class _Record(msgspec.Struct, gc=False):
    values: dict[str, str] = {}


_FORECAST = msgspec.json.Decoder(_Forecast)
_RECORD = msgspec.json.Decoder(_Record)


def quantity_rows(docket: Docket, lineage: Lineage) -> list[QuantityRow]:
    """Return what vectors say of numbers, or what reveals say that they said."""
    forecasts = docket.forecasts
    found = []
    for row, unit in _of_asking(docket, forecasts.unit):
        if lineage.kind[row] == REVEAL:
            continue
        revealed = int(lineage.revealed[row])
        stated = forecasts.entries[row if revealed < 0 else revealed]
        found += [
            QuantityRow(
                seq=int(forecasts.seq[row]),
                quantity=name,
                unit=unit,
                point=each.point,
                quantiles=_text(each.quantiles),
                samples=_text(each.samples),
            )
            for name, each in _FORECAST.decode(stated.payload).quantities.items()
        ]
    return found


def observation_rows(docket: Docket) -> list[ObservationRow]:
    """Return the values that records state of numbers."""
    records = docket.records
    return [
        ObservationRow(seq=int(records.seq[row]), quantity=name, unit=unit, value=value)
        for row, unit in _of_asking(docket, records.unit)
        for name, value in _RECORD.decode(records.entries[row].payload).values.items()
    ]


def _of_asking(docket: Docket, of_event: Integers) -> Iterator[tuple[int, int]]:
    """Yield the rows of events whose suite asks for a number, and their unit's number."""
    frozen = docket.frozen.suites.values()
    if not any(suite.manifest.quantities for suite in frozen):
        return
    asks = [bool(suite.manifest.quantities) for suite in docket.units.suites]
    numbers = docket.units.number.tolist()
    for row, unit in enumerate(of_event.tolist()):
        if asks[unit]:
            yield row, numbers[unit]


def _text(written: msgspec.Raw) -> str | None:
    """Return JSON as it is written in a payload, which is canonical; None for none."""
    return bytes(written).decode() or None
