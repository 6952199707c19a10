"""What helps whoever records in vain, or was refused: a sentence on stderr."""

from collections.abc import Mapping
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
from ledger.suite_table import listed
from ledger.unit import Unit, unit_name
from ledger.writer import Receipt

# The rules do not know how a command spells what they ask for.
_OPTIONS = {
    "acceptance-hash-missing": "--acceptance FILE gives it",
    "reason-missing": "--reason CODE gives it",
    "supersedes-missing": "`--supersedes standing` corrects it",
    "vector-missing": "write -p 0.8, say",
}
_FIELDS = {
    "id is missing": "--id ID names the question",
    "question.id is missing": "--id ID names the question",
    "question.cutoff_at is missing": "--cutoff WHEN says it",
    "question.resolve_by is missing": "--resolve-by WHEN says it",
    "status is missing": "--outcome ANSWER says what happened, --status why nothing did",
    "supersedes is ": "--supersedes standing means the record that stands",
}
_NOT_OPEN = "by a PENDING record that brings the question"


def advised(
    refusal: RefusedError, fields: Mapping[str, object], state: State
) -> RefusedError:
    """Return a refusal of a draft that also says which option is its remedy."""
    option = None
    if refusal.code == "unknown-question" and refusal.message.endswith(_NOT_OPEN):
        others = _open_elsewhere(fields, state)
        if fields.get("status") == "PENDING":
            option = "describe it with --cutoff and --resolve-by"
        elif others:
            option = f"it is open in {listed(others, last='and')}, which --suite names"
        else:
            option = (
                "`ledger resolve --status PENDING` with --cutoff and --resolve-by does"
            )
    if refusal.code == "outcome-misplaced" and not fields.get("outcome"):
        option = "--outcome ANSWER says what happened"
    if refusal.code == "draft-unfit":
        found = (each for each in _FIELDS if refusal.message.startswith(each))
        option = next((_FIELDS[each] for each in found), None)
    return with_option(refusal, option)


def with_option(refusal: RefusedError, option: str | None = None) -> RefusedError:
    """Return a refusal that also says an option, or the one that its code asks for."""
    option = option or _OPTIONS.get(refusal.code)
    if option is None:
        return refusal
    return RefusedError(refusal.code, f"{refusal.message}: {option}")


def _open_elsewhere(fields: Mapping[str, object], state: State) -> list[str]:
    """Return the other suites that have a unit of the same names, the latest first."""
    names = [str(fields.get(key) or "") for key in ("template", "id", "horizon")]
    return [
        suite
        for suite in reversed(state.suites)
        if suite != fields.get("suite")
        and state.units.named(unit_name(suite, *names)) is not None
    ]


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
