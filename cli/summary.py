"""An event in a line, for people."""

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
# How many questions are called by their names; older ones show their hash.
_NAMES_MAX = 10_000


class Summaries:
    """Says what events say; remembers the names of the questions that it saw."""

    def __init__(self) -> None:
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
                what = f"reveals {event.opens[:_SHORT]}"
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
            if question_hash is not None:
                if len(self._names) >= _NAMES_MAX:
                    self._names.clear()
                self._names[question_hash] = name
            return name
        asked = question_hash or ""
        return self._names.get(asked, asked[:_SHORT])


def _vector(event: Forecast) -> str:
    if event.commitment is not None:
        return "hidden"
    return " ".join(f"{name}={value}" for name, value in event.probabilities.items())
