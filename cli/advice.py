"""What helps whoever records in vain, or was refused: a sentence on stderr."""

from datetime import datetime

from ledger.clock import instant_text, parse_instant
from ledger.errors import RefusedError
from ledger.events import (
    ForecastSealed,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.folder import Folder
from ledger.log import open_reader
from ledger.state import State
from ledger.unit import Unit
from ledger.writer import Receipt

# The rules do not know how a command spells what they ask for.
_OPTIONS = {
    "acceptance-hash-missing": "--acceptance FILE gives it",
    "reason-missing": "--reason CODE gives it",
    "supersedes-missing": "`--supersedes standing` corrects it",
    "vector-missing": "write -p 0.8, say",
}
_NOT_OPEN = "by a PENDING record that brings the question"


def advised(refusal: RefusedError, status: object) -> RefusedError:
    """Return a refusal that also says which option of the command is its remedy."""
    option = _OPTIONS.get(refusal.code)
    if refusal.code == "unknown-question" and refusal.message.endswith(_NOT_OPEN):
        option = (
            "describe it with --cutoff and --resolve-by"
            if status == "PENDING"
            else "`ledger resolve --status PENDING` with --cutoff and --resolve-by does"
        )
    if option is None:
        return refusal
    return RefusedError(refusal.code, f"{refusal.message}: {option}")


def warning_of_duplicate(event: LedgerEvent, state: State) -> str | None:
    """Say that a forecaster seals a second time on one question."""
    unit = _unit(event, state)
    if (
        isinstance(event, ForecastSealed)
        and unit is not None
        and event.forecaster in unit.chains
    ):
        return (
            f"{event.forecaster} has sealed a forecast on this question before: this one "
            "is recorded as a duplicate and never scored. `ledger update` adds to a chain."
        )
    return None


def cutoff_of(event: LedgerEvent, state: State, folder: Folder) -> datetime | None:
    """Return until when forecasts on its question count, where an entry says so."""
    if isinstance(event, SuiteFrozen) or getattr(event, "status", None) == "PENDING":
        return None
    question = _question(event, state, folder)
    return None if question is None else question.cutoff_at


def warning_of_time(
    event: LedgerEvent, receipt: Receipt, cutoff: datetime | None, state: State
) -> str | None:
    """Say that a forecast came after the cut-off, or an outcome before it.

    It goes by the clock that the suite goes by.
    """
    if cutoff is None:
        return None
    is_claimed = state.suites[event.suite].manifest.chronology == "claimed"
    when = event.created_at if is_claimed else parse_instant(receipt.received_at)
    if isinstance(event, ResolutionRecorded):
        return _early(event, cutoff) if when < cutoff else None
    if when <= cutoff:
        return None
    return (
        f"The cut-off was at {instant_text(cutoff)}: this forecast is kept, flagged as "
        "late, and never scored."
    )


def _early(event: ResolutionRecorded, cutoff: datetime) -> str | None:
    if event.status != "RESOLVED" or event.confirms is not None:
        return None
    return (
        f"The cut-off is at {instant_text(cutoff)}: this outcome is flagged as "
        f"resolved-early, and no row counts the unit until an event of {event.suite} "
        "comes after that."
    )


def _question(event: LedgerEvent, state: State, folder: Folder) -> Question | None:
    """Return the question of a forecast's unit: the one that stands, or its own."""
    unit = _unit(event, state)
    if unit is None:
        return getattr(event, "question", None)
    asked = unit.question(state.lost)
    if not asked.key:
        return None  # A pinned list asks it, and no entry.
    with open_reader(folder) as reader:
        [entry] = reader.events.read_at([asked.seq])
    return getattr(entry.event, "question", None)


def _unit(event: LedgerEvent, state: State) -> Unit | None:
    asked = getattr(event, "question_hash", None)
    return state.unit_of(event.suite, asked) if asked else None
