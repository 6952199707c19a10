"""Random histories of all roles, honest and not, through the real door of a folder.

Whatever happens: the audit finds nothing false, tables that were kept up equal tables
made from zero, the counts of every row add up, and what was refused left no trace.
"""

import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from ledger import codec
from ledger.errors import RefusedError
from ledger.events import Evidence, ForecastSealed, LedgerEvent, Question
from ledger.log import open_reader
from ledger.projections.audit import verify_ledger
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.report import Report
from ledger.projections.stored import StoredPayloads
from ledger.suite import SuiteManifest
from tests.on_disk import PINNED, OnDisk, everybodys
from tests.simulator import BEGAN, PEOPLE, suite

SALT = sha256(b"salt").hexdigest()
NAMES = st.sampled_from([*PEOPLE, "nobody"])
FORECASTERS = st.sampled_from(["native", "rival"])
STATUSES = st.sampled_from(
    ["RESOLVED"] * 4 + ["VOID", "CENSORED", "CANCELED", "INVALID", "PENDING"]
)
# Nothing here is about what a disk does, and a disk takes most of the time.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
TEMPLATES = ("dispatch-pass", "weather", "listed", "choice")
UNITS = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5])
CHOICES = st.integers(0, 60)
Units = dict[tuple[int, str], str]


