"""What people write, and the event that it becomes: nothing is chosen for them."""

import json
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import codec
from ledger.draft_vector import SLACK_PPM, vector
from ledger.drafts import Drafts
from ledger.errors import RefusedError
from ledger.events import (
    Forecast,
    ForecastSealed,
    ForecastUpdated,
    LedgerEvent,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.spelling import ppm
from ledger.suite import CharterManifest
from ledger.suite_template import new_suite
from tests.court import BAR, LISTED, NOW, ORIGIN, QUESTIONS, SUITE, Court, hours, key_of

QUESTION = {
    "template": "dispatch-pass",
    "id": "d-1",
    "opened_at": "now",
    "cutoff_at": "+2h",
    "resolve_by": "+24h",
    "horizon": "24h",
    "acceptance_hash": BAR,
}
OPEN = {
    "type": "ResolutionRecorded",
    "author": "issuer",
    "suite": SUITE,
    "status": "PENDING",
    "question": QUESTION,
}
NAMED = {"template": "dispatch-pass", "id": "d-1", "horizon": "24h"}
SEAL = {
    "type": "ForecastSealed",
    "author": "forecaster",
    "suite": SUITE,
    "forecaster": "native",
    "probabilities": {"pass": 0.8, "fail": 0.2},
    **NAMED,
}
UPDATE = {**SEAL, "type": "ForecastUpdated"}
RESOLVE = {
    "type": "ResolutionRecorded",
    "author": "resolver",
    "suite": SUITE,
    "status": "RESOLVED",
    "outcome": "pass",
    **NAMED,
}
BLOBS = {sha256(QUESTIONS).hexdigest(): QUESTIONS}


def no_file(name: str) -> bytes:
    raise AssertionError(name)


def complete(court: Court, draft: dict[str, Any], **files: bytes) -> LedgerEvent:
    """Return the event of a draft at the court's present instant."""
    read = (lambda name: files[name]) if files else no_file
    return Drafts(BLOBS.get, read).event(draft, court.state, court.now)


def hear(court: Court, *drafts: dict[str, Any]) -> str:
    """Let drafts in, one after the other, and return the last one's id."""
    ids = [court.hear(complete(court, draft)) for draft in drafts]
    return ids[-1]


def sealed(court: Court, **changes: Any) -> ForecastSealed:
    event = complete(court, {**SEAL, **changes})
    assert isinstance(event, ForecastSealed)
    return event


def resolution(court: Court, **changes: Any) -> ResolutionRecorded:
    event = complete(court, {**RESOLVE, **changes})
    assert isinstance(event, ResolutionRecorded)
    return event


def refusal(court: Court, draft: dict[str, Any]) -> RefusedError:
    """Return why a draft was refused, by the helper or by the door."""
    with pytest.raises(RefusedError) as refused:
        court.hear(complete(court, draft))
    return refused.value


# --- What is filled in ----------------------------------------------------------------


def test_a_draft_gets_the_ledger_the_instant_and_the_hashes() -> None:
    court = Court()
    hear(court, OPEN)
    event = sealed(court)
    assert event.created_at == NOW
    assert event.ledger == court.ledger
    assert event.suite_hash == court.state.suites[SUITE].suite_hash
    assert event.question_hash == codec.question_hash(court.question())


def test_what_a_draft_says_itself_is_kept() -> None:
    court = Court()
    hear(court, OPEN)
    said = {"created_at": "-1h", "suite_hash": "a" * 64, "ledger": "b" * 64}
    event = sealed(court, **said)
    assert event.created_at == hours(-1)
    assert (event.suite_hash, event.ledger) == ("a" * 64, "b" * 64)


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "now": NOW,
        "+90m": NOW + timedelta(minutes=90),
        "-2h": NOW - timedelta(hours=2),
        "+30s": NOW + timedelta(seconds=30),
        "-3d": NOW - timedelta(days=3),
        "2026-11-02T09:00:00Z": NOW,
        "2026-11-02T09:00:00.000001Z": NOW + timedelta(microseconds=1),
    }.items(),
)
def test_an_instant_may_be_relative_to_now(written: str, meant: object) -> None:
    court = Court()
    hear(court, OPEN)
    evidence = sealed(court, evidence={"cutoff_at": written}).evidence
    assert evidence is not None
    assert evidence.cutoff_at == meant


