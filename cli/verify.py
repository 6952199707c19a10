"""`ledger verify`: whether what a ledger or a bundle says is true."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ledger.checkpoint import split_note
from ledger.cli import render
from ledger.cli.context import state_home
from ledger.cli.options import Json, LedgerDir
from ledger.errors import CorruptLogError, UncheckableError, UsageError
from ledger.folder import Folder
from ledger.keys.signing import VerifierKey, parse_verifier
from ledger.projections.audit_log import Options, Progress
from ledger.projections.audit_report import (
    COVERED,
    CROSSCHECK,
    NO_ANCHOR,
    Check,
    Report,
    Verdict,
    uncheckable,
)

_MARKS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "green"),
    "false": ("FALSE", "red"),
    "uncheckable": ("not checked", "yellow"),
    "unasked": ("-", "white"),
}
_HEX_DIGITS = 64


Where = Annotated[
    str | None,
    typer.Argument(
        metavar="DIR|BUNDLE",
        help="A ledger's folder, or an exported bundle (default: the ledger).",
        show_default=False,
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A checkpoint that you kept (- for stdin): the log must extend it.",
        show_default=False,
    ),
]
LogKey = Annotated[
    str | None,
    typer.Option(
        metavar="VKEY",
        help="The log's verifier key, as you know it.",
        show_default=False,
    ),
]
Genesis = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The event id of entry 0.", show_default=False),
]
Witnesses = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VKEY",
        help="A witness's verifier key, to check its lines (repeatable).",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="How many processes check signatures (default: one a core).",
        show_default=False,
    ),
]
Findings = Annotated[
    bool,
    typer.Option(help="Fold the log once more for what it shows about its forecasts."),
]


Crosscheck = Annotated[
    bool,
    typer.Option(
        "--crosscheck",
        help="Compute Brier, log loss, AUROC and calibration of all rows once more with "
        "scikit-learn, scipy and statsmodels (the extra `crosscheck`).",
    ),
]


def verify_command(
    where: Where = None,
    *,
    against: Against = None,
    key: LogKey = None,
    genesis: Genesis = None,
    witness: Witnesses = None,
    jobs: Jobs = None,
    findings: Findings = True,
    crosscheck: Crosscheck = False,
    ledger: LedgerDir = None,
    as_json: Json = False,
) -> None:
    """Check everything that a ledger or a bundle claims, from its bytes up.

    Reads only, and works while others write. Exits with 0 if all that was asked holds,
    1 if something is false, 2 for a wrong command, 3 if something could not be checked.
    Findings are facts about forecasts, such as a late one: listed, not failures.

    A log that was rewritten as a whole by the holder of its key looks like an honest
    one. Keep a checkpoint elsewhere and bring it: that is what finds it.

    For example:
      ledger checkpoint --ledger demo > kept.note
      ledger verify --ledger demo --against kept.note
      ledger verify bundle --ledger demo
    """
    if crosscheck:
        _require_libraries()
    options = Options(
        against=None if against is None else _note(against),
        key=None if key is None else parse_verifier(key),
        genesis=None if genesis is None else _event_id(genesis),
        witnesses=_witnesses(witness or []),
        state_home=state_home(),
        jobs=jobs or _cores(),
        findings=findings,
    )
    with _progress() as progress:
        report = _verified(where, ledger, options, progress)
    if crosscheck:
        report = _crosschecked(report, where, ledger)
    if as_json:
        render.json_line(report.as_json())
    else:
        _print(report)
    raise typer.Exit(report.exit_code)


def _verified(
    where: str | None, ledger: str | None, options: Options, progress: Progress
) -> Report:
    # Imported here: what folds logs is heavy, and `--help` needs none of it.
    from ledger.projections.bundle import is_bundle

    if where is not None and is_bundle(Path(where)):
        from ledger.projections.audit_bundle import verify_bundle

        return verify_bundle(Path(where), _folder(ledger), options, progress)
    from ledger.projections.audit import verify_ledger

    folder = _folder(where or ledger)
    if where is not None and not (
        os.path.lexists(folder.settings_file) or os.path.lexists(folder.log)
    ):
        # It may be a bundle's name misspelt: a new ledger would be no remedy.
        msg = f"{where} is no ledger and no bundle: name the folder of one or the other"
        raise UsageError(msg)
    return verify_ledger(folder, options, progress)


def _require_libraries() -> None:
    from ledger.projections.crosscheck import require_libraries

    require_libraries()


def _crosschecked(report: Report, where: str | None, ledger: str | None) -> Report:
    """Return a report with the check that other libraries make of the same rows."""
    from ledger.projections.audit_crosscheck import check_crosscheck
    from ledger.projections.bundle import is_bundle

    if report.exit_code:
        detail = "not reached: the log itself does not hold"
        check = uncheckable(CROSSCHECK, 0, detail)
    elif where is not None and is_bundle(Path(where)):
        check = check_crosscheck(_folder(ledger), Path(where))
    else:
        check = check_crosscheck(_folder(where or ledger))
    return msgspec.structs.replace(report, checks=(*report.checks, check))


def _folder(stated: str | None) -> Folder:
    """Return the ledger's folder, whatever is in it: an audit says what is wrong."""
    return Folder(Path(stated or "."))


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _note(path: str) -> str:
    """Return the text of a kept checkpoint; without it nothing can be compared."""
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        msg = f"the checkpoint {path} cannot be read: {error.strerror}"
        raise UncheckableError(msg) from error
    text = content.decode("utf-8", "replace")
    try:
        split_note(text)
    except CorruptLogError:
        # The report goes on with what can be checked: it does not know the file.
        render.note(f"{path} is no checkpoint: give what `ledger checkpoint` prints")
    return text


