"""`ledger seal`: one forecast, committed before its question is resolved."""

from typing import Annotated

from ledger.cli import drafting
from ledger.cli.drafting import option
from ledger.cli.meaning import Meaning
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.recording import record

Reasons = Annotated[
    list[str] | None, option("--reason-code", "CODE", "Why; repeatable.")
]


def seal(
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
    reason_codes: Reasons = None,
    target: drafting.Target = None,
    cluster: drafting.Cluster = None,
    opened_at: drafting.Opened = None,
    cutoff_at: drafting.Cutoff = None,
    resolve_by: drafting.ResolveBy = None,
    text: drafting.Text = None,
    tags: drafting.Tags = None,
    answers: drafting.Answers = None,
    acceptance_hash: drafting.Acceptance = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    r"""Seal a forecast before its question is resolved.

    The question is named by suite, template, id and horizon; what there is only one of
    may be left out. Where forecasters bring their own questions, --cutoff, --resolve-by
    and the like describe a new one. WHEN is an instant in UTC with Z, now, +90m or -2h.

    For example:
      ledger seal --id dispatch-7 -p 0.8
      ledger seal --suite piper-self@v1 --template dispatch-pass --id dispatch-7 \
        --horizon 24h --as piper-native -p pass=0.8 -p fail=0.2
    """
    record("ForecastSealed", locals(), Meaning.forecaster)