def test_an_update_attaches_to_the_end_of_its_own_chain() -> None:
    court = Court()
    first = hear(court, OPEN, SEAL)
    second = complete(court, UPDATE)
    assert isinstance(second, ForecastUpdated)
    assert second.parent == first
    third = complete(court, UPDATE | {"parent": "a" * 64})
    assert isinstance(third, ForecastUpdated)
    assert third.parent == "a" * 64


def test_an_outcome_supersedes_the_record_that_opened_its_unit() -> None:
    court = Court()
    opened = hear(court, OPEN)
    assert resolution(court).supersedes == opened


def test_an_amendment_must_name_what_it_supersedes() -> None:
    court = Court()
    hear(court, OPEN, RESOLVE)
    assert resolution(court, outcome="fail").supersedes is None
    assert refusal(court, RESOLVE).code == "supersedes-missing"


def test_a_review_supersedes_nothing() -> None:
    court = Court()
    opened = hear(court, OPEN)
    assert resolution(court, confirms=opened).supersedes is None


def test_a_horizon_that_is_the_only_one_may_be_left_out() -> None:
    court = Court()
    hear(court, OPEN)
    assert sealed(court, horizon=None).question_hash is not None


def test_a_question_of_a_pinned_list_is_brought_along_until_it_is_open() -> None:
    court = Court()
    named = {"template": "listed", "id": "listed-1"}
    first = sealed(court, **named)
    assert first.question == msgspec.convert(LISTED, type(first.question))
    assert first.question_hash is None
    court.hear(first)
    again = resolution(court, **named)
    assert again.question is None
    assert again.question_hash == codec.question_hash(court.question("listed", **{
        key: getattr(first.question, key)
        for key in ("id", "opened_at", "cutoff_at", "resolve_by", "horizon")
    }))  # fmt: skip


def test_a_brought_question_is_hashed_where_the_event_needs_it() -> None:
    court = Court()
    opened = complete(court, OPEN)
    assert isinstance(opened, ResolutionRecorded)
    assert opened.question_hash == codec.question_hash(court.question())
    question = {**QUESTION, "template": "free", "acceptance_hash": None}
    brought = sealed(court, question=question, template=None, id=None, horizon=None)
    assert brought.question_hash is None


# --- One spelling ---------------------------------------------------------------------


def test_what_is_empty_or_the_default_is_left_out() -> None:
    court = Court()
    question = {**QUESTION, "target": "d-1", "cluster": "d-1", "tags": {}, "slot": ""}
    plain, padded = (
        complete(court, OPEN),
        complete(court, OPEN | {"question": question}),
    )
    assert codec.encode(padded) == codec.encode(plain)


def test_a_cluster_that_is_the_target_is_left_out_and_any_other_stays() -> None:
    court = Court()
    same = OPEN | {"question": {**QUESTION, "target": "repo", "cluster": "repo"}}
    other = OPEN | {"question": {**QUESTION, "target": "repo", "cluster": "d-1"}}
    assert b'"cluster"' not in codec.encode(complete(court, same))
    assert b'"cluster":"d-1"' in codec.encode(complete(court, other))


def test_empty_text_inside_a_map_says_something_and_stays() -> None:
    court = Court()
    hear(court, OPEN)
    event = sealed(court, evidence={"features": {"branch": ""}})
    assert event.evidence is not None
    assert event.evidence.features == {"branch": ""}


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        (12, "12"),
        (12.5, "12.5"),
        (0.1, "0.1"),
        (Decimal("2.50"), "2.5"),
        (Decimal("1E+3"), "1000"),
        (-0.0, "0"),
        ("007.70", "7.7"),
        ("-3.25", "-3.25"),
        (1e-20, "0.00000000000000000001"),
    ],
)
def test_a_quantity_has_one_spelling(written: object, spelled: str) -> None:
    court = Court()
    hear(court, OPEN)
    event = sealed(court, quantities={"minutes": {"point": written}})
    assert event.quantities["minutes"].point == spelled
    court.hear(event)


