"""`ledger update`: a later forecast of the same unit; the earlier one stands."""

from typing import Annotated

from ledger.cli import drafting
from ledger.cli.drafting import option
from ledger.cli.meaning import Meaning
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.recording import record

Reason = Annotated[
    str | None, option("--reason", "TEXT", "What changed the forecaster's mind.")
]


def update(
    draft: drafting.Draft = None,
    *,
    suite: drafting.Suite = None,
    template: drafting.Template = None,
    id: drafting.Id = None,  # noqa: A002 - the field's name
    horizon: drafting.Horizon = None,
    probabilities: drafting.Probabilities = None,
    forecaster: drafting.Forecaster = None,
    author: drafting.Author = None,
    model_version: drafting.Model = None,
    reason: Reason = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Add a later forecast to a chain.

    It attaches to the forecaster's last one on that question, which stands: first and
    last forecasts are scored apart. What there is only one of may be left out.

    For example:
      ledger update --id dispatch-7 -p 0.65 --reason "a test is quarantined"
    """
    record("ForecastUpdated", locals(), Meaning.forecaster)
