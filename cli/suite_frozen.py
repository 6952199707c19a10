"""`ledger suite list` and `show`: what is frozen here."""

from typing import Annotated

import msgspec
import typer

from ledger import codec
from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import Json, LedgerDir
from ledger.cli.standing import Frozen, Standing, standing
from ledger.clock import instant_text
from ledger.suite_verdicts import verdicts


def list_suites(
    *,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """List the suites that are frozen here.

    For example:
      ledger suite list --ledger demo
    """
    with reading(ledger) as (_, reader):
        found = standing(reader)
    described = [_described(found, name) for name in found.suites]
    if as_json:
        for each in described:
            render.json_line(each)
        return
    heads = ("suite", "entry", "received at", "track", "status", "in force", "title")
    keys = ("suite", "seq", "received_at", "track", "status", "in_force", "title")
    render.table(heads, [[each[key] for key in keys] for each in described])


def _described(found: Standing, name: str) -> dict[str, object]:
    frozen = found.suites[name]
    manifest, entry = frozen.manifest, frozen.entry
    return {
        "suite": name,
        "suite_hash": codec.suite_hash(manifest),
        "seq": entry.seq,
        "event_id": entry.event_id,
        "received_at": instant_text(entry.received_at),
        "author": entry.event.author,
        "in_force": not found.is_superseded(name),
        "track": manifest.track,
        "status": manifest.status,
        "title": manifest.title,
    }


def show_suite(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="Such as piper-self@v1; without a version, the latest.",
            show_default=False,
        ),
    ],
    *,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Show a frozen suite: its verdicts, its competitors, its hash.

    With --json, the whole manifest.

    For example:
      ledger suite show piper-self@v1 --ledger demo
    """
    with reading(ledger) as (_, reader):
        found = standing(reader)
    version = found.meant(name)
    frozen = found.suites[version]
    described = _described(found, version)
    if as_json:
        manifest = msgspec.to_builtins(frozen.manifest)
        render.json_line({**described, "manifest": manifest})
    else:
        _print_suite(described, frozen)


def _print_suite(described: dict[str, object], frozen: Frozen) -> None:
    render.facts((key.replace("_", " "), value) for key, value in described.items())
    render.line("")
    render.table(
        ("template", "verdict", "answers", "horizons", "questions from"),
        [
            (
                template.id,
                verdict.verdict,
                " ".join(template.answers) or "each question's own",
                " ".join(template.horizons) or None,
                template.question_owner,
            )
            for template, verdict in zip(
                frozen.manifest.templates, verdicts(frozen.manifest), strict=True
            )
        ],
    )
    render.line("")
    render.table(
        ("competitor", "layer", "sealed by", "role"),
        [
            (each.name, each.layer, each.principal or f"({each.method})", each.role)
            for each in frozen.manifest.competitors
        ],
    )