# --- Probabilities --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "signed"),
    [
        ([0.8, 0.2], ["0.8", "0.2"]),
        ([1, 0], ["1", "0"]),
        ([1 / 3, 1 / 3, 1 / 3], ["0.333334", "0.333333", "0.333333"]),
        ([2 / 3, 1 / 6, 1 / 6], ["0.666666", "0.166667", "0.166667"]),
        ([0.1 + 0.2, 0.7], ["0.3", "0.7"]),
        # Half a millionth goes to the even neighbour.
        ([0.0000005, 0.9999995], ["0", "1"]),
        ([0.0000015, 0.9999985], ["0.000002", "0.999998"]),
        # Off by as much as rounding to five places explains, and no more.
        ([0.5, 0.50001], ["0.499995", "0.500005"]),
        ([0.33333, 0.33333, 0.33333], ["0.333334", "0.333333", "0.333333"]),
        ([0, 0, 1.0], ["0", "0", "1"]),
        # Texts are exact; a number beside them takes what is left.
        (["0.80", ".2"], ["0.8", "0.2"]),
        (["0.333333", 2 / 3], ["0.333333", "0.666667"]),
    ],
)
def test_numbers_are_rounded_to_millionths_that_sum_to_one(
    written: list[object], signed: list[str]
) -> None:
    answers = tuple("abc"[: len(written)])
    made = vector(dict(zip(answers, written, strict=True)), answers)
    assert list(made.values()) == signed


@pytest.mark.parametrize(
    ("written", "code"),
    {
        "far from one": ([0.5, 0.4], "sum-not-one"),
        "more than rounding explains": ([0.5, 0.500011], "sum-not-one"),
        "texts that miss one by a millionth": (["0.8", "0.199999"], "sum-not-one"),
        "a text of seven places": (["0.8000001", "0.1999999"], "too-many-places"),
        "below zero": ([-0.1, 1.1], "draft-unfit"),
        "above one": ([1.5, 0], "draft-unfit"),
        "no number": ([float("nan"), 1], "draft-unfit"),
        "infinite": ([float("inf"), 0], "draft-unfit"),
        "a truth value": ([True, 0], "draft-unfit"),
        "a word": (["half", "half"], "draft-unfit"),
        "a text with an exponent": (["8e-1", "0.2"], "draft-unfit"),
        "empty text": (["", "1"], "draft-unfit"),
        "a text above one": (["1.5", "0"], "draft-unfit"),
        "a list": ([[0.5], 0.5], "draft-unfit"),
    }.values(),
)
def test_what_is_no_vector_is_refused(written: list[object], code: str) -> None:
    with pytest.raises(RefusedError) as refused:
        vector(dict(zip("ab", written, strict=True)))
    assert refused.value.code == code


def test_the_slack_of_numbers_grows_with_the_answers_and_ends_there() -> None:
    over = Decimal(SLACK_PPM * 2).scaleb(-6)
    exactly = {"a": Decimal("0.5"), "b": Decimal("0.5") + over}
    assert sum(map(ppm, vector(exactly).values())) == 1_000_000
    with pytest.raises(RefusedError):
        vector({**exactly, "b": exactly["b"] + Decimal("0.0000001")})


def test_a_tie_of_rounding_goes_to_the_earlier_answer_however_it_was_written() -> None:
    third = Decimal(1) / 3
    made = vector({"c": third, "a": third, "b": third}, ("a", "b", "c"))
    assert made == {"a": "0.333334", "b": "0.333333", "c": "0.333333"}


@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=40))
def test_every_vector_of_floats_becomes_one_that_the_door_takes(
    weights: list[int],
) -> None:
    total = sum(weights)
    written = {f"a{at}": weight / total for at, weight in enumerate(weights)}
    made = {name: ppm(text) for name, text in vector(written).items()}
    assert sum(made.values()) == 1_000_000
    assert all(abs(made[name] / 1e6 - written[name]) < 1.5e-6 for name in written)


# --- Refusals -------------------------------------------------------------------------

