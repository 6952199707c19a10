"""`ledger lineage`: every chain of a unit, what counts of it, and what became of it."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import Json, LedgerDir
from ledger.cli.standing import standing
from ledger.clock import instant_text
from ledger.errors import UsageError

if TYPE_CHECKING:
    from ledger.projections.chronicle import Chain, Chronicle, Record, Vector

_VECTOR_HEADS = ("seq", "kind", "received at", "lead", "vector", "counts", "found")
_RECORD_HEADS = ("seq", "status", "received at", "by", "what", "found")


Unit = Annotated[
    str | None,
    typer.Argument(
        metavar="UNIT",
        help="A question's id, or its hash or how that begins.",
        show_default=False,
    ),
]
Suite = Annotated[
    str | None,
    typer.Option("--suite", metavar="NAME@vN", help="Only this suite version."),
]
Template = Annotated[
    str | None, typer.Option("--template", metavar="NAME", help="Only this template.")
]
Horizon = Annotated[
    str | None, typer.Option("--horizon", metavar="LABEL", help="Only this horizon.")
]
Named = Annotated[
    str | None,
    typer.Option("--id", metavar="ID", help="The same as UNIT.", show_default=False),
]
Forecaster = Annotated[
    str | None,
    typer.Option("--forecaster", metavar="NAME", help="Only this one's chains."),
]


def lineage(
    unit: Unit = None,
    *,
    suite: Suite = None,
    template: Template = None,
    horizon: Horizon = None,
    named: Named = None,
    forecaster: Forecaster = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Show each chain of a unit, what counts of it and why not, and its outcome.

    A chain has its vectors in the order of the log, with their evidence and lead time,
    hidden ones and what opened them. Records show what was amended, and which one
    stands. Without a unit, all of them are shown.

    For example:
      ledger lineage dispatch-7 --ledger demo
      ledger lineage --suite piper-self@v1 --forecaster native --json --ledger demo
    """
    from ledger.projections.chronicle import Wanted, chronicles
    from ledger.projections.stored import StoredPayloads, open_tables

    if unit is not None and named not in {None, unit}:
        msg = f"UNIT is {unit} and --id is {named}: give one of the two"
        raise UsageError(msg)
    count = 0
    with reading(ledger) as (folder, reader):
        suite = None if suite is None else standing(reader).meant(suite)
        if forecaster is not None:
            standing(reader).require_competitor(forecaster, suite)
        wanted = Wanted(unit or named, suite, template, horizon, forecaster)
        size = reader.events.size()
        folded = render.Progress("events folded", size)
        with open_tables(
            folder, reader.store, lambda done: folded.step(done, done)
        ) as (tables, frozen):
            folded.close()
            source = StoredPayloads(reader.store)
            for each in chronicles(tables.connection, frozen, source, wanted):
                if as_json:
                    render.json_line(each)
                else:
                    _print(each, is_first=not count)
                count += 1
    if not count and wanted != Wanted():
        msg = f"no unit is {_called(wanted)}: `ledger open` and `ledger log` list what there is"
        raise UsageError(msg)
    if not count:
        render.note("no units yet: nobody opened or forecast a question")


def _called(wanted: tuple[str | None, ...]) -> str:
    return " / ".join(each for each in wanted if each is not None)


def _print(unit: "Chronicle", *, is_first: bool) -> None:
    if not is_first:
        render.line("")
    stands = unit.status if unit.outcome is None else f"{unit.status}: {unit.outcome}"
    reviewed = f", reviews: {unit.reviews}" if unit.reviews else ""
    render.line(
        f"{unit.suite} {unit.template}/{unit.id}/{unit.horizon}  {stands}{reviewed}"
    )
    render.line(f"  cut-off {unit.cutoff_at}, resolve by {unit.resolve_by}")
    for chain in unit.chains:
        _print_chain(chain)
    if unit.resolutions:
        render.line("")
        render.table(_RECORD_HEADS, map(_record_cells, unit.resolutions))
    if unit.findings:
        render.line("")
        for each in unit.findings:
            render.line(f"  {each.seq}  {each.rule}: {each.message}")


def _print_chain(chain: "Chain") -> None:
    render.line("")
    render.line(f"{chain.forecaster}:")
    render.table(_VECTOR_HEADS, map(_vector_cells, chain.vectors))
    for each in chain.vectors:
        known = _evidence(each)
        if known:
            render.line(f"  {each.seq}  {known}")


def _vector_cells(vector: "Vector") -> tuple[object, ...]:
    return (
        vector.seq,
        vector.kind if vector.parent is None else f"{vector.kind} of {vector.parent}",
        vector.received_at,
        lead(vector.lead_seconds),
        _shown(vector),
        "yes" if vector.is_eligible else f"no: {vector.why_not}",
        " ".join(vector.findings) or None,
    )


def _shown(vector: "Vector") -> str:
    if vector.probabilities is None:
        return "hidden"
    said = " ".join(f"{name}={text}" for name, text in vector.probabilities.items())
    if vector.opened_at_seq is None:
        return said
    return f"{said} (hidden, opened by {vector.opened_at_seq})"


def _evidence(vector: "Vector") -> str:
    """Return what a vector says that it was made from."""
    evidence = vector.evidence
    told = [
        ("model", vector.model_version),
        ("why", vector.update_reason or ", ".join(vector.reason_codes)),
        ("may fail by", ", ".join(vector.failure_modes)),
    ]
    if evidence is not None:
        told += [
            ("evidence until", _said(evidence.cutoff_at)),
            (
                "trained until",
                _said(evidence.training_cutoff_at),
            ),
            ("tiers", ", ".join(evidence.tiers)),
            ("features", ", ".join(f"{k}={v}" for k, v in evidence.features.items())),
        ]
    return "; ".join(f"{name} {text}" for name, text in told if text)


def _said(instant: datetime | None) -> str | None:
    return None if instant is None else instant_text(instant)


def lead(seconds: int) -> str:
    """Return a time in its two largest units: 1d 2h, 3h 20m, 40s."""
    sign, rest = ("-", -seconds) if seconds < 0 else ("", seconds)
    parts = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return sign + " ".join(parts[:2] or ["0s"])


def _record_cells(record: "Record") -> tuple[object, ...]:
    what = record.outcome or record.reason_code
    if record.confirms is not None:
        status = f"review: {record.status}"
    elif record.stands:
        status = f"{record.status} (stands)"
    elif "compromised-key" in record.findings:
        status = f"{record.status} (does not count)"
    else:
        status = f"{record.status} (superseded)"
    tags = " ".join(tag.code for tag in record.failure_tags)
    return (
        record.seq,
        status,
        record.received_at,
        record.author,
        f"{what or ''} {tags}".strip() or None,
        " ".join(record.findings) or None,
    )
