"""An event in a line, for people."""

from collections.abc import Callable

from ledger import codec
from ledger.clock import instant_text
from ledger.entry import Recorded
from ledger.events import (
    Forecast,
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)

_SHORT = 12
# Returns the template/id/horizon of a question by its hash.
LookUp = Callable[[str], str | None]
# How many questions' names are remembered; those of older ones are looked up.
_NAMES_MAX = 10_000


class Summaries:
    """Says what events say; remembers the names of the questions that it saw."""

    def __init__(self, look_up: LookUp) -> None:
        """Take what finds the name of a question that was asked before the first line."""
        self._look_up = look_up
        self._names: dict[str, str] = {}

    def line(self, entry: Recorded) -> str:
        """Return position, time, author and content of an event."""
        at = instant_text(entry.received_at.replace(microsecond=0))
        said = self._said(entry.event)
        return f"{entry.seq:>7}  {at}  {entry.event.author:<12}  {said}"

    def _said(self, event: LedgerEvent) -> str:
        match event:
            case SuiteFrozen():
                return f"freezes {event.suite}"
            case ForecastSealed():
                what = f"seals {self._question(event.question, event.question_hash)}"
            case ForecastUpdated() if event.opens is not None:
                what = f"reveals {self._question(None, event.question_hash)}"
            case ForecastUpdated():
                what = f"updates {self._question(None, event.question_hash)}"
            case ResolutionRecorded():
                return self._recorded(event)
        return f"{what} as {event.forecaster}: {_vector(event)}"

    def _recorded(self, event: ResolutionRecorded) -> str:
        what = self._question(event.question, event.question_hash)
        if event.status == "PENDING":
            return f"opens {what}"
        verb = "reviews" if event.confirms else "resolves"
        how = event.outcome or event.status
        why = f" ({event.reason_code})" if event.reason_code else ""
        return f"{verb} {what}: {how}{why}"

    def _question(self, question: Question | None, question_hash: str | None) -> str:
        if question is not None:
            name = f"{question.template}/{question.id}/{question.horizon}"
            self._remember(question_hash or codec.question_hash(question), name)
            return name
        asked = question_hash or ""
        if asked not in self._names:
            self._remember(asked, self._look_up(asked) or asked[:_SHORT])
        return self._names[asked]

    def _remember(self, question_hash: str, name: str) -> None:
        if len(self._names) >= _NAMES_MAX:
            self._names.clear()
        self._names[question_hash] = name


def _vector(event: Forecast) -> str:
    if event.commitment is not None:
        return "hidden"
    return " ".join(f"{name}={value}" for name, value in event.probabilities.items())
