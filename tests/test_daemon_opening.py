"""Questions that the daemon opens for agents: what is theirs to say, and what is not."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger import codec
from ledger.clock import instant_text, parse_instant
from ledger.daemon.opening import LETTERS_MAX, Openings, Sealing
from ledger.daemon.protocol import BAD_PARAMS, FORBIDDEN, REFUSED, Asked
from ledger.daemon.settings import Opening
from ledger.errors import RefusedError
from tests.served import Served, Talk, seal, served, wire
from tests.workshop import Workshop

SUITE = "workshop@v1"


@pytest.fixture
def daemon() -> Iterator[Served]:
    with served() as found:
        found.open_questions('cluster = "night-shift"\ntags = {}\n')
        yield found.start()


def propose(agent: Talk, name: str = "dispatch-1", **more: Any) -> dict[str, Any]:
    return agent.ask("question", id=name, **more)


def open_seal(
    daemon: Served, agent: Talk, proposed: dict[str, Any], hundredths: int = 80
) -> dict[str, Any]:
    """Return the whole answer to a sealing of what was proposed."""
    event = seal(daemon.shop, proposed, hundredths)
    return agent.call(
        "open_seal", suite=SUITE, question=proposed["question"], events=wire(event)
    )


def test_a_forecast_and_its_opening_go_into_the_log_together(daemon: Served) -> None:
    with daemon.talk("agent") as agent:
        proposed = propose(agent, target="repository-7", tags={"domain": "docs"})
        question = proposed["question"]
        assert (question["id"], question["cluster"]) == ("dispatch-1", "night-shift")
        assert (question["target"], question["tags"]) == (
            "repository-7",
            {"domain": "docs"},
        )
        opened_at = parse_instant(question["opened_at"])
        assert parse_instant(question["cutoff_at"]) - opened_at == timedelta(
            seconds=600
        )
        assert proposed["unit"] is None
        assert proposed["ledger"] == daemon.shop.ledger
        found = open_seal(daemon, agent, proposed)["result"]
        assert found["opened"]["seq"] == 2
        assert [each["seq"] for each in found["receipts"]] == [3]
    opened, sealed = daemon.log()[2:]
    assert (opened["author"], opened["payload"]["status"]) == ("dispatcher", "PENDING")
    assert sealed["payload"]["question_hash"] == proposed["question_hash"]
    assert daemon.verify()["ok"]


def test_sent_again_it_gets_the_same_receipt_and_opens_nothing(daemon: Served) -> None:
    with daemon.talk("agent") as agent:
        proposed = propose(agent)
        event = wire(seal(daemon.shop, proposed, 80))
        asked = {"suite": SUITE, "question": proposed["question"], "events": event}
        first = agent.ask("open_seal", **asked)
        again = agent.ask("open_seal", **asked)
    assert again["receipts"] == first["receipts"]
    assert again["opened"] is None
    assert len(daemon.log()) == 4


def test_a_unit_that_is_open_already_is_proposed_with_its_own_question(
    daemon: Served,
) -> None:
    with daemon.talk("agent") as agent:
        proposed = propose(agent)
        open_seal(daemon, agent, proposed)
        known = propose(agent)
        assert known["question"] is None
        assert known["question_hash"] == proposed["question_hash"]
        assert list(known["unit"]["chains"]) == ["native"]


def test_two_agents_that_were_proposed_different_questions_get_one_unit(
    daemon: Served,
) -> None:
    with daemon.talk("agent") as one, daemon.talk("agent") as other:
        first = propose(one)
        second = propose(other, tags={"domain": "docs"})
        assert "result" in open_seal(daemon, one, first)
        refused = open_seal(daemon, other, second)["error"]
        assert refused["code"] == REFUSED
        assert refused["data"]["code"] == "already-open"
        assert first["question_hash"] in refused["message"]
    assert len(daemon.log()) == 4


CHANGED: dict[str, dict[str, Any]] = {
    "a later cut-off": {"cutoff_at": "2099-01-01T00:00:00Z"},
    "another bar": {"acceptance_hash": "cd" * 32},
    "another cluster": {"cluster": "alone"},
    "a tag that is not the agent's": {"tags": {"ood": "time"}},
    "a text of its own": {"text": "Will it rain?"},
    "answers of its own": {"answers": ["yes", "no"]},
    "a place across targets": {"slot": "1"},
    "another horizon": {"horizon": "1h"},
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_a_question_that_was_changed_is_opened_for_nobody(
    daemon: Served, change: dict[str, Any]
) -> None:
    with daemon.talk("agent") as agent:
        proposed = propose(agent)
        proposed["question"] |= change
        refused = open_seal(daemon, agent, proposed)["error"]
        assert refused["code"] == BAD_PARAMS
        assert refused["data"]["code"] in {"question-changed", "no-opening"}
    assert len(daemon.log()) == 2


@pytest.mark.parametrize("seconds", [-3_600, 3_600])
def test_a_question_of_another_hour_is_opened_for_nobody(
    daemon: Served, seconds: int
) -> None:
    with daemon.talk("agent") as agent:
        proposed = propose(agent)
        for name in ("opened_at", "cutoff_at", "resolve_by"):
            moved = parse_instant(proposed["question"][name]) + timedelta(
                seconds=seconds
            )
            proposed["question"][name] = instant_text(moved)
        refused = open_seal(daemon, agent, proposed)["error"]
        assert refused["data"]["code"] == "question-old"
    assert len(daemon.log()) == 2


NOT_THEIRS: dict[str, dict[str, Any]] = {
    "a cluster that the settings fix": {"cluster": "alone"},
    "a tag that the settings do not leave to agents": {"tags": {"ood": "time"}},
    "a suite that nothing is opened in": {"suite": "other@v1"},
    "no id": {"id": ""},
    "an id of many letters": {"id": "x" * (LETTERS_MAX + 1)},
    "a target of many letters": {"target": "x" * (LETTERS_MAX + 1)},
    "a text's hash of many letters": {"text_hash": "a" * (LETTERS_MAX + 1)},
    "a tag of many letters": {"tags": {"domain": "x" * (LETTERS_MAX + 1)}},
}


@pytest.mark.parametrize("said", NOT_THEIRS.values(), ids=NOT_THEIRS)
def test_what_is_not_for_agents_to_say_is_refused(
    daemon: Served, said: dict[str, Any]
) -> None:
    with daemon.talk("agent") as agent:
        code, _ = agent.fault("question", **{"id": "dispatch-1", **said})
    assert code == BAD_PARAMS


def test_what_agents_say_may_have_so_many_letters_and_what_is_set_up_more(
    daemon: Served,
) -> None:
    daemon.stop()
    daemon.open_questions(f'cluster = "{"c" * (LETTERS_MAX + 1)}"\n')
    daemon.start()
    longest = "ä" * LETTERS_MAX
    with daemon.talk("agent") as agent:
        proposed = propose(
            agent, longest, target=f"a{longest[1:]}", tags={"domain": longest}
        )
        assert "result" in open_seal(daemon, agent, proposed)
        # A question that comes back is held to the same.
        other = propose(agent, "other")
        other["question"]["id"] = longest + "x"
        error = open_seal(daemon, agent, other)["error"]
    assert error["code"] == BAD_PARAMS
    assert f"of {LETTERS_MAX + 1} letters" in error["message"]
    assert f"at most {LETTERS_MAX}" in error["message"]


def test_a_refused_forecast_opens_nothing(daemon: Served) -> None:
    with daemon.talk("agent") as agent:
        proposed = propose(agent)
        elsewhere = {**proposed, "question_hash": "00" * 32}
        event = wire(seal(daemon.shop, elsewhere, 80))
        asked = {"suite": SUITE, "question": proposed["question"], "events": event}
        assert agent.fault("open_seal", **asked) == (REFUSED, "seal-not-on-question")
        forged = seal(daemon.shop, proposed, 80, daemon.shop.keys["resolver"])
        asked["events"] = wire(forged)
        assert agent.fault("open_seal", **asked)[0] == REFUSED
    assert len(daemon.log()) == 2


def test_no_unit_is_opened_for_forecasts_that_are_not_on_its_question(
    daemon: Served,
) -> None:
    shop = daemon.shop
    with daemon.talk("agent") as agent:
        sealed = propose(agent)
        # It stands in the log with its signature, for everybody to read.
        logged = wire(seal(shop, sealed, 80))
        asked = {"suite": SUITE, "question": sealed["question"], "events": logged}
        [receipt] = agent.ask("open_seal", **asked)["receipts"]
        size = agent.ask("head")["size"]
        victim, other = propose(agent, "victim"), propose(agent, "other")
        fresh = seal(shop, victim, 80)
        update = shop.updated(victim["question_hash"], receipt["event_id"], 70)
        foreign = msgspec.structs.replace(
            shop.sealed(victim["question_hash"], 60), suite="elsewhere@v1"
        )
        ways = {
            "an event of the log, without any key": logged,
            "a forecast on a question that is not open either": wire(
                seal(shop, other, 80)
            ),
            "a forecast that fits, and an event of the log": [*wire(fresh), *logged],
            "an update that fits": wire(fresh, shop.signed(update)),
            "a forecast in another suite": wire(shop.signed(foreign)),
        }
        for name, events in ways.items():
            asked = {"suite": SUITE, "question": victim["question"], "events": events}
            found = agent.fault("open_seal", **asked)
            assert found == (REFUSED, "seal-not-on-question"), name
        asked["events"] = []
        assert agent.fault("open_seal", **asked) == (BAD_PARAMS, "bad-params")
        assert agent.ask("head")["size"] == size
        # Nothing is wrong with the unit: whoever forecasts it opens it.
        asked["events"] = wire(fresh)
        assert agent.ask("open_seal", **asked)["opened"]["seq"] == size


def test_a_unit_is_opened_for_what_is_new_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the log has on a question that no unit has was a thief's, or is no more."""
    shop = Workshop(tmp_path).found()
    opening = Opening(
        suite=SUITE, template="dispatch-pass", horizon="24h", issuer="dispatcher",
        cutoff_seconds=600, resolve_seconds=86_400,
    )  # fmt: skip
    openings = Openings((opening,), {"dispatcher": shop.keys["dispatcher"]}, shop.clock)
    question = openings.question(Asked(id="dispatch-1"))
    seals = tuple(
        shop.signed(shop.sealed(codec.question_hash(question), hundredths))
        for hundredths in (70, 80)
    )
    job = Sealing(
        openings=openings, suite=SUITE, question=question, seals=seals, bytes=1_000
    )
    payloads = tuple(each.payload for each in seals)
    with shop.writer() as writer:
        for held in ((), payloads[:1]):
            monkeypatch.setattr(writer, "holds", held.__contains__)
            assert len(job.submissions(writer)) == 3, held
        monkeypatch.setattr(writer, "holds", payloads.__contains__)
        with pytest.raises(RefusedError) as refused:
            job.submissions(writer)
    assert refused.value.code == "seal-not-on-question"


def test_nothing_but_forecasts_is_sealed_whoever_asks(daemon: Served) -> None:
    with daemon.talk() as evaluator:
        proposed = propose(evaluator)
        opened = daemon.shop.signed(daemon.shop.opened(daemon.shop.question(1)))
        asked = {"suite": SUITE, "question": proposed["question"]}
        code = evaluator.fault("open_seal", events=wire(opened), **asked)
        assert code == (FORBIDDEN, "forbidden")


def test_without_openings_a_daemon_says_so(daemon: Served) -> None:
    daemon.stop()
    daemon.configure("")
    daemon.start()
    with daemon.talk("agent") as agent:
        assert agent.fault("question", id="a") == (BAD_PARAMS, "no-opening")


def test_status_tells_what_is_opened(daemon: Served) -> None:
    shown = json.loads(daemon.command("daemon", "status", "--json").stdout)
    assert shown["openings"] == [
        {"suite": SUITE, "template": "dispatch-pass", "horizon": "24h", "agent_tags": ["domain"]}
    ]  # fmt: skip