# The change to a sound draft, the code, and a part of the sentence that helps.
UNFIT: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "no type": (SEAL, {"type": None}, "draft-unfit", "write SuiteFrozen"),
    "a misspelt type": (
        SEAL,
        {"type": "ForecastSeald"},
        "draft-unfit",
        "did you mean ForecastSealed?",
    ),
    "a type that is no text": (SEAL, {"type": 4}, "draft-unfit", "type is 4"),
    "a misspelt field": (
        SEAL,
        {"probabilites": {}},
        "draft-unfit",
        '"probabilites" is no field of a ForecastSealed: did you mean probabilities?',
    ),
    "a field of another event": (
        SEAL,
        {"outcome": "pass"},
        "draft-unfit",
        '"outcome" is no field of a ForecastSealed',
    ),
    "a misspelt field inside": (
        SEAL,
        {"evidence": {"cutof_at": "now"}},
        "draft-unfit",
        '"cutof_at" is no field of evidence: did you mean cutoff_at?',
    ),
    "no author": (SEAL, {"author": None}, "draft-unfit", "author is missing"),
    "no suite": (SEAL, {"suite": None}, "draft-unfit", "suite is missing"),
    "an unknown suite": (
        SEAL,
        {"suite": "piper@v1"},
        "unknown-suite",
        "frozen are: court@v1",
    ),
    "no template": (SEAL, {"template": None}, "draft-unfit", "template is missing"),
    "an unknown template": (
        SEAL,
        {"template": "dispatch"},
        "unknown-template",
        "it has dispatch-pass",
    ),
    "no id": (SEAL, {"id": None}, "draft-unfit", "id is missing"),
    "a unit that nobody opened": (
        SEAL,
        {"id": "d-2"},
        "unknown-question",
        "dispatch-pass/d-2/24h is not open in court@v1: an issuer opens it",
    ),
    "a unit that is not on its list": (
        SEAL,
        {"template": "listed", "id": "listed-2"},
        "unknown-question",
        "pinned list 'questions.jsonl'",
    ),
    "a unit whose question the forecaster brings": (
        SEAL,
        {"template": "free", "id": "f-1"},
        "unknown-question",
        "bring the whole question",
    ),
    "an update of a listed question that nobody opened": (
        UPDATE,
        {"template": "listed", "id": "listed-1"},
        "unknown-question",
        "pinned list",
    ),
    "an update of a question that nobody opened": (
        UPDATE,
        {"question_hash": "a" * 64, "template": None, "id": None, "horizon": None},
        "unknown-question",
        "seal first",
    ),
    "a unit named twice": (
        SEAL,
        {"question_hash": "a" * 64},
        "draft-unfit",
        "template stands beside the question",
    ),
    "an update without a first vector": (
        UPDATE,
        {},
        "unknown-parent",
        "seal a forecast first",
    ),
    "an update of nobody": (
        UPDATE,
        {"forecaster": None},
        "draft-unfit",
        "forecaster is missing",
    ),
    "a question without a deadline": (
        OPEN,
        {"question": {**QUESTION, "resolve_by": None}},
        "draft-unfit",
        "question.resolve_by is missing: write an instant",
    ),
    "a time without a zone": (
        RESOLVE,
        {"started_at": "2026-11-02T09:00:00"},
        "draft-unfit",
        "started_at is",
    ),
    "a time with an offset": (
        RESOLVE,
        {"started_at": "2026-11-02T10:00:00+01:00"},
        "draft-unfit",
        "write an instant in UTC with Z, such as 2026-11-01T00:00:00Z, or now, +90m or -2h",
    ),
    "a day that does not exist": (
        RESOLVE,
        {"started_at": "2026-02-30T09:00:00Z"},
        "draft-unfit",
        "started_at is",
    ),
    "a time before all calendars": (
        RESOLVE,
        {"started_at": "-999999d"},
        "draft-unfit",
        "started_at is",
    ),
    "a misspelt status": (
        RESOLVE,
        {"status": "RESOLVE"},
        "draft-unfit",
        "did you mean RESOLVED?",
    ),
    "no status": (RESOLVE, {"status": None}, "draft-unfit", "status is missing"),
    "a hash in capitals": (
        RESOLVE,
        {"evidence_hash": "A" * 64},
        "draft-unfit",
        "write 64 lower-case hexadecimal digits",
    ),
    "a number where text belongs": (
        SEAL,
        {"model_version": 4},
        "draft-unfit",
        "model_version is a number: write text, in quotes",
    ),
    "a number as a tag": (
        OPEN,
        {"question": {**QUESTION, "tags": {"domain": 3}}},
        "draft-unfit",
        "question.tags.domain is a number",
    ),
    "a tag that cannot be a name": (
        OPEN,
        {"question": {**QUESTION, "tags": {"naïve": "1"}}},
        "draft-unfit",
        'the name "naïve" in question.tags',
    ),
    "half a surrogate pair": (
        SEAL,
        {"model_version": "\ud800"},
        "draft-unfit",
        "is no Unicode text",
    ),
    "text where a list belongs": (
        SEAL,
        {"reason_codes": "small-diff"},
        "draft-unfit",
        'reason_codes is "small-diff": write a list, each text',
    ),
    "a number in a list of texts": (
        SEAL,
        {"reason_codes": ["small-diff", 3]},
        "draft-unfit",
        "reason_codes[2] is a number",
    ),
    "text where an object belongs": (
        SEAL,
        {"evidence": "none"},
        "draft-unfit",
        "evidence is",
    ),
    "text where a map belongs": (SEAL, {"extensions": "none"}, "draft-unfit", "exten"),
    "a vector that is a number": (
        SEAL,
        {"probabilities": 0.8},
        "draft-unfit",
        "write an object of answers",
    ),
    "a quantity that is no number": (
        SEAL,
        {"quantities": {"minutes": {"point": "many"}}},
        "draft-unfit",
        "quantities.minutes.point is",
    ),
    "a quantity with more digits than are kept": (
        SEAL,
        {"quantities": {"minutes": {"point": "0." + "1" * 25}}},
        "draft-unfit",
        "quantities.minutes.point is",
    ),
    "a quantity that would have to be rounded": (
        SEAL,
        {"quantities": {"minutes": {"point": "0.1" + "0" * 70 + "1"}}},
        "draft-unfit",
        "quantities.minutes.point is",
    ),
    "a truth value as a quantity": (
        SEAL,
        {"quantities": {"minutes": {"point": True}}},
        "draft-unfit",
        "quantities.minutes.point is true",
    ),
    "no vector": (SEAL, {"probabilities": {}}, "vector-missing", "give probabilities"),
    "another vector's answers": (
        SEAL,
        {"probabilities": {"yes": 0.5, "no": 0.5}},
        "answers-mismatch",
        '"yes" is no answer of the question, whose answers are pass and fail',
    ),
    "nothing as a probability": (
        SEAL,
        {"probabilities": {"pass": None, "fail": 0.5}},
        "draft-unfit",
        "probabilities.pass is null",
    ),
    "a truth value as a probability": (
        SEAL,
        {"probabilities": {"pass": True, "fail": 0}},
        "draft-unfit",
        "probabilities.pass is true",
    ),
}


