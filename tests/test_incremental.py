"""However a log is read, in one go or bit by bit, the tables are the same."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.errors import CorruptLogError
from ledger.projections.fold import Fold
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload
from ledger.projections.report import Report
from tests.simulator import History
from tests.story import STEPS, Step, tell


class Growing:
    """A log of which only so much is there yet."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.visible = 0

    def size(self) -> int:
        return self.visible

    def payloads(self, start: int, stop: int) -> Iterator[Payload]:
        return self.history.payloads(start, stop)

    def payloads_at(self, seqs: Sequence[int]) -> Iterator[Payload]:
        return self.history.payloads_at(seqs)


def digests(fold: Fold, tables: Tables) -> dict[str, str]:
    """Return the digest of every table once all of the log and all rows are in."""
    fold.catch_up()
    Report(tables, fold.frozen).refresh()
    return tables.digests()


def from_zero(history: History) -> dict[str, str]:
    tables = Tables()
    return digests(Fold(tables, history), tables)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chronology=st.sampled_from(["received", "claimed"]),
    steps=STEPS,
    stretch=st.integers(1, 9),
    cuts=st.sets(st.integers(1, 40), max_size=6),
)
def test_a_log_that_is_read_bit_by_bit_gives_the_same_tables_at_every_prefix(
    chronology: str,
    steps: list[Step],
    stretch: int,
    cuts: set[int],
) -> None:
    history = tell(chronology, steps)
    log, tables = Growing(history), Tables()
    fold = Fold(tables, log, stretch=stretch)
    size = history.size()
    for log.visible in sorted({min(cut, size) for cut in cuts} | {size}):
        assert digests(fold, tables) == from_zero(history.until(log.visible))


def long_history() -> History:
    """Return twelve units whose events lie far apart, and a charter in between."""
    history = History()
    asked = [history.question(f"d-{number}") for number in range(12)]
    for question in asked:
        history.open(question)
    sealed = [history.seal(question) for question in asked]
    for question, first in zip(asked, sealed, strict=True):
        history.update(question, first)
    lost = {"forecaster": 20}
    history.add(
        history.charter(2, compromised_since=lost, keys={"forecaster": "forecaster#2"})
    )
    history.wait(hours=3)
    for question in asked:
        history.resolve(question)
    return history


@pytest.mark.parametrize("stretch", [1, 2, 5, 20, 1_000])
def test_the_stretch_in_which_a_log_is_read_changes_nothing(stretch: int) -> None:
    history, tables = long_history(), Tables()
    fold = Fold(tables, history, stretch=stretch)
    assert digests(fold, tables) == from_zero(history)


def test_tables_on_disk_are_gone_on_with_by_another_process(tmp_path: Path) -> None:
    history, path = long_history(), tmp_path / "projections.db"
    for size in (10, 30, history.size()):
        tables = Tables(path)
        found = digests(Fold(tables, history.until(size)), tables)
        assert found == from_zero(history.until(size))
        tables.close()


def test_two_processes_may_fold_the_same_log_into_the_same_tables(
    tmp_path: Path,
) -> None:
    history, path = long_history(), tmp_path / "projections.db"
    log = Growing(history)
    first, second = Tables(path), Tables(path)
    folds = Fold(first, log, stretch=3), Fold(second, log, stretch=4)
    for turn, log.visible in enumerate(range(1, history.size() + 1)):
        folds[turn % 2].catch_up()
    assert digests(folds[0], first) == from_zero(history)


def test_the_tables_of_another_log_are_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "projections.db"
    other, history = History(), long_history()
    other.seal(other.question("elsewhere"))
    for log in (other, history):
        tables = Tables(path)
        assert digests(Fold(tables, log), tables) == from_zero(log)
        tables.close()


def test_tables_that_know_more_than_the_log_are_built_anew(tmp_path: Path) -> None:
    history, path = long_history(), tmp_path / "projections.db"
    for log in (history, history.until(20)):
        tables = Tables(path)
        assert digests(Fold(tables, log), tables) == from_zero(log)
        tables.close()


def test_tables_of_an_older_format_are_built_anew(tmp_path: Path) -> None:
    history, path = long_history(), tmp_path / "projections.db"
    tables = Tables(path)
    tables.connection.execute("PRAGMA user_version = 999")
    tables.connection.execute("DROP TABLE questions")
    tables.close()
    tables = Tables(path)
    assert digests(Fold(tables, history), tables) == from_zero(history)


def test_an_event_about_a_question_that_nothing_brought_is_named_by_its_place() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    bodiless = history.draft_seal(
        question,
        question=None,
        question_hash="f" * 64,
        probabilities=history.vector(question, "0.5"),
    )
    history.add(bodiless, lawful=False)
    with pytest.raises(CorruptLogError, match="entry 3: nothing before it brought"):
        history.folded()


def test_a_stretch_that_fails_leaves_what_was_folded_before() -> None:
    history, tables = long_history(), Tables()
    log = Growing(history)
    log.visible = 20
    fold = Fold(tables, log, stretch=10)
    fold.catch_up()
    sound = history.entries[25]
    history.entries[25] = msgspec.structs.replace(sound, payload=b"{}")
    log.visible = history.size()
    with pytest.raises(CorruptLogError, match="entry 25"):
        fold.catch_up()
    assert tables.position()[0] == 20
    history.entries[25] = sound
    assert digests(fold, tables) == from_zero(history)


def test_progress_is_told_stretch_by_stretch() -> None:
    history = long_history()
    told: list[int] = []
    Fold(Tables(), history, stretch=20).catch_up(told.append)
    # The charter calls an earlier signature void, so that the log is read twice.
    assert told == [20, 0, 20, 40, history.size()]
