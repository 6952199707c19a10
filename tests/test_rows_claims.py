"""What may be claimed on a row: which labels, cohorts and horizons leave it open."""

import re
from typing import Any

import msgspec
import pytest

from ledger.projections.labels import UNOFFICIAL, unofficial
from ledger.suite import Competitor, SuiteManifest
from tests.knowing import FEW, UNITS, UTILITY, knowing
from tests.reporting import Row, row, rows
from tests.simulator import History, suite
from tests.source_tree import REPOSITORY

# --- What may be claimed --------------------------------------------------------------

FORWARD = {
    "name": "forward",
    "from": "2026-11-02T00:00:00Z",
    "until": "2027-01-01T00:00:00Z",
}


def split(purpose: str, name: str = "forward") -> dict[str, str]:
    return {**FORWARD, "name": name, "purpose": purpose}


CLAIMS: dict[str, tuple[dict[str, Any], dict[str, str], list[str], str | None]] = {
    "nothing stands in the way": ({}, {}, [], None),
    "exploratory": ({"run_class": "exploratory"}, {}, ["exploratory"], "not_declared"),
    "claimed": (
        {"run_class": "exploratory", "chronology": "claimed"},
        {},
        ["exploratory", "claimed"],
        "not_declared",
    ),
    "for debugging": (
        {"run_purpose": "debug"},
        {},
        ["not_for_score"],
        "not_declared",
    ),
    "the forecaster's own questions": (
        {"asks": "forecaster"},
        {},
        ["forecaster_owned"],
        "not_declared",
    ),
    "another slot": ({}, {"slot": "final"}, ["undeclared_slot"], "not_declared"),
    "one unit before the look": (
        {"statistics__looks": [UNITS + 1]},
        {},
        ["off_look"],
        None,
    ),
    "one unit after the look": (
        {"statistics__looks": [UNITS - 1]},
        {},
        ["off_look"],
        None,
    ),
    "as many units as are asked for": ({"statistics__min_slice": UNITS}, {}, [], None),
    "a unit less than is asked for": (
        {"statistics__min_slice": UNITS + 1},
        {},
        ["small_sample"],
        None,
    ),
    "just covered": ({"skipped": 1, "coverage__minimum": "0.9863"}, {}, [], None),
    "just not covered": (
        {"skipped": 1, "coverage__minimum": "0.9864"},
        {},
        ["under_covered", "awaiting"],
        "insufficient",
    ),
    "just settled": ({"without": ("VOID",) * 3}, {}, [], None),
    "one outcome too few": (
        {"without": ("VOID", "INVALID", "CENSORED", "CANCELED")},
        {},
        ["unsettled"],
        "insufficient",
    ),
    "a few outcomes to come": ({"without": ("PENDING",) * 3}, {}, [], None),
    "one too many to come": (
        {"without": ("PENDING",) * 4},
        {},
        ["awaiting"],
        None,
    ),
    "one to come besides those that lack": (
        {"without": ("VOID", "VOID", "VOID", "PENDING")},
        {},
        ["awaiting"],
        None,
    ),
    "a holdout": (
        {"statistics__splits": [split("holdout")]},
        {"slice": "split=forward"},
        [],
        None,
    ),
    "a split to train on": (
        {"statistics__splits": [split("train")]},
        {"slice": "split=forward"},
        ["train"],
        "not_declared",
    ),
    "a split to tune on": (
        {"statistics__splits": [split("tune")]},
        {"slice": "split=forward"},
        ["tune"],
        "not_declared",
    ),
    "a holdout that was tuned on": (
        {"statistics__splits": [split("holdout"), split("tune", "tuned")]},
        {"slice": "split=forward"},
        ["spent_holdout"],
        "not_declared",
    ),
    "a holdout that is trained on": (
        {"statistics__splits": [split("holdout"), split("train", "folded")]},
        {"slice": "split=forward"},
        ["spent_holdout"],
        "not_declared",
    ),
    "a stolen key": (
        {"is_stolen": True},
        {},
        ["off_look", "compromised_key"],
        "not_declared",
    ),
}


