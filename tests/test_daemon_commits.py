"""Group commit: who shares a commit, who is answered, and that each answer is true."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.checkpoint import parse_checkpoint, split_note
from ledger.daemon.admission import Batch
from ledger.daemon.commits import Answer, Committer, Done
from ledger.daemon.opening import Found, Look, found_unit
from ledger.daemon.protocol import BUSY, INTERNAL_ERROR, REFUSED, STOPPED, FaultError
from ledger.errors import RefusedError, UsageError, WriterStoppedError
from ledger.log import open_reader
from ledger.unit import unit_name
from ledger.writer import Receipt, Submission, Writer
from tests.workshop import SUITE, Workshop

SECONDS = 60


class Bench:
    """A committer over a real writer, and what it answered in the order of answers."""

    def __init__(self, shop: Workshop, writer: Writer, **limits: int) -> None:
        self.shop = shop
        self.writer = writer
        self.done: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.answers: list[tuple[int, Answer]] = []
        self.stopped: list[str] = []
        self.faults: list[str] = []
        self.committer = Committer(
            writer,
            note="",
            deliver=self.done.put,
            on_stopped=self.stopped.append,
            on_fault=self.faults.append,
            queue_events=limits.get("queue_events", 10_000),
            queue_bytes=limits.get("queue_bytes", 1 << 30),
        )
        self._asked = 0

    def ask(
        self,
        *events: Submission | RefusedError,
        atomic: bool = False,
        whose: str | None = None,
    ) -> int:
        batch = Batch(admitted=events, is_atomic=atomic, bytes=100)
        return self.submit(batch, whose)

    def submit(self, job: Any, whose: str | None = None) -> int:
        number = self._asked
        self._asked += 1
        self.committer.submit(
            job, lambda answer: self.answers.append((number, answer)), whose=whose
        )
        return number

    def settle(self) -> dict[int, Answer]:
        """Wait for all answers and return them by the numbers of their requests."""
        while len(self.answers) < self._asked:
            self.done.get(timeout=SECONDS)()
        return dict(self.answers)


@pytest.fixture
def bench(tmp_path: Any) -> Iterator[Bench]:
    shop = Workshop(tmp_path).found()
    with shop.writer() as writer:
        made = Bench(shop, writer)
        yield made
        made.committer.finish()


def outcomes(answer: Answer) -> Sequence[Receipt | RefusedError]:
    assert isinstance(answer, Done), answer
    return answer.outcomes


def fault(answer: Answer) -> tuple[int, object]:
    assert isinstance(answer, FaultError)
    return answer.code, answer.data["code"]


def entries(shop: Workshop) -> list[bytes]:
    with open_reader(shop.folder) as reader:
        return [row.payload for row in reader.store.rows(0, reader.events.size())]


def opening(shop: Workshop, number: int) -> Submission:
    return shop.signed(shop.opened(shop.question(number)))


def unfit(shop: Workshop) -> Submission:
    """Return a forecast that nobody opened a question for."""
    return shop.signed(shop.sealed("00" * 32, 50))


def test_what_is_queued_together_is_committed_together_and_each_is_answered(
    bench: Bench,
) -> None:
    events = [opening(bench.shop, number) for number in range(20)]
    for event in events:
        bench.ask(event)
    bench.committer.start()
    answers = bench.settle()
    assert bench.committer.counts.commits == 1
    for number, event in enumerate(events):
        [receipt] = outcomes(answers[number])
        assert isinstance(receipt, Receipt)
        assert entries(bench.shop)[receipt.seq] == event.payload
        assert parse_checkpoint(split_note(answers[number].note)[0]).size == 22


def test_a_unit_s_text_hash_is_told_while_it_is_staged_and_once_it_is_in_the_log(
    bench: Bench,
) -> None:
    said = {0: "ab" * 32, 1: None, 2: "cd" * 32}
    questions = {
        number: msgspec.structs.replace(
            bench.shop.question(number), text_hash=text_hash
        )
        for number, text_hash in said.items()
    }
    asks = {
        number: partial(
            found_unit,
            suite=SUITE,
            name=unit_name(SUITE, each.template, each.id, each.horizon),
        )
        for number, each in questions.items()
    }
    looked = []
    for number, question in questions.items():
        bench.ask(bench.shop.signed(bench.shop.opened(question)))
        looked.append(bench.submit(Look(ask=asks[number])))
    bench.committer.start()
    answers = bench.settle()
    assert bench.committer.counts.commits == 1
    for number, at in zip(said, looked, strict=True):
        answer = answers[at]
        assert isinstance(answer, Done)
        assert isinstance(answer.found, Found)
        assert answer.found.text_hash == said[number]
        assert asks[number](bench.writer) == answer.found


def test_what_comes_while_a_commit_is_under_way_shares_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_in, may_go = Event(), Event()
    commit = bench.writer.commit

    def slow() -> list[Receipt]:
        is_in.set()
        assert may_go.wait(SECONDS)
        return commit()

    monkeypatch.setattr(bench.writer, "commit", slow)
    bench.committer.start()
    bench.ask(opening(bench.shop, 0))
    assert is_in.wait(SECONDS)
    for number in range(1, 8):
        bench.ask(opening(bench.shop, number))
    # None of them was staged when the first commit began: none may be in its answer.
    assert bench.done.empty()
    may_go.set()
    answers = bench.settle()
    assert bench.committer.counts.commits == 2
    assert [outcomes(answers[number])[0].seq for number in range(8)] == list(
        range(2, 10)
    )
    notes = [split_note(answers[number].note)[0] for number in range(8)]
    assert [parse_checkpoint(note).size for note in notes] == [3] + [10] * 7


def test_an_event_is_in_the_log_before_anybody_hears_of_it(bench: Bench) -> None:
    bench.committer.start()
    seen = []

    def look(payload: bytes, _: Answer) -> None:
        seen.append(payload in entries(bench.shop))

    for number in range(5):
        event = opening(bench.shop, number)
        job = Batch(admitted=(event,), is_atomic=False, bytes=1)
        bench.committer.submit(job, partial(look, event.payload))
    while len(seen) < 5:
        bench.done.get(timeout=SECONDS)()
    assert seen == [True] * 5


def test_an_atomic_batch_with_one_unfit_event_is_refused_and_harms_nobody(
    bench: Bench,
) -> None:
    shop = bench.shop
    first = bench.ask(opening(shop, 0))
    torn = bench.ask(opening(shop, 1), opening(shop, 2), unfit(shop), atomic=True)
    after = bench.ask(opening(shop, 3))
    looked = bench.submit(Look(ask=lambda writer: sorted(writer.state.suites)))
    bench.committer.start()
    answers = bench.settle()
    refused = answers[torn]
    assert fault(refused) == (REFUSED, "unknown-question")
    assert isinstance(refused, FaultError)
    assert refused.data["index"] == 2
    assert outcomes(answers[first])[0].seq == 2
    assert outcomes(answers[after])[0].seq == 3
    assert answers[looked].found == ["workshop@v1"]
    ids = b"".join(entries(shop))
    assert b"dispatch-0000001" not in ids
    assert b"dispatch-0000002" not in ids
    # What a client did wrong is no fault of this program.
    counts = bench.committer.counts
    assert (counts.faults, counts.refused, counts.appended) == (0, 3, 2)


def test_an_atomic_batch_that_is_sound_is_let_in_as_a_whole(bench: Bench) -> None:
    shop = bench.shop
    question = shop.question(0)
    seal = shop.signed(shop.sealed(codec.question_hash(question), 70))
    number = bench.ask(shop.signed(shop.opened(question)), seal, atomic=True)
    bench.committer.start()
    assert [each.seq for each in outcomes(bench.settle()[number])] == [2, 3]


def test_many_torn_batches_in_a_group_are_each_refused_alone(bench: Bench) -> None:
    shop = bench.shop
    sound, torn = [], []
    for number in range(0, 60, 2):
        sound.append(bench.ask(opening(shop, number)))
        torn.append(bench.ask(opening(shop, number + 1), unfit(shop), atomic=True))
    bench.committer.start()
    answers = bench.settle()
    assert [outcomes(answers[each])[0].seq for each in sound] == list(range(2, 32))
    assert {fault(answers[each]) for each in torn} == {(REFUSED, "unknown-question")}
    assert len(entries(shop)) == 32


def test_many_torn_batches_of_one_connection_hold_up_nobody_else(bench: Bench) -> None:
    shop = bench.shop
    torn = [
        bench.ask(opening(shop, number), unfit(shop), atomic=True, whose="a")
        for number in range(30)
    ]
    last = bench.ask(opening(shop, 30), whose="a")
    other = bench.ask(opening(shop, 31), whose="b")
    bench.committer.start()
    answers = bench.settle()
    # The first of them and the other share a group; each more waits for the next.
    assert [number for number, _ in bench.answers] == [0, other, *torn[1:], last]
    assert {fault(answers[each]) for each in torn} == {(REFUSED, "unknown-question")}
    assert len(entries(shop)) == 4


def test_what_waits_behind_a_batch_hears_too_that_the_writer_is_dead(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> list[Receipt]:
        raise WriterStoppedError("the disk said no")

    monkeypatch.setattr(bench.writer, "commit", broken)
    for number in range(4):
        bench.ask(opening(bench.shop, number), atomic=True, whose="a")
    bench.committer.start()
    answers = bench.settle()
    assert [number for number, _ in bench.answers] == [0, 1, 2, 3]
    assert {fault(each) for each in answers.values()} == {(STOPPED, "stopped")}


@pytest.mark.parametrize("is_atomic", [False, True])
def test_another_program_that_holds_the_log_is_waited_for_once_by_all_who_wait(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, is_atomic: bool
) -> None:
    tries = 0

    def held(_: bytes) -> None:
        nonlocal tries
        tries += 1
        raise UsageError("another program holds log.db")

    events = [opening(bench.shop, number) for number in range(40)]
    with monkeypatch.context() as holds:
        holds.setattr(bench.writer, "stage", held)
        many = bench.ask(*events)
        more = [bench.ask(each, atomic=is_atomic, whose="a") for each in events]
        bench.committer.start()
        answers = bench.settle()
    assert tries == 1
    codes = [getattr(each, "code", None) for each in outcomes(answers[many])]
    assert set(codes) == {"busy"}
    if is_atomic:
        assert {fault(answers[each]) for each in more} == {(REFUSED, "busy")}
    # It is asked for again in the next group.
    last = bench.ask(*events)
    assert [each.seq for each in outcomes(bench.settle()[last])] == list(range(2, 42))


def test_questions_that_wait_are_nothing_that_will_be_written(bench: Bench) -> None:
    name = unit_name(SUITE, "dispatch-pass", "nobody-s", "24h")
    for _ in range(3):
        bench.submit(Look(ask=partial(found_unit, suite=SUITE, name=name)))
    waiting = bench.committer
    assert (waiting.lines_to_write, waiting.bytes_to_write) == (0, 0)
    assert (waiting.jobs_waiting, waiting.bytes_waiting) == (3, 3 * 1_024)
    bench.ask(opening(bench.shop, 0), opening(bench.shop, 1))
    assert (waiting.lines_to_write, waiting.bytes_to_write) == (1, 100)
    bench.committer.start()
    bench.settle()
    assert (waiting.lines_to_write, waiting.bytes_to_write) == (0, 0)
    assert (waiting.jobs_waiting, waiting.bytes_waiting) == (0, 0)


def test_the_same_event_twice_gets_the_same_receipt_and_stands_once(
    bench: Bench,
) -> None:
    event = opening(bench.shop, 0)
    bench.ask(event, event)
    bench.ask(event)
    bench.committer.start()
    answers = bench.settle()
    again = bench.ask(event)
    answers = bench.settle()
    found = [*outcomes(answers[0]), *outcomes(answers[1]), *outcomes(answers[again])]
    assert {each.seq for each in found} == {2}
    assert len({each.received_at for each in found}) == 1
    assert len(entries(bench.shop)) == 3


@pytest.mark.parametrize(
    "error",
    [WriterStoppedError("the disk said no"), OSError(5, "I/O error"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
def test_after_a_commit_of_unknown_outcome_nobody_is_told_that_it_is_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken() -> list[Receipt]:
        raise error

    monkeypatch.setattr(bench.writer, "commit", broken)
    for number in range(4):
        bench.ask(opening(bench.shop, number))
    bench.committer.start()
    answers = bench.settle()
    assert {fault(each) for each in answers.values()} == {(STOPPED, "stopped")}
    assert len(bench.stopped) == 1
    with pytest.raises(FaultError) as later:
        bench.ask(opening(bench.shop, 9))
    assert later.value.code == STOPPED


def test_a_full_queue_sends_away_with_a_hint_when_to_come_back(tmp_path: Any) -> None:
    shop = Workshop(tmp_path).found()
    with shop.writer() as writer:
        bench = Bench(shop, writer, queue_events=2)
        bench.ask(opening(shop, 0))
        bench.ask(opening(shop, 1))
        with pytest.raises(FaultError) as busy:
            bench.ask(opening(shop, 2))
        assert busy.value.code == BUSY
        assert int(str(busy.value.data["retry_after_ms"])) > 0
        urgent: list[Answer] = []
        job = Batch(admitted=(opening(shop, 3),), is_atomic=False, bytes=1)
        bench.committer.submit(job, urgent.append, is_urgent=True)
        bench.committer.start()
        bench._asked -= 1
        bench.settle()
        bench.ask(opening(shop, 2))
        bench.settle()
        bench.committer.finish()
    assert len(entries(shop)) == 6
    assert isinstance(urgent[0], Done)


def test_memory_bounds_the_queue_too_and_an_empty_queue_takes_any_request(
    tmp_path: Any,
) -> None:
    shop = Workshop(tmp_path).found()
    with shop.writer() as writer:
        bench = Bench(shop, writer, queue_bytes=99)
        bench.ask(opening(shop, 0))
        with pytest.raises(FaultError) as busy:
            bench.ask(opening(shop, 1))
        assert busy.value.code == BUSY
        bench.committer.start()
        bench.committer.finish()


def test_a_fault_of_the_program_costs_one_request_and_no_event_of_another(
    bench: Bench,
) -> None:
    def stumble(_: object) -> object:
        raise KeyError("no such thing")

    bench.ask(opening(bench.shop, 0))
    stumbled = bench.submit(Look(ask=stumble))
    bench.ask(opening(bench.shop, 1))
    bench.committer.start()
    answers = bench.settle()
    while not bench.done.empty():
        bench.done.get()()
    assert fault(answers[stumbled]) == (INTERNAL_ERROR, "internal-error")
    assert "Traceback" not in str(answers[stumbled])
    assert "no such thing" in bench.faults[0]
    assert len(entries(bench.shop)) == 4
    counts = bench.committer.counts
    assert (counts.faults, counts.refused, counts.appended) == (1, 0, 2)


@pytest.mark.parametrize("atomic", [False, True])
def test_finishing_answers_what_is_queued_first(bench: Bench, *, atomic: bool) -> None:
    for number in range(3):
        bench.ask(opening(bench.shop, number), atomic=atomic, whose="a")
    bench.committer.start()
    bench.committer.finish()
    assert len(entries(bench.shop)) == 5
    assert len(bench.settle()) == 3


REQUESTS = st.lists(
    st.tuples(st.lists(st.sampled_from("ox"), min_size=1, max_size=3), st.booleans()),
    min_size=1,
    max_size=8,
)


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(requests=REQUESTS)
def test_any_group_is_answered_as_if_each_request_had_come_alone(
    tmp_path_factory: pytest.TempPathFactory, requests: list[tuple[list[str], bool]]
) -> None:
    shop = Workshop(tmp_path_factory.mktemp("g")).found()
    numbers = iter(range(1_000))
    made = [
        (
            [
                opening(shop, next(numbers)) if sign == "o" else unfit(shop)
                for sign in signs
            ],
            atomic,
        )
        for signs, atomic in requests
    ]
    with shop.writer() as writer:
        bench = Bench(shop, writer)
        for events, atomic in made:
            bench.ask(*events, atomic=atomic)
        bench.committer.start()
        answers = bench.settle()
        bench.committer.finish()
    expected: list[bytes] = []
    for number, ((events, atomic), (signs, _)) in enumerate(
        zip(made, requests, strict=True)
    ):
        if atomic and "x" in signs:
            assert fault(answers[number])[0] == REFUSED
            continue
        for event, sign, outcome in zip(
            events, signs, outcomes(answers[number]), strict=True
        ):
            assert isinstance(outcome, Receipt) is (sign == "o")
            if isinstance(outcome, Receipt):
                assert outcome.seq == 2 + len(expected)
                expected.append(event.payload)
    assert entries(shop)[2:] == expected


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    requests=st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from(("o", "oo", "ox")), st.booleans()
        ),
        min_size=1,
        max_size=12,
    )
)
def test_of_one_connection_all_is_done_once_and_answered_in_its_order(
    tmp_path_factory: pytest.TempPathFactory, requests: list[tuple[str, str, bool]]
) -> None:
    shop = Workshop(tmp_path_factory.mktemp("g")).found()
    numbers = iter(range(1_000))
    let_in: dict[str, list[bytes]] = {"a": [], "b": [], "c": []}
    asked: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    with shop.writer() as writer:
        bench = Bench(shop, writer)
        for whose, signs, atomic in requests:
            events = [
                opening(shop, next(numbers)) if sign == "o" else unfit(shop)
                for sign in signs
            ]
            asked[whose].append(bench.ask(*events, atomic=atomic, whose=whose))
            if not (atomic and "x" in signs):
                let_in[whose] += [
                    event.payload
                    for event, sign in zip(events, signs, strict=True)
                    if sign == "o"
                ]
        bench.committer.start()
        bench.settle()
        bench.committer.finish()
    found = entries(shop)[2:]
    assert len(found) == sum(map(len, let_in.values()))
    answered = [number for number, _ in bench.answers]
    for whose in "abc":
        assert [each for each in found if each in let_in[whose]] == let_in[whose]
        assert [each for each in answered if each in asked[whose]] == asked[whose]