def _event_id(text: str) -> str:
    is_hex = all(digit in "0123456789abcdef" for digit in text)
    if len(text) != _HEX_DIGITS or not is_hex:
        msg = f"{text!r} is no event id: write 64 lower-case hexadecimal digits"
        raise UsageError(msg)
    return text


def _witnesses(texts: list[str]) -> tuple[VerifierKey, ...]:
    return tuple(map(parse_verifier, texts))


@contextmanager
def _progress() -> Iterator[Progress]:
    """Give what shows how far an audit is: one line for each stage."""
    shown: dict[str, render.Progress] = {}

    def step(stage: str, done: int, whole: int) -> None:
        if stage not in shown:
            for earlier in shown.values():
                earlier.close()
            shown[stage] = render.Progress(stage, whole)
        shown[stage].step(done, done)

    try:
        yield step
    finally:
        for bar in shown.values():
            bar.close()


def _print(report: Report) -> None:
    for check in report.checks:
        render.line(_line(check))
    if report.findings:
        counted = Counter(finding.rule for finding in report.findings)
        named = ", ".join(f"{count} {rule}" for rule, count in sorted(counted.items()))
        render.line(f"findings, which are facts and no failures: {named}")
    size = _counted(report.entries, "entries")
    render.line(f"{size}, root {report.root or '(unknown)'}")
    render.line(f"anchor: {report.anchor}" if report.anchors else NO_ANCHOR)
    render.line(_conclusion(report))


def _counted(count: int, things: str) -> str:
    one = "entry" if things == "entries" else things.removesuffix("s")
    return f"{count:,} {one if count == 1 else things}"


def _line(check: Check) -> str:
    mark, colour = _MARKS[check.verdict]
    covered = _counted(check.covered, COVERED[check.name]) if check.covered else ""
    said = f"{check.name:<12}{mark:<13}{covered:<20}{check.detail}".rstrip()
    start = 12
    painted = render.styled(mark, colour, sys.stdout)
    return said[:start] + painted + said[start + len(mark) :]


def _conclusion(report: Report) -> str:
    match report.exit_code:
        case 0:
            return render.styled("All that was asked holds.", "green", sys.stdout)
        case 1:
            names = ", ".join(each.name for each in report.checks if each.ok is False)
            return render.styled(f"FALSE: {names}.", "red", sys.stdout)
        case _:
            lacking = [each for each in report.checks if each.verdict == "uncheckable"]
            names = ", ".join(each.name for each in lacking)
            said = f"Could not be checked: {names}."
            return render.styled(said, "yellow", sys.stdout)