@pytest.mark.parametrize(("sound", "change", "code", "says"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_draft_is_refused_by_name(
    sound: dict[str, Any], change: dict[str, Any], code: str, says: str
) -> None:
    court = Court()
    if sound is not OPEN:
        hear(court, OPEN)
    refused = refusal(court, {**sound, **change})
    assert refused.code == code
    assert says in refused.message


@pytest.mark.parametrize("sound", [OPEN, SEAL, UPDATE, RESOLVE])
def test_the_sound_drafts_of_the_table_are_let_in(sound: dict[str, Any]) -> None:
    court = Court()
    if sound is not OPEN:
        hear(court, OPEN)
    if sound is UPDATE:
        hear(court, SEAL)
    hear(court, sound)


# --- Suites and charters --------------------------------------------------------------


FREEZE = {"type": "SuiteFrozen", "author": "evaluator", "file": "suite.toml"}


def frozen(court: Court, draft: dict[str, Any], text: str = "") -> SuiteFrozen:
    event = complete(court, draft, **{"suite.toml": text.encode()})
    assert isinstance(event, SuiteFrozen)
    return event


def test_a_suite_is_frozen_from_the_file_that_a_draft_names() -> None:
    court = Court()
    event = frozen(court, FREEZE, new_suite("weather", "world"))
    assert (event.suite, event.supersedes) == ("weather@v1", None)
    court.hear(event)


def test_the_next_version_supersedes_the_one_in_force() -> None:
    court = Court()
    event = frozen(court, FREEZE, new_suite("court@v2", "self"))
    assert event.supersedes == "court@v1"
    court.hear(event)


def test_a_version_that_skips_one_is_left_to_the_door() -> None:
    court = Court()
    event = frozen(court, FREEZE, new_suite("court@v3", "self"))
    assert event.supersedes is None


def test_a_manifest_may_stand_in_the_draft_as_payloads_have_it() -> None:
    court = Court()
    file = frozen(court, FREEZE, new_suite("weather", "world"))
    inline = json.loads(codec.encode(file))["manifest"]
    draft = {"type": "SuiteFrozen", "author": "evaluator", "manifest": inline}
    assert codec.encode(complete(court, draft)) == codec.encode(file)


def test_a_charter_is_the_next_version_of_the_one_in_force() -> None:
    court = Court()
    manifest = court.charter().manifest
    inline = json.loads(codec.encode(court.charter()))["manifest"]
    draft = {"type": "SuiteFrozen", "author": "root", "manifest": inline}
    event = complete(court, draft)
    assert isinstance(event, SuiteFrozen)
    assert (event.suite, event.supersedes) == ("charter@v2", "charter@v1")
    assert event.manifest == manifest
    court.hear(event)


def test_a_charter_may_be_written_in_toml() -> None:
    court = Court()
    made = court.charter().manifest
    assert isinstance(made, CharterManifest)
    people = "".join(
        f'[[principals]]\nname = "{each.name}"\nrole = "{each.role}"\nkey = "{each.key}"\n'
        for each in made.principals
    )
    text = (
        f'format = "charter/1"\norigin = "{ORIGIN}"\ncustody = "separate"\n'
        f'log_keys = ["{key_of(ORIGIN).verifier}"]\ncreated_ahead_seconds = 300\n'
        f"backdated_seconds = 3600\nclock_jump_seconds = 60\n{people}"
    )
    event = frozen(court, {**FREEZE, "author": "root"}, text)
    assert event.manifest == msgspec.structs.replace(made, custody="separate")
    court.hear(event)


BAD_FREEZE: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "neither file nor manifest": ({"file": None}, "", "draft-unfit", "is missing"),
    "both": ({"manifest": {}}, "", "draft-unfit", "given twice"),
    "a file that is no path": ({"file": 3}, "", "draft-unfit", "write the path"),
    "a manifest that is no object": (
        {"file": None, "manifest": "x"},
        "",
        "draft-unfit",
        "write an object",
    ),
    "a misspelt field": ({"fle": "x"}, "", "draft-unfit", "did you mean file?"),
    "no TOML": ({}, "= 3", "suite-not-toml", "no TOML"),
    "a suite with gaps": ({}, 'format = "suite/1"', "suite-incomplete", "gaps"),
    "a manifest with gaps": (
        {"file": None, "manifest": {"format": "suite/1"}},
        "",
        "suite-incomplete",
        "gaps",
    ),
    "a charter that is none": ({}, 'format = "charter/1"', "charter-unfit", "origin"),
}


@pytest.mark.parametrize(
    ("change", "text", "code", "says"), BAD_FREEZE.values(), ids=BAD_FREEZE
)
def test_an_unfit_freeze_is_refused(
    change: dict[str, Any], text: str, code: str, says: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        frozen(Court(), {**FREEZE, **change}, text)
    assert refused.value.code == code
    assert says in refused.value.message


def test_a_suite_in_bytes_that_are_no_text_is_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        complete(Court(), FREEZE, **{"suite.toml": b"\xff"})
    assert refused.value.code == "suite-not-toml"


def test_every_draft_of_the_door_survives_its_own_payload() -> None:
    """An event's payload is a draft too: completing it changes nothing."""
    court = Court()
    hear(court, OPEN)
    event = sealed(court)
    assert isinstance(event, Forecast)
    again = complete(court, json.loads(codec.encode(event)))
    assert codec.encode(again) == codec.encode(event)
