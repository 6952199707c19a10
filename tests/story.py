"""Random histories: steps that mean something, told to a log that may refuse them."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any

import msgspec
from hypothesis import strategies as st

from ledger import codec
from ledger.errors import RefusedError
from ledger.events import Evidence, Question
from ledger.suite import Competitor
from tests.simulator import BEGAN, History, suite

SALT = sha256(b"salt").hexdigest()
PEOPLE = ("native", "rival")
Step = tuple[str, int, int, int]

VERBS = (
    *("open", "seal", "seal", "hide", "update", "update", "reveal"),
    *("record", "record", "record", "review", "wait", "charter", "freeze"),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(VERBS), st.integers(0, 3), st.integers(0, 1), st.integers(0, 60)
    ),
    max_size=30,
)


def cost(choice: int) -> dict[str, dict[str, str]]:
    """Return what a vector says that it cost; one choice in seven is no amount."""
    return {"cost": {"usd": "unknown" if choice % 7 == 0 else f"0.{choice:02}"}}


class Story:
    """A history that random steps tell; what the rules refuse did not happen."""

    def __init__(self, chronology: str, competitors: Sequence[Competitor] = ()) -> None:
        claimed = {"run_class": "exploratory", "statistics__looks": []}
        changes = claimed if chronology == "claimed" else {}
        made = suite(chronology=chronology, **changes)
        also = (*made.competitors, *competitors)
        self.history = History(msgspec.structs.replace(made, competitors=also))
        self.last: dict[tuple[int, str], str] = {}
        self.hidden: dict[tuple[int, str], tuple[str, str]] = {}
        self.records: dict[int, str] = {}
        self.charters = 1
        self.versions = 1

    def tell(self, step: Step) -> None:
        """Let one step happen; its numbers choose the unit, the person, the rest."""
        verb, unit, who, choice = step
        steps: dict[str, Callable[[int, str, int], None]] = {
            "open": self.open,
            "seal": self.seal,
            "hide": self.hide,
            "update": self.update,
            "reveal": self.reveal,
            "record": self.record,
            "review": self.review,
            "wait": lambda *_: self.history.wait(minutes=choice),
            "charter": self.charter,
            "freeze": self.freeze,
        }
        try:
            steps[verb](unit, PEOPLE[who], choice)
        except (RefusedError, KeyError):
            return

    def question(self, unit: int, choice: int) -> Question:
        """Return a unit's question; one choice in seven is another than the first."""
        return Question(
            template="dispatch-pass" if unit else "weather",
            id=f"d-{unit}",
            target=f"target-{unit % 2}",
            opened_at=BEGAN,
            cutoff_at=BEGAN + timedelta(hours=2),
            resolve_by=BEGAN + timedelta(hours=24),
            horizon="24h",
            acceptance_hash="f" * 64 if choice % 7 == 6 else None,
            tags={"domain": "abc"[unit % 3]} if unit else {},
        )

    def open(self, unit: int, _: str, choice: int) -> None:
        self.records[unit] = self.history.open(self.question(unit, choice))

    def seal(self, unit: int, who: str, choice: int) -> None:
        evidence = Evidence(cutoff_at=self.history.now + timedelta(minutes=choice - 30))
        changes: dict[str, Any] = {"evidence": evidence} if choice % 5 == 0 else {}
        if choice % 3 == 1:
            changes["extensions"] = cost(choice)
        if choice % 11 == 10:
            changes["suite_hash"] = "e" * 64
        sealed = self.history.seal(
            self.question(unit, choice), self.p(choice), forecaster=who, **changes
        )
        self.last.setdefault((unit, who), sealed)

    def hide(self, unit: int, who: str, choice: int) -> None:
        question = self.question(unit, 0)
        shown = self.history.vector(question, self.p(choice))
        draft = self.history.draft_seal(question, probabilities=shown, forecaster=who)
        committed = codec.commitment(draft, parent=None, salt=SALT)
        sealed = self.history.seal(question, "", commitment=committed, forecaster=who)
        self.last.setdefault((unit, who), sealed)
        self.hidden[unit, who] = sealed, self.p(choice)

    def update(self, unit: int, who: str, choice: int) -> None:
        question, parent = self.question(unit, 0), self.last[unit, who]
        extensions = cost(choice) if choice % 2 else {}
        self.last[unit, who] = self.history.update(
            question, parent, self.p(choice), forecaster=who, extensions=extensions
        )

    def reveal(self, unit: int, who: str, choice: int) -> None:
        sealed, hidden = self.hidden[unit, who]
        self.history.update(
            self.question(unit, 0),
            self.last[unit, who],
            self.p(choice) if choice % 4 == 0 else hidden,
            forecaster=who,
            opens=sealed,
            salt=SALT,
        )

    def record(self, unit: int, _: str, choice: int) -> None:
        statuses = ("RESOLVED", "RESOLVED", "VOID", "CENSORED", "PENDING")
        status, question = statuses[choice % 5], self.question(unit, choice)
        answers = ("pass", "fail") if unit else ("dry", "rain", "snow")
        published = self.history.now - timedelta(minutes=choice % 4 * choice)
        self.records[unit] = self.history.record(
            question,
            status,
            author="resolver",
            outcome=answers[choice % len(answers)] if status == "RESOLVED" else None,
            published_at=published if choice % 3 else None,
            started_at=published if choice % 6 == 0 else None,
        )

    def review(self, unit: int, *_: object) -> None:
        self.history.record(
            self.question(unit, 0),
            "VOID",
            author="reviewer",
            supersedes=None,
            confirms=self.records[unit],
        )

    def charter(self, _: int, __: str, choice: int) -> None:
        name = ("forecaster", "rival", "resolver", "issuer")[choice % 4]
        since = {name: choice % (self.history.size() + 1)}
        self.charters += 1
        keys = {name: f"{name}#{self.charters}"}
        made = self.history.charter(
            self.charters, compromised_since=since, keys=keys, backdated_seconds=choice
        )
        try:
            self.history.add(made)
        except RefusedError:
            self.charters -= 1

    def freeze(self, *_: object) -> None:
        self.versions += 1
        self.history.freeze(suite(f"history@v{self.versions}"))

    @staticmethod
    def p(choice: int) -> str:
        return ("0", "1", "0.5", "0.25", "0.999999", "0.8", "0.01")[choice % 7]


def tell(
    chronology: str, steps: list[Step], competitors: Sequence[Competitor] = ()
) -> History:
    """Return the history that these steps tell; the suite has some competitors more."""
    story = Story(chronology, competitors)
    for step in steps:
        story.tell(step)
    return story.history
