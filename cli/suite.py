"""`ledger suite`: what is asked, of whom and how it is scored, before any outcome."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ledger import codec
from ledger.cli import render
from ledger.cli.context import (
    KeyRing,
    clock,
    find_ledger,
    find_ledger_if_any,
    keys_folder,
    read_input,
    writing,
)
from ledger.cli.options import Json, KeysFolder, LedgerDir
from ledger.cli.pins import PinKeeper, pinned_files
from ledger.cli.standing import standing
from ledger.cli.submitting import print_receipt, submit
from ledger.cli.suite_frozen import list_suites, show_suite
from ledger.cli.teaching import TaughtCommand, group
from ledger.draft_suite import is_charter
from ledger.drafts import Drafts
from ledger.errors import RefusedError
from ledger.events import SuiteFrozen
from ledger.log import open_reader
from ledger.suite import SuiteManifest
from ledger.suite_check import gaps, manifest_from_toml
from ledger.suite_table import Gap
from ledger.suite_template import new_suite
from ledger.suite_verdicts import Verdict, verdicts
from ledger.suite_warnings import warnings

app = group()
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="The suite's TOML, or - for stdin.", show_default=False
    ),
]


@app.callback()
def suite() -> None:
    """Write, check, freeze and show suites.

    A suite fixes everything that could change a number or a verdict: questions, answers,
    who forecasts, who resolves, baselines, scores, seeds. It is frozen once, before its
    first outcome; a change of any rule is a new version.

    For example:
      ledger suite new piper-self --track self > piper-self.toml
      ledger suite check piper-self.toml
      ledger suite freeze piper-self.toml --ledger demo
    """


@app.command(cls=TaughtCommand)
def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Such as piper-self or piper-self@v2.",
            show_default=False,
        ),
    ],
    *,
    track: Annotated[
        str,
        typer.Option(metavar="self|world|target", help="What the example is about."),
    ] = "self",
    as_json: Json = False,
) -> None:
    """Print a complete suite to edit: every key, explained.

    For example:
      ledger suite new piper-self --track self > piper-self.toml
    """
    text = new_suite(name, track)
    if as_json:
        render.json_line({"suite": manifest_from_toml(text)["suite"], "toml": text})
    else:
        render.document(text.rstrip("\n"))


@app.command(cls=TaughtCommand)
def check(
    file: File,
    *,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Say everything that keeps a suite from being frozen.

    Prints a verdict for each template (what is scored, what is evidence only, what is
    out of scope and why) and all gaps at once; exits with 2 if there is one. Warnings
    say what the suite can be frozen with and never earn. Works without a ledger; in
    one, the principals and the suites that it names are looked up too.

    For example:
      ledger suite check piper-self.toml
    """
    content = read_input(file)
    folder = find_ledger_if_any(ledger)
    roles: Mapping[str, str] | None = None
    frozen: Collection[str] | None = None
    if folder is not None:
        with open_reader(folder) as reader:
            known = standing(reader)
        roles, frozen = known.roles, known.suites
    manifest = _read(content, file)
    found = gaps(manifest, roles, frozen)
    wrong = {gap.where for gap in found}
    warned = [each for each in warnings(manifest, frozen) if each.where not in wrong]
    judged = verdicts(manifest)
    if as_json:
        render.json_line(_checked(manifest, found, judged, warned))
    else:
        _print_checked(found, judged, warned)
    if found:
        raise typer.Exit(2)
    complete = msgspec.convert(manifest, SuiteManifest)
    for problem in pinned_files(complete, _beside(file), folder)[1]:
        render.note(f"Before it can be frozen: {problem}.")


def _read(content: bytes, file: str) -> dict[str, object]:
    called = "what stdin gives" if file == "-" else file
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        msg = f"{called} is not UTF-8 text: a suite is a TOML file"
        raise RefusedError("suite-not-toml", msg) from None
    if not text.strip():
        # Each key that a suite has would be a gap.
        msg = f"{called} is no suite: nothing stands here, and `ledger suite new NAME` prints one to edit"
        raise RefusedError("suite-incomplete", msg)
    return manifest_from_toml(text, called)


def _beside(file: str) -> Path:
    return Path() if file == "-" else Path(file).parent


def _checked(
    manifest: Mapping[str, object],
    found: list[Gap],
    judged: list[Verdict],
    warned: list[Gap],
) -> dict[str, object]:
    return {
        "suite": manifest.get("suite"),
        "ok": not found,
        "gaps": [msgspec.to_builtins(gap) for gap in found],
        "verdicts": [msgspec.to_builtins(verdict) for verdict in judged],
        "warnings": [
            {"where": each.where, "what": each.what, "remedy": each.remedy}
            for each in warned
        ],
    }


def _print_checked(found: list[Gap], judged: list[Verdict], warned: list[Gap]) -> None:
    if judged:
        render.table(
            ("template", "category", "verdict", "why"),
            [(each.template, each.category, each.verdict, each.why) for each in judged],
        )
    if not found:
        render.document("\nNo gaps: the suite can be frozen.")
    else:
        render.document("\n1 gap:" if len(found) == 1 else f"\n{len(found)} gaps:")
    for gap in found:
        mark = " (unscorable)" if gap.is_unscorable else ""
        render.line(f"  {gap}{mark}")
    if warned:
        count = "1 warning" if len(warned) == 1 else f"{len(warned)} warnings"
        render.document(f"\n{count}, which the suite can be frozen with:")
    for each in warned:
        render.line(f"  {each}")


@app.command(cls=TaughtCommand)
def freeze(
    file: File,
    *,
    author: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Who signs (default: the suite's owner; for a charter, its root).",
            show_default=False,
        ),
    ] = None,
    keys_at: KeysFolder = None,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Freeze a suite: from here on its rules are fixed.

    The files that it pins are looked for beside the TOML and kept with the ledger; a
    missing or changed one is refused by name. The next charter (format charter/1) is
    frozen in the same way, by a root.

    For example:
      ledger suite freeze piper-self.toml --ledger demo
    """
    content = read_input(file)
    folder = find_ledger(ledger)
    ring = KeyRing(keys_folder(folder, keys_at))
    manifest = _read(content, file)
    with writing(folder) as writer:
        drafts = Drafts(folder.blobs.get, lambda _: content)
        roots = [
            each.name
            for each in writer.state.roster.members.values()
            if each.role == "root"
        ]
        draft = {
            "type": "SuiteFrozen",
            "author": author or _owner(manifest, roots, ring),
            "file": file,
        }
        event = drafts.event(draft, writer.state, clock()())
        assert isinstance(event, SuiteFrozen)
        keeper = PinKeeper(folder)
        if isinstance(event.manifest, SuiteManifest):
            keeper.keep(event.manifest, _beside(file))
        try:
            receipt = submit(event, ring, writer)
        except RefusedError:
            keeper.undo()
            raise
    print_receipt(receipt, as_json=as_json)
    render.note(
        f"{event.suite} is frozen; its hash is {codec.suite_hash(event.manifest)}."
    )


def _owner(manifest: Mapping[str, object], roots: list[str], ring: KeyRing) -> str:
    if not is_charter(manifest):
        return str(manifest.get("owner") or "evaluator")
    return next((name for name in roots if name in ring), roots[0])


app.command("list", cls=TaughtCommand)(list_suites)
app.command("show", cls=TaughtCommand)(show_suite)