@pytest.mark.parametrize(
    ("changes", "asked", "in_the_way", "reason"), CLAIMS.values(), ids=CLAIMS
)
def test_nothing_is_claimed_on_a_row_that_is_good_for_no_claim(
    changes: dict[str, Any],
    asked: dict[str, str],
    in_the_way: list[str],
    reason: str | None,
) -> None:
    wanted = dict(changes)
    is_stolen = wanted.pop("is_stolen", False)
    history = knowing(utility=True, leak_tested=True, **wanted)
    if is_stolen:
        history.add(
            history.charter(
                2,
                compromised_since={"evaluator": 0},
                keys={"evaluator": "evaluator#2"},
            )
        )
    part = asked.get("slice")
    found = next(
        each
        for each in rows(history, slot=asked.get("slot"), forecaster="native")
        if (each["horizon"], each["slice"]) == (None, part)
    )
    gates, official = found["gates"], found["scores"]["official_skill"]
    may_be = not in_the_way
    assert gates["in_the_way"] == in_the_way
    assert gates["credit_needs"]["may_be_claimed"] is may_be
    assert gates["promotion"]["holds"]["may_be_claimed"] is may_be
    # The bars are what they are.
    assert set(gates["four_bar"].values()) == {True}
    assert (gates["credit"], gates["promotion"]["decision"]) == (
        ("target_specific", "PROMOTE") if may_be else ("insufficient", "INCONCLUSIVE")
    )
    assert ("credit_reason" in gates) is not may_be
    assert official.get("reason") == reason
    assert (official["value"] is None) is (reason is not None)
    assert ("lo" in official) is (reason is None)


def test_a_skill_that_is_not_official_is_shown_unclamped_all_the_same() -> None:
    scores = row(knowing(run_purpose="debug"))["scores"]
    assert scores["official_skill"]["value"] is None
    assert float(scores["bss_frozen"]["lo"]) > 0


def test_without_a_skill_there_is_no_official_one_for_the_skills_own_reason() -> None:
    history = History()  # The forecaster asks, and nobody has asked yet.
    assert row(history)["scores"]["official_skill"]["reason"] == "empty"


