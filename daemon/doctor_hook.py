"""The hooks of this user that seal into a ledger: are they called, and do they get through.

Each installed hook is called as its runtime would call it, with a payload that only asks
whether the way to the daemon is open, and writes nothing. That it works when it is called
does not say that anybody calls it: so what was really delivered is counted too, and
what of it went by unseen.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from ledger.daemon.diagnosis import Diagnosis, Problem, command, together
from ledger.daemon.hook_disabled import disabling
from ledger.daemon.hook_install import (
    RUNTIMES,
    Installed,
    Place,
    call,
    hooks_folder,
    is_installed,
    read_record,
)
from ledger.daemon.hook_settings import (
    CLOSED,
    RECENT,
    Settings,
    counted,
    read_settings,
    recent,
)
from ledger.daemon.hook_text import TroubleError
from ledger.daemon.patient import Patient, Readable

_SECONDS = 15  # more than the hook's own deadline
_PROBE = b'{"event":"probe"}'
# A probe is the doctor's own.
_OWN = "probe"


def hook(patient: Patient, found: Readable) -> Diagnosis:
    """Tell whether each installed hook reaches the daemon, and is called at all."""
    folder = hooks_folder(patient.around.state_home)
    records = sorted(folder.glob("*/installed.json")) if folder.is_dir() else []
    problems, sound = [], []
    for path in records:
        known = read_record(path)
        if known is None:
            remedy = command("rm", path)
            problems.append(Problem(detail=f"{path} is damaged", remedy=remedy))
            continue
        place = Place(
            patient.around.state_home, RUNTIMES[known.runtime], Path(known.file)
        )
        if place.read_settings().get("ledger") not in {None, found.ledger}:
            continue  # It seals into another ledger.
        problem = _problem(patient, known, place)
        if problem is None:
            count = _deliveries(place)
            came = "1 delivery" if count == 1 else f"{count} deliveries"
            sound.append(f"{known.runtime}: {came}, and a probe got through")
        else:
            problems.append(problem)
    return together("hook", problems, "; ".join(sound) or "none is installed")


def _problem(patient: Patient, known: Installed, place: Place) -> Problem | None:
    """Return what is wrong with one installation."""
    again = command(
        "ledger", "hook", "install", known.runtime, "--file", known.file,
        "--ledger", patient.folder.path,
    )  # fmt: skip
    uncalled = _uncalled(known, place, again)
    if uncalled is not None:
        return uncalled
    try:
        settings = read_settings(str(place.settings))
    except TroubleError as trouble:
        return Problem(detail=str(trouble), remedy=again)
    if not Path(known.command).exists():
        return Problem(
            detail=f"{known.command}, which {known.runtime} calls, is gone",
            remedy=again,
        )
    refused = _probed(Path(known.command), place)
    if refused is not None:
        remedy = command("ledger", "daemon", "start", "--ledger", patient.folder.path)
        if "no daemon listens" not in refused:
            remedy = f"mend what it says, or write its settings anew: `{again}`"
        return Problem(
            detail=f"{known.runtime}'s hook does not get through: {refused}",
            remedy=remedy,
        )
    if not _deliveries(place):
        detail = f"{known.runtime} has never called its hook ({settings.mode} mode)"
        return Problem(
            detail=detail,
            remedy=f"dispatch something ({RUNTIMES[known.runtime].after.rstrip('.')})",
            status="warn",
        )
    return _unseen(known, place, settings, again)


def _uncalled(known: Installed, place: Place, again: str) -> Problem | None:
    """Return what in the runtime's own settings keeps it from calling the hook."""
    if not is_installed(Path(known.file), place):
        return Problem(detail=f"{known.file} calls no hook any more", remedy=again)
    why = disabling(RUNTIMES[known.runtime], Path(known.file), os.environ)
    if why:
        return Problem(
            detail=f"{known.runtime} calls no hook at all: {why}",
            remedy="take that setting out, and start open sessions anew",
        )
    return None


def _unseen(
    known: Installed, place: Place, settings: Settings, again: str
) -> Problem | None:
    """Return what was lately let start unseen, or understood by nobody."""
    counts = recent(str(place.folder))
    unknown, unseen = counts["unknown"], counts["failed-open"]
    if not unknown + unseen:
        return None
    remedies = {
        "docs/hooks.md says what each runtime sends: have it call the hook only there, or "
        "update sealed-ledger": unknown,
        "what the hook said on stderr is why": unseen,
        f"`{again} --fail closed` lets none start unseen": settings.fail != CLOSED,
    }
    return Problem(
        detail=(
            f"of {known.runtime}'s last {sum(counts.values())} dispatches {unknown} were "
            f"not understood and {unseen} started unseen ({settings.fail} policy)"
        ),
        remedy="; ".join(
            [
                *(each for each, is_meant in remedies.items() if is_meant),
                f"it is told until {RECENT} others came",
            ]
        ),
        status="fail" if settings.fail == CLOSED else "warn",
    )


def _probed(program: Path, place: Place) -> str | None:
    """Call the hook as a runtime does; return what keeps it from the daemon, or None."""
    try:
        done = subprocess.run(  # noqa: S603 - the command that the runtime calls
            call(program, place.settings, CLOSED),
            input=_PROBE,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = _object(done.stdout)
    if done.returncode == 0 and said.get("decision") == "allow":
        return None
    noted = done.stderr.decode(errors="replace").strip()[:500]
    return str(said.get("reason") or noted or f"{program} answered nothing")


def _object(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _deliveries(place: Place) -> int:
    counts = counted(str(place.folder))
    return sum(count for name, count in counts.items() if name != _OWN)
