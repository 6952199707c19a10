"""An amendment may name its predecessor as what stands, if it was made after it."""

from typing import Any

import pytest

from ledger.errors import RefusedError
from ledger.events import ResolutionRecorded
from tests.court import Court
from tests.test_drafts import OPEN, RESOLVE, complete, hear

AMEND = {**RESOLVE, "supersedes": "standing"}
# What stands was made an hour ago.
RESOLVED = {**RESOLVE, "created_at": "-1h"}


def opened() -> Court:
    court = Court()
    hear(court, {**OPEN, "created_at": "-2h"})
    return court


def amendment(court: Court, **changes: Any) -> ResolutionRecorded:
    event = complete(court, {**AMEND, **changes})
    assert isinstance(event, ResolutionRecorded)
    return event


def test_an_amendment_of_what_stands_supersedes_the_last_record() -> None:
    court = opened()
    first = hear(court, RESOLVED)
    second = hear(court, {**AMEND, "outcome": "fail", "created_at": "-30m"})

    assert amendment(court).supersedes == second != first


def test_what_stands_may_be_pending_or_void() -> None:
    court = opened()
    pending = amendment(court).supersedes
    void = {**RESOLVED, "status": "VOID", "outcome": None, "reason_code": "withdrawn"}
    voided = hear(court, {**void, "supersedes": "standing"})

    assert pending is not None
    assert amendment(court).supersedes == voided


def test_one_second_later_amends_and_the_same_instant_does_not() -> None:
    court = opened()
    record = hear(court, RESOLVED)

    assert amendment(court, created_at="-3599s").supersedes == record
    for made_at in ("-1h", "-3601s"):
        with pytest.raises(RefusedError, match="not before this record") as refused:
            amendment(court, created_at=made_at)
        assert refused.value.code == "draft-unfit"
        assert record in refused.value.message


def test_a_history_that_is_appended_twice_changes_nothing_the_second_time() -> None:
    court = opened()
    history = [
        RESOLVED,
        {**AMEND, "outcome": "fail", "created_at": "-50m"},
        {**AMEND, "outcome": "pass", "created_at": "-40m"},
    ]
    hear(court, *history)
    size = court.size
    for draft in history:
        with pytest.raises(RefusedError):
            hear(court, draft)

    assert court.size == size


def test_where_nothing_is_recorded_nothing_stands() -> None:
    court = Court()
    question = court.question("free")
    court.hear(court.bring(question))
    unit = {"template": "free", "id": "d-1", "horizon": "24h"}
    with pytest.raises(RefusedError, match="nothing is recorded of the unit"):
        complete(court, {**AMEND, **unit})


def test_only_a_resolution_supersedes_what_stands() -> None:
    court = opened()
    record = hear(court, RESOLVED)
    with pytest.raises(RefusedError, match="confirms is"):
        complete(court, {**RESOLVE, "confirms": "standing"})
    assert amendment(court, confirms=None).supersedes == record


def test_a_unit_that_is_opened_twice_by_the_same_draft_is_opened_once() -> None:
    court = Court()
    opening = complete(court, OPEN)
    court.hear(opening)

    assert complete(court, OPEN) == opening
    other = complete(court, {**OPEN, "created_at": "-1s"})
    with pytest.raises(RefusedError) as refused:
        court.hear(other)
    assert refused.value.code == "supersedes-missing"