def question_of(unit: int, choice: int) -> Question:
    """Return a unit's question; a few choices make another version, or one too many."""
    template = TEMPLATES[unit % 4]
    made = Question(
        template=template,
        id=f"d-{unit}",
        target=f"target-{unit % 2}",
        opened_at=BEGAN,
        cutoff_at=BEGAN + timedelta(hours=2),
        resolve_by=BEGAN + timedelta(hours=24),
        horizon="24h",
        answers=("a", "b", "c")[: 2 + choice % 9 // 8] if template == "choice" else (),
        acceptance_hash="f" * 64 if choice % 11 == 10 else None,
        tags={"colour": "red"} if choice % 13 == 12 else {},
    )
    return PINNED[unit // 4] if template == "listed" and choice % 5 else made


class Histories(RuleBasedStateMachine):
    """Steps that mean something; each may be refused, and then nothing has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(mkdtemp(prefix="ledger-history-", dir=MEMORY))
        self.history = OnDisk(self.home)
        self.tables = Tables()
        self.last: Units = {}
        self.hidden: dict[tuple[int, str], tuple[str, str]] = {}
        self.records: dict[int, str] = {}
        self.charters, self.versions = 1, 1
        self.keys: dict[str, str] = {}

    def teardown(self) -> None:
        try:
            self.history.writer.close()
            self.read()
            self.nothing_is_false()
            self.tables_are_those_from_zero()
        finally:
            shutil.rmtree(self.home)

    def attempt(self, step: Callable[[], str]) -> str | None:
        """Return the id of what a step wrote; None where the door refused it."""
        writer = self.history.writer
        before = writer.checkpoint()
        try:
            return step()
        except RefusedError:
            assert self.history.writer.checkpoint() == before
            return None

    def known_key(self, name: str) -> str:
        return self.keys.get(name, name)

    @initialize()
    def begin(self) -> None:
        """Ask and forecast honestly, so that there is something to be dishonest about."""
        for unit in range(5):
            question = question_of(unit, 1)
            self.records[unit] = self.history.open(question)
            for who in ("native", "rival")[: 1 + unit % 2]:
                self.last[unit, who] = self.history.seal(question, forecaster=who)
        self.judge(1, 0)

    # --- Questions and forecasts ------------------------------------------------------

    @rule(unit=UNITS, who=NAMES, choice=CHOICES)
    def open(self, unit: int, who: str, choice: int) -> None:
        author = who if choice % 5 == 4 else "issuer"
        opened = self.attempt(
            lambda: self.history.open(question_of(unit, choice), author=author)
        )
        if opened is not None:
            self.records[unit] = opened

    @rule(unit=UNITS, who=FORECASTERS, choice=CHOICES)
    def seal(self, unit: int, who: str, choice: int) -> None:
        question = question_of(unit, choice)
        changes: dict[str, Any] = {"forecaster": who, "key": self.key_for(who)}
        lies: dict[int, dict[str, Any]] = {
            3: {"ledger": "e" * 64},
            4: {"suite_hash": "e" * 64},
            5: {"created_at": self.history.now + timedelta(seconds=301)},
            6: {"created_at": BEGAN - timedelta(days=1)},
            7: {"author": "resolver", "key": None},
            8: {"key": "issuer"},
            9: {"suite": "other@v1"},
            10: {"probabilities": {"a": "1"}},
            11: {"evidence": Evidence(cutoff_at=self.history.now + timedelta(1))},
            12: {"question": None, "question_hash": codec.question_hash(question)},
        }
        changes |= lies.get(choice % 20, {})
        sealed = self.attempt(
            lambda: self.history.seal(question, self.p(choice), **changes)
        )
        if sealed is not None:
            self.last.setdefault((unit, who), sealed)

    @rule(unit=UNITS, who=FORECASTERS, choice=CHOICES)
    def hide(self, unit: int, who: str, choice: int) -> None:
        question = question_of(unit, 1)
        draft = self.drafted(question, who, self.p(choice))
        committed = codec.commitment(draft, parent=None, salt=SALT)
        hiding = {"commitment": committed, "forecaster": who}
        sealed = self.attempt(
            lambda: self.history.seal(question, "", key=self.key_for(who), **hiding)
        )
        if sealed is not None:
            self.last.setdefault((unit, who), sealed)
            self.hidden[unit, who] = sealed, self.p(choice)

    @rule(unit=UNITS, who=FORECASTERS, choice=CHOICES)
    def update(self, unit: int, who: str, choice: int) -> None:
        other = "rival" if who == "native" else "native"
        parents = [self.last.get((unit, who)), self.last.get((unit, other)), "d" * 64]
        parent = parents[choice % 8 // 6 + choice % 9 // 8] or "c" * 64
        updated = self.attempt(
            lambda: self.history.update(
                question_of(unit, 1),
                parent,
                self.p(choice),
                forecaster=who,
                key=self.key_for(who),
            )
        )
        if updated is not None:
            self.last[unit, who] = updated

    @rule(unit=UNITS, who=FORECASTERS, choice=CHOICES)
    def reveal(self, unit: int, who: str, choice: int) -> None:
        sealed, shown = self.hidden.get((unit, who), ("b" * 64, "0.5"))
        self.attempt(
            lambda: self.history.update(
                question_of(unit, 1),
                self.last.get((unit, who), "b" * 64),
                self.p(choice) if choice % 4 == 0 else shown,
                forecaster=who,
                opens=sealed,
                salt=SALT,
                key=self.key_for(who),
            )
        )

    @rule(unit=UNITS, choice=CHOICES)
    def judge(self, unit: int, choice: int) -> None:
        """Record an outcome as an honest resolver does, sometimes another one."""
        question = question_of(unit, 1)
        outcomes = {"weather": ("dry", "rain"), "choice": ("a", "b")}
        outcome = outcomes.get(question.template, ("pass", "fail"))[choice % 2]
        self.history.wait(minutes=choice * (choice % 3))
        judged = self.attempt(
            lambda: self.history.resolve(
                question, outcome, key=self.known_key("resolver")
            )
        )
        if judged is not None:
            self.records[unit] = judged

    # --- What happened ----------------------------------------------------------------

    @rule(unit=UNITS, who=NAMES, status=STATUSES, choice=CHOICES)
    def record(self, unit: int, who: str, status: str, choice: int) -> None:
        question, author = question_of(unit, 1), who if choice % 6 == 0 else "resolver"
        answers = {"weather": ("dry", "rain", "hail"), "choice": ("a", "b", "c")}
        outcomes = answers.get(question.template, ("pass", "fail", "maybe"))
        told = self.history.now - timedelta(minutes=choice * (choice % 5 // 4))
        changes: dict[str, Any] = {
            "author": author,
            "key": self.known_key(author),
            "outcome": outcomes[choice % 7 % 3] if status == "RESOLVED" else None,
            "published_at": told if choice % 3 else None,
            "started_at": told if choice % 5 == 0 else None,
        }
        if choice % 4 == 3:
            changes["question"] = question
        lies: dict[int, dict[str, Any]] = {
            2: {"supersedes": None},
            3: {"supersedes": "a" * 64},
            4: {"published_at": self.history.now + timedelta(minutes=1)},
            5: {"reason_code": None},
            6: {"acceptance_hash": "e" * 64},
            7: {"confirms": self.records.get(unit, "a" * 64), "supersedes": None},
        }
        changes |= lies.get(choice % 16, {})
        recorded = self.attempt(
            lambda: self.history.record(question, status, **changes)
        )
        if recorded is not None and "confirms" not in changes:
            self.records[unit] = recorded

    @rule(unit=UNITS, who=st.sampled_from(["reviewer", "resolver"]), status=STATUSES)
    def review(self, unit: int, who: str, status: str) -> None:
        question = question_of(unit, 1)
        outcome = {"weather": "rain", "choice": "a"}.get(question.template, "pass")
        self.attempt(
            lambda: self.history.record(
                question,
                status,
                author=who,
                key=self.known_key(who),
                outcome=outcome if status == "RESOLVED" else None,
                supersedes=None,
                confirms=self.records.get(unit, "a" * 64),
            )
        )

    # --- Authority --------------------------------------------------------------------

    @precondition(lambda self: self.history.size() > 20)
    @rule(who=NAMES, choice=CHOICES)
    def freeze(self, who: str, choice: int) -> None:
        number = self.versions + 1 + choice % 7 // 6
        made = everybodys(number) if choice % 3 else suite("other@v1")
        event = self.frozen(made, who if choice % 4 == 0 else "evaluator")
        if self.attempt(lambda: self.history.add(event)) and choice % 3:
            self.versions = number

    def frozen(self, made: SuiteManifest, author: str) -> LedgerEvent:
        event = self.history.charter(2)
        name, _, number = made.suite.partition("@v")
        before = f"{name}@v{int(number) - 1}" if number != "1" else None
        return msgspec.structs.replace(
            event, author=author, suite=made.suite, supersedes=before, manifest=made
        )

    @precondition(lambda self: self.history.size() > 20)
    @rule(
        name=st.sampled_from(["forecaster", "rival", "resolver"]),
        who=NAMES,
        choice=CHOICES,
    )
    def charter(self, name: str, who: str, choice: int) -> None:
        number = self.charters + 1
        keys = {**self.keys, name: f"{name}#{number}"}
        since = {name: choice % (self.history.size() + 2)} if choice % 4 == 1 else {}
        event = self.history.charter(
            number, keys=keys, compromised_since=since, backdated_seconds=60 * choice
        )
        if choice % 5 == 4:
            event = msgspec.structs.replace(event, author=who)
        if self.attempt(lambda: self.history.add(event)) is not None:
            self.charters, self.keys = number, keys

    # --- The writer -------------------------------------------------------------------

    @rule(minutes=st.integers(0, 90))
    def wait(self, minutes: int) -> None:
        self.history.wait(minutes=minutes)

    @rule(seconds=st.integers(1, 61))
    def step_back(self, seconds: int) -> None:
        self.history.wait(seconds=-seconds)

    @rule(place=CHOICES)
    def again(self, place: int) -> None:
        """Send an event a second time: its receipt is the first one's."""
        known = self.history.receipts
        submission, first = known[place % len(known)]
        before = self.history.writer.checkpoint()
        self.history.writer.stage(submission)
        (receipt,) = self.history.writer.commit()
        assert self.history.writer.checkpoint() == before
        assert (receipt.seq, receipt.event_id, receipt.received_at, receipt.leaf) == (
            first.seq,
            first.event_id,
            first.received_at,
            first.leaf,
        )

    @rule(unit=UNITS, choice=CHOICES)
    def abandon(self, unit: int, choice: int) -> None:
        """Stage an atomic batch that is given up, refused or not."""
        events = [self.drafted(question_of(unit, choice), who, "0.3") for who in PEOPLE]
        before = self.history.writer.checkpoint()
        with suppress(RefusedError):
            self.history.abandon(*events)
        assert self.history.writer.checkpoint() == before

    @rule()
    def reopen(self) -> None:
        before = self.history.writer.checkpoint()
        self.history.reopen()
        assert self.history.writer.checkpoint() == before

    @rule()
    def read(self) -> None:
        """Keep the tables up with the log."""
        with open_reader(self.history.folder) as reader:
            Fold(self.tables, StoredPayloads(reader.store), stretch=7).catch_up()

    def key_for(self, forecaster: str) -> str:
        return self.known_key("rival" if forecaster == "rival" else "forecaster")

    def drafted(self, question: Question, who: str, p: str) -> ForecastSealed:
        shown = self.history.vector(question, p)
        return self.history.draft_seal(question, probabilities=shown, forecaster=who)

    @staticmethod
    def p(choice: int) -> str:
        return ("0", "1", "0.5", "0.25", "0.999999", "0.8", "0.01")[choice % 7]

    # --- What always holds ------------------------------------------------------------

    def nothing_is_false(self) -> None:
        report = verify_ledger(self.history.folder)
        assert report.exit_code == 0, report
        assert report.entries == len(self.history.receipts)

    def tables_are_those_from_zero(self) -> None:
        folder = self.history.folder
        with open_reader(folder) as reader, closing(Tables()) as fresh:
            found = []
            for tables in (self.tables, fresh):
                fold = Fold(tables, StoredPayloads(reader.store))
                fold.catch_up()
                rows = Report(tables, fold.frozen, folder.blobs.get).rows()
                found.append((tables.digests(), rows))
            assert found[0] == found[1]
        for row in found[0][1]:
            require_sums(row["counts"])
            if row["forecaster"] in ("native", "rival"):
                # A computed competitor has its place at the opening, whoever sealed.
                assert row["counts"]["unforecast"] <= row["counts"]["missing"]


def require_sums(counts: dict[str, int]) -> None:
    """Hold the counts of a row against what docs/rules.md says of them."""
    of_outcome = ("scored", "unscored", "void", "invalid")
    waiting = ("censored", "canceled", "overdue", "pending")
    assert counts["units"] == sum(counts[name] for name in (*of_outcome, *waiting))
    assert counts["units"] == counts["eligible"] + counts["missing"]
    assert counts["resolved"] == counts["scored"] + counts["unscored"]
    assert counts["scored"] <= counts["eligible"] - counts["unslotted"]
    for part in ("forecasts", "late", "duplicate", "hidden"):
        assert counts[part] <= counts["submitted"]


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=15,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
