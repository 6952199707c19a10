"""Signatures checked ahead of the writer: a verdict for each event, or none at all."""

import os
import signal
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import msgspec
import pytest

from ledger.errors import RefusedError
from ledger.signatures import SignaturesAhead
from ledger.writer import Checked, Receipt, Submission
from tests.workshop import Workshop, key_of, signed_bytes

SIGNER = key_of("native")
ENOUGH = 300  # events: more than are ahead at once


@pytest.fixture
def ahead() -> Iterator[SignaturesAhead]:
    with SignaturesAhead() as process:
        wait_for(process)
        yield process


def events(count: int = ENOUGH) -> list[Submission]:
    return [signed_bytes(b"event %d" % number, SIGNER) for number in range(count)]


def wait_for(process: SignaturesAhead) -> None:
    """Return once the process answers; it needs a moment to start."""
    while not any(isinstance(each, Checked) for each in process.checked(events(1))):
        pass


def forged(submission: Submission, **changes: bytes) -> Submission:
    return msgspec.structs.replace(submission, **changes)


def test_what_is_signed_comes_back_in_order_and_checked(ahead: SignaturesAhead) -> None:
    given = events()
    found = list(ahead.checked(given))
    assert [each.payload for each in found] == [each.payload for each in given]
    assert all(isinstance(each, Checked) for each in found)


FORGERIES = {
    "another payload": {"payload": b"event 0 "},
    "another signature": {"signature": bytes(64)},
    "a signature cut short": {"signature": events(1)[0].signature[:63]},
    "a key that is none": {"author_key": b"short"},
    "another's key": {"author_key": key_of("rival").verifier.public},
    "nothing at all": {"payload": b"", "signature": b"", "author_key": b""},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=FORGERIES)
def test_what_is_not_signed_is_never_called_checked(
    ahead: SignaturesAhead, changes: dict[str, bytes]
) -> None:
    good = events()
    given = [*good[:40], forged(good[40], **changes), *good[41:]]
    found = list(ahead.checked(given))
    unchecked = [at for at, each in enumerate(found) if not isinstance(each, Checked)]
    assert unchecked == [40]
    assert found[40] == given[40]
    assert not found[40].is_signed()


def test_before_the_process_has_begun_events_pass_unchecked() -> None:
    with SignaturesAhead() as process:
        found = list(process.checked(events(3)))
    assert [each.payload for each in found] == [each.payload for each in events(3)]
    assert all(each.is_signed() for each in found)


def test_where_the_process_is_killed_no_event_is_lost_or_believed() -> None:
    with SignaturesAhead() as process:
        wait_for(process)
        [child] = active_children()
        assert child.pid is not None
        found = process.checked(events())
        first = next(found)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        rest = list(found)
        again = list(process.checked([forged(events(1)[0], signature=bytes(64))]))
    assert [each.payload for each in (first, *rest)] == [
        each.payload for each in events()
    ]
    assert not isinstance(rest[-1], Checked)
    assert not isinstance(again[0], Checked)


def test_the_writer_refuses_a_forged_event_among_many_that_were_checked(
    tmp_path: Path, ahead: SignaturesAhead
) -> None:
    workshop = Workshop(tmp_path).found()
    history = list(workshop.history(30))
    history[50] = forged(history[50], signature=history[51].signature)
    with workshop.writer() as writer:
        answers = writer.append(ahead.checked(history[:60]))
    refused = [at for at, each in enumerate(answers) if isinstance(each, RefusedError)]
    assert refused == [50]
    assert isinstance(answers[50], RefusedError)
    assert answers[50].code == "bad-signature"
    assert sum(isinstance(each, Receipt) for each in answers) == 59
