"""`ledger resolve`: a question is open, or this was observed."""

from typing import Annotated

from ledger.cli import drafting
from ledger.cli.drafting import option
from ledger.cli.meaning import Meaning
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.recording import record

Status = Annotated[
    str | None,
    option(
        "--status",
        "STATUS",
        "PENDING (opens), RESOLVED, VOID, CENSORED, CANCELED or INVALID.",
    ),
]
Outcome = Annotated[
    str | None, option("--outcome", "ANSWER", "What was observed; means RESOLVED.")
]
Reason = Annotated[str | None, option("--reason", "CODE", "Why there is no outcome.")]
Started = Annotated[str | None, option("--started", "WHEN", "When the work began.")]
Occurred = Annotated[str | None, option("--occurred", "WHEN", "When it happened.")]
Published = Annotated[
    str | None, option("--published", "WHEN", "When the outcome was first known.")
]
Source = Annotated[str | None, option("--source", "NAME", "Where it was observed.")]
Values = Annotated[
    list[str] | None, option("--value", "QUANTITY=NUMBER", "What was measured.")
]
Supersedes = Annotated[
    str | None,
    option(
        "--supersedes",
        "ID|standing",
        "The record that this one corrects: its event id, or the one that stands.",
    ),
]
Confirms = Annotated[
    str | None, option("--confirms", "ID", "The record that this one reviews.")
]
Note = Annotated[str | None, option("--note", "TEXT", "For readers.")]


def resolve(
    draft: drafting.Draft = None,
    *,
    suite: drafting.Suite = None,
    template: drafting.Template = None,
    id: drafting.Id = None,  # noqa: A002 - the field's name
    horizon: drafting.Horizon = None,
    status: Status = None,
    outcome: Outcome = None,
    reason_code: Reason = None,
    started_at: Started = None,
    occurred_at: Occurred = None,
    published_at: Published = None,
    source: Source = None,
    values: Values = None,
    supersedes: Supersedes = None,
    confirms: Confirms = None,
    note: Note = None,
    author: drafting.Author = None,
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
    r"""Open a question, or record what happened.

    --status PENDING opens: an issuer brings the question with --cutoff, --resolve-by and
    the like. Every other record is a resolver's. A correction names what it supersedes.
    WHEN is an instant in UTC, such as 2026-11-01T00:00:00Z, or now, +90m or -2h.

    For example:
      ledger resolve --status PENDING --id dispatch-7 --target repo-a --cutoff +10m \
        --resolve-by +2h --acceptance acceptance/run.sh
      ledger resolve --id dispatch-7 --outcome fail --source harness --published now
      ledger resolve --id dispatch-8 --status VOID --reason flaky-infrastructure
    """
    stated = locals()
    if outcome is not None and status is None and draft is None:
        stated = {**stated, "status": "RESOLVED"}
    record("ResolutionRecorded", stated, Meaning.resolver)