def test_the_documentation_names_what_stands_in_the_way() -> None:
    text = (REPOSITORY / "docs" / "rows.md").read_text()
    claims = text.partition("\nA row is good for no claim")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z_]+)`", claims)) == {
        *UNOFFICIAL,
        "credit",
        "insufficient",
    }
    skills = text.partition("\n`official_skill` is for")[2].partition("Off a look")[0]
    lasting = {label: UNOFFICIAL[label] for label in UNOFFICIAL if unofficial([label])}
    named = {*lasting, *lasting.values()}
    assert set(re.findall(r"`([a-z_]+)`", skills)) == named


# --- One cohort, one horizon ----------------------------------------------------------


def sealed_rate(role: str, lacking: int) -> Row:
    """Return the row of who is set against a rate that somebody seals.

    It serves as a baseline, and says nothing of the first `lacking` units.
    """
    manifest = suite(**FEW)
    others = tuple(
        msgspec.structs.replace(each, role=None, by=(), prior_weight="0")
        if each.role == role
        else msgspec.structs.replace(each, layer="baseline", role=role)
        if each.name == "rival"
        else msgspec.structs.replace(each, prior_weight="0")
        if each.role == "r2"
        else each
        for each in manifest.competitors
    )
    return row(
        knowing(msgspec.structs.replace(manifest, competitors=others), lacking=lacking)
    )


@pytest.mark.parametrize("role", ["r1", "r2"])
@pytest.mark.parametrize("lacking", [0, 1])
def test_bars_that_are_not_about_the_same_units_earn_no_credit(
    role: str, lacking: int
) -> None:
    found = sealed_rate(role, lacking)
    gates = found["gates"]
    assert found["scores"][f"skill_vs_{role}_bits"]["n"] == UNITS - lacking
    assert set(gates["four_bar"].values()) == {True}
    assert gates["credit_needs"]["is_one_cohort"] is (lacking == 0)
    assert (gates["credit"], gates.get("credit_reason")) == (
        ("insufficient", "cohort_mismatch") if lacking else ("target_specific", None)
    )


def test_without_a_second_baseline_nobody_can_say_whether_the_cohort_is_one() -> None:
    manifest = suite(**FEW)
    others = tuple(each for each in manifest.competitors if each.role != "r2")
    gates = row(knowing(msgspec.structs.replace(manifest, competitors=others)))["gates"]
    assert gates["credit_needs"]["is_one_cohort"] is None
    assert gates["four_bar"]["skill_vs_r2"] is None
    assert gates["credit"] == "insufficient"


@pytest.mark.parametrize("by", [("target",), ("target", "tag:repo")])
def test_a_routine_that_never_has_a_past_of_its_own_earns_nobody_credit(
    by: tuple[str, ...],
) -> None:
    manifest = suite(**FEW)
    others = tuple(
        msgspec.structs.replace(each, by=by) if each.role == "r2" else each
        for each in manifest.competitors
    )
    made = msgspec.structs.replace(manifest, competitors=others)
    gates = row(knowing(made, are_tagged_apart=True))["gates"]
    has_past = by == ("target",)
    assert set(gates["four_bar"].values()) == {True}
    assert gates["credit_needs"]["routine_has_past"] is has_past
    assert (gates["credit"], gates.get("credit_reason")) == (
        ("target_specific", None) if has_past else ("insufficient", "insufficient")
    )


@pytest.mark.parametrize(("again", "has_past"), [(4, True), (3, False)])
def test_a_routine_has_a_past_on_half_of_the_units_or_more(
    again: int, *, has_past: bool
) -> None:
    history = History(**FEW)
    for turn, targets in enumerate((4, again)):
        made = [
            history.asked(f"u-{turn}-{at}", target=f"t-{at}") for at in range(targets)
        ]
        for question in made:
            history.seal(question)
        history.wait(hours=3)
        for question in made:
            history.resolve(question)
    needs = row(history)["gates"]["credit_needs"]
    assert needs["routine_has_past"] is has_past


@pytest.mark.parametrize(("role", "has_past"), [("r1", True), ("r2", None)])
def test_nobody_can_tell_what_past_a_sealed_routine_has(
    role: str, *, has_past: bool | None
) -> None:
    gates = sealed_rate(role, 0)["gates"]
    assert gates["credit_needs"]["routine_has_past"] is has_past
    assert gates["credit"] == "target_specific"


@pytest.mark.parametrize("horizons", [("24h",), ("24h", "2h")])
def test_credit_is_earned_at_one_horizon(horizons: tuple[str, ...]) -> None:
    found = rows(knowing(horizons=horizons), forecaster="native")
    earned_at = {
        each["horizon"]: (
            each["gates"]["credit"],
            each["gates"].get("credit_reason"),
            each["gates"]["credit_needs"]["is_one_horizon"],
        )
        for each in found
        if each["slice"] is None
    }
    over_all = ("insufficient", "not_declared", False)
    earned = ("target_specific", None, True)
    assert earned_at.pop(None) == (earned if len(horizons) == 1 else over_all)
    assert earned_at == dict.fromkeys(horizons, earned)


# --- Native skill ---------------------------------------------------------------------

RIGHT, BACKWARDS, NOTHING = ("0.85", "0.15"), ("0.2", "0.8"), ("0.5", "0.5")


def wrapping(**changes: Any) -> SuiteManifest:
    """Return a suite with two more that go back to `native`.

    Somebody seals `by-hand`; `twice` is computed of what is computed of it.
    """
    made = suite(**{**FEW, **changes})
    by_hand = Competitor(
        name="by-hand", layer="calibrated", principal="forecaster", of="native"
    )
    once = made.competitor("native-calibrated")
    assert once is not None
    twice = msgspec.structs.replace(once, name="twice", method="isotonic", of=once.name)
    return msgspec.structs.replace(
        made, competitors=(*made.competitors, by_hand, twice)
    )


@pytest.mark.parametrize(
    ("says", "native_skill"), [(RIGHT, True), (BACKWARDS, False), (NOTHING, False)]
)
def test_native_skill_is_what_the_native_forecaster_itself_gains(
    says: tuple[str, str], *, native_skill: bool
) -> None:
    history = knowing(wrapping(), says=says, by_hand=RIGHT, leak_tested=True)
    promoted = {
        each["forecaster"]: each["gates"]["promotion"]
        for each in rows(history)
        if each["horizon"] is None and each["layer"] in {"native", "calibrated"}
    }
    assert promoted.keys() == {"native", "native-calibrated", "by-hand", "twice"}
    native = promoted["native"]
    for each in promoted.values():
        assert each["native_skill"] is native_skill
        assert each["native"] == {
            "forecaster": "native",
            "against": native["against"],
            "brier_gain": native["brier_gain"],
            "leak_tests": {"vectors": UNITS, "tested": UNITS, "failed": 0},
        }
    assert native["holds"]["lo_minus_trivial"] is native_skill


@pytest.mark.parametrize(("says", "native_skill"), [(RIGHT, True), (BACKWARDS, False)])
def test_a_wrapper_is_promoted_as_one_whatever_skill_its_source_has(
    says: tuple[str, str], *, native_skill: bool
) -> None:
    made = wrapping(utility=UTILITY)
    history = knowing(made, says=says, by_hand=RIGHT, leak_tested=True)
    promotion = row(history, "by-hand")["gates"]["promotion"]
    assert promotion["decision"] == "PROMOTE"
    assert promotion["native_skill"] is native_skill


@pytest.mark.parametrize(
    ("trivial_gain", "native_skill"), [("0.005", True), ("0.2", False)]
)
def test_a_gain_that_may_be_trivial_is_no_native_skill(
    trivial_gain: str, *, native_skill: bool
) -> None:
    history = knowing(leak_tested=True, gates__promotion__trivial_gain=trivial_gain)
    promotion = row(history, "native-calibrated")["gates"]["promotion"]
    assert float(promotion["native"]["brier_gain"]["value"]) > 0
    assert promotion["native_skill"] is native_skill


def test_native_skill_is_not_measured_against_itself() -> None:
    history = knowing(leak_tested=True, incumbent="native")
    promotion = row(history, "native-calibrated")["gates"]["promotion"]
    assert promotion["against"] == "native"
    assert promotion["native"]["against"] in {"past-rate", "own-routine"}
    assert promotion["native_skill"] is True


@pytest.mark.parametrize(
    ("told", "native_skill"),
    [
        ({}, True),
        ({"leaking": 1}, False),
        ({"untested": 3}, True),
        ({"untested": 4}, None),  # Of 72, three are as many as may be untested.
    ],
    ids=str,
)
def test_what_a_wrapper_passes_its_source_has_to_pass_itself(
    told: dict[str, int], *, native_skill: bool | None
) -> None:
    history = knowing(wrapping(), by_hand=RIGHT, leak_tested=True, **told)
    promoted = {
        name: row(history, name)["gates"]["promotion"] for name in ("native", "by-hand")
    }
    for each in promoted.values():
        assert each["native_skill"] is native_skill
        assert each["native"]["leak_tests"] == promoted["native"]["leak_tests"]
    assert promoted["native"]["holds"]["no_leakage"] is native_skill
    assert promoted["by-hand"]["leak_tests"]["failed"] == 0


@pytest.mark.parametrize("says", [RIGHT, BACKWARDS])
@pytest.mark.parametrize(
    "changes",
    [{"run_purpose": "debug"}, {"statistics__splits": [split("tune")]}],
    ids=str,
)
def test_a_row_that_is_good_for_no_claim_says_nothing_of_native_skill(
    changes: dict[str, Any], says: tuple[str, str]
) -> None:
    made = wrapping(**changes)
    history = knowing(made, says=says, by_hand=RIGHT, leak_tested=True)
    promotion = row(history, "by-hand")["gates"]["promotion"]
    assert promotion["native_skill"] is None
    assert promotion["native"]["brier_gain"]["value"] is not None


def test_nobody_knows_of_a_market_whose_skill_it_has() -> None:
    promotion = row(knowing(lacking=0), "rival")["gates"]["promotion"]
    assert (promotion["native_skill"], promotion["native"]) == (None, None)


@pytest.mark.parametrize(("skips", "native_skill"), [(0, True), (1, None)])
def test_a_source_that_lacks_a_unit_leaves_its_skill_unknown(
    skips: int, *, native_skill: bool | None
) -> None:
    history = knowing(wrapping(), by_hand=RIGHT, skips=skips, leak_tested=True)
    promotion = row(history, "by-hand")["gates"]["promotion"]
    assert promotion["native"]["forecaster"] == "native"
    assert promotion["native_skill"] is native_skill


# --- Slices that a promotion may not harm ---------------------------------------------


@pytest.mark.parametrize(
    ("tags", "increases", "holds"),
    [
        ({}, {"log_loss", "tag:repo"}, None),
        ({"domain": "a"}, {"log_loss", "tag:repo"}, None),
        ({"repo": "a"}, {"log_loss", "tag:repo=a"}, True),
    ],
)
def test_a_grouping_that_no_unit_is_in_is_not_known_to_be_unharmed(
    tags: dict[str, str], increases: set[str], *, holds: bool | None
) -> None:
    history = knowing(
        tags=tags,
        utility=True,
        leak_tested=True,
        gates__promotion__slices=["tag:repo"],
    )
    promotion = row(history)["gates"]["promotion"]
    assert promotion["loss_increase"].keys() == increases
    assert promotion["holds"]["no_degradation"] is holds
    assert promotion["loss_increase"].get("tag:repo") == (
        None if holds else {"value": None, "n": 72, "reason": "not_declared"}
    )
    assert promotion["decision"] == ("PROMOTE" if holds else "INCONCLUSIVE")
