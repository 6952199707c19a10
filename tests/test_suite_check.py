"""What keeps a suite from being frozen: one defect each, and what is said of it."""

import copy
import re
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from msgspec import inspect

from ledger.errors import RefusedError
from ledger.suite import SuiteManifest
from ledger.suite_check import freeze_manifest, gaps, manifest_from_toml
from ledger.suite_table import Gap
from ledger.suite_template import TRACKS, new_suite
from ledger.suite_warnings import warnings

TESTS = Path(__file__).parent
SELF = manifest_from_toml((TESTS / "../docs/suites/piper-self.toml").read_text())
CASES = tomllib.loads((TESTS / "suite_defects.toml").read_text())
ROLES = {
    name: name for name in ("root", "evaluator", "issuer", "resolver", "forecaster")
} | {"rival": "forecaster"}
ABSENT = "ABSENT"

Changes = dict[str, Any]


def changed(changes: Changes) -> dict[str, Any]:
    """Return the ready suite with each path set to a value, or removed."""
    manifest = copy.deepcopy(SELF)
    for path, value in changes.items():
        place, last = place_of(manifest, path)
        if value == ABSENT:
            del place[last]
        else:
            place[last] = value
    return manifest


def place_of(manifest: dict[str, Any], path: str) -> tuple[Any, str | int]:
    """Return the table or list that `path` leads into, and the last step."""
    # A pin's name may hold a slash, so that only the known tables are walked.
    *outer, last = path.split("/", 1) if path.startswith("pins/") else path.split("/")
    place: Any = manifest
    for step in outer:
        place = place[index(place, step)]
    return place, index(place, last)


def index(place: Any, step: str) -> str | int:
    """Return the key, or the position of the item that is called `step`."""
    if not isinstance(place, list):
        return step
    return [item.get("id") or item.get("name") for item in place].index(step)


def found(changes: Changes) -> list[Gap]:
    return gaps(changed(changes), ROLES)


def required(
    kind: inspect.StructType, path: str = "", where: str = ""
) -> list[tuple[str, str]]:
    """Return the path of each required key in the ready suite, and its name there."""
    keys: list[tuple[str, str]] = []
    for field in kind.fields:
        key = field.encode_name
        inner, at = f"{path}{key}", f"{where}{key}"
        bare = field.type
        while isinstance(bare, inspect.Metadata):
            bare = bare.type
        if field.required:
            keys.append((inner, at))
        if isinstance(bare, inspect.StructType):
            keys += required(bare, f"{inner}/", f"{at}.")
        if isinstance(bare, inspect.VarTupleType):
            item = bare.item_type
            if isinstance(item, inspect.StructType) and field.required:
                label = SELF[key][0].get("id") or SELF[key][0].get("name")
                keys += required(item, f"{inner}/{label}/", f"{at}[{label}].")
    return keys


def suite_type() -> inspect.StructType:
    kind = inspect.type_info(SuiteManifest)
    assert isinstance(kind, inspect.StructType)
    return kind


REQUIRED = required(suite_type())


@pytest.mark.parametrize(
    ("changes", "where", "says"), CASES["defects"].values(), ids=CASES["defects"]
)
def test_a_defect_is_named_with_its_place(
    changes: Changes, where: str, says: str
) -> None:
    sentences = [str(gap) for gap in found(changes) if gap.where == where]

    assert any(says in sentence for sentence in sentences), sentences


@pytest.mark.parametrize(("path", "where"), REQUIRED, ids=[at for _, at in REQUIRED])
def test_a_required_key_that_is_missing_is_named(path: str, where: str) -> None:
    # Without its name a part is called by its place.
    unnamed = re.sub(r"\[[^\]]*\](?=\.(?:id|name)$)", "[#1]", where)

    places = {gap.where for gap in found({path: ABSENT}) if "missing" in gap.what}

    assert any(place == unnamed or place.startswith(f"{where}.") for place in places)


@pytest.mark.parametrize(
    "path", ["statistics/looks", "gates/permutation/strata", "gates/promotion/slices"]
)
def test_a_list_that_may_be_empty_must_still_be_written(path: str) -> None:
    (gap,) = found({path: ABSENT})

    assert gap.where == path.replace("/", ".")
    assert "[] for none" in gap.remedy


OBSERVABLE = {
    "resolution_rule": True,
    "sources": True,
    "adjudicator": False,
    "ambiguity": True,
    "horizons": True,
    "question_owner": False,
    "requires_acceptance": False,
    "intervention_sensitive": False,
    "max_open_hours": True,
    "min_lead_hours": False,
}


@pytest.mark.parametrize(("key", "is_unscorable"), OBSERVABLE.items(), ids=OBSERVABLE)
def test_an_observable_template_needs_it(key: str, *, is_unscorable: bool) -> None:
    (gap,) = found({f"templates/dispatch-pass/{key}": ABSENT})

    assert gap.where == f"templates[dispatch-pass].{key}"
    assert gap.is_unscorable is is_unscorable


@pytest.mark.parametrize("key", OBSERVABLE)
def test_a_template_that_is_evidence_needs_none_of_it(key: str) -> None:
    assert key not in SELF["templates"][2]
    assert found({}) == []


METHOD_KEYS = [
    (name, key)
    for name, keys in {
        "past-pass-rate": (
            "prior_count",
            "prior_weight",
            "exclude_own_target",
            "half_life_days",
        ),
        "piper-calibrated": ("of", "refit", "min_past"),
    }.items()
    for key in keys
]


@pytest.mark.parametrize(("name", "key"), METHOD_KEYS)
def test_a_method_needs_its_parameters(name: str, key: str) -> None:
    (gap,) = found({f"competitors/{name}/{key}": ABSENT})

    assert gap.where == f"competitors[{name}].{key}"
    assert "needs it" in gap.what


@pytest.mark.parametrize(("name", "key"), METHOD_KEYS)
def test_a_principal_has_no_parameters_of_a_method(name: str, key: str) -> None:
    place, last = place_of(SELF, f"competitors/{name}/{key}")

    gap, *_ = found({f"competitors/piper-native/{key}": place[last]})

    assert gap.where == f"competitors[piper-native].{key}"
    assert "no method" in gap.what


@pytest.mark.parametrize(
    ("frozen", "what"),
    [
        (None, []),
        (["piper-old@v3"], []),
        (["piper-old@v2"], ["has piper-old@v3, which is not frozen in this ledger"]),
        ([], ["has piper-old@v3, which is not frozen in this ledger"]),
    ],
    ids=["no ledger", "frozen there", "another version", "nothing frozen"],
)
def test_a_past_is_of_suites_that_are_frozen_where_that_is_known(
    frozen: list[str] | None, what: list[str]
) -> None:
    pool = {"baseline_pool/suites": ["piper-self@v1", "piper-old@v3"]}

    found = gaps(changed(pool), ROLES, frozen)

    assert [gap.what for gap in found] == what


@pytest.mark.parametrize("changes", CASES["taken"].values(), ids=CASES["taken"])
def test_what_makes_sense_is_taken(changes: Changes) -> None:
    assert found(changes) == []


@pytest.mark.parametrize(
    ("changes", "where", "says"), CASES["warned"].values(), ids=CASES["warned"]
)
def test_what_comes_to_nothing_is_warned_of_and_may_be_frozen(
    changes: Changes, where: str, says: str
) -> None:
    warned = warnings(changed(changes))

    assert any(each.where == where and says in str(each) for each in warned), warned
    assert found(changes) == []


@pytest.mark.parametrize("changes", CASES["unwarned"].values(), ids=CASES["unwarned"])
def test_what_can_come_to_something_is_not_warned_of(changes: Changes) -> None:
    assert warnings(changed(changes), frozen=[]) == []


def test_in_a_ledger_a_past_that_is_not_there_is_a_gap_and_no_warning() -> None:
    pool = {"baseline_pool/suites": ["piper-self@v1", "piper-old@v3"]}

    assert warnings(changed(pool), frozen=[]) == []


@pytest.mark.parametrize(
    ("frozen", "pool", "left_out"),
    [
        ([], [], None),
        (["piper-self@v1"], ["piper-self@v1"], None),
        (["piper-self@v1"], [], "piper-self@v1"),
        (["piper-self@v2", "piper-self@v1"], ["piper-self@v2"], "piper-self@v1"),
        (["piper-self@v10", "piper-self@v2"], [], "piper-self@v2 and piper-self@v10"),
        (["piper-self@v11", "piper-self@v12", "piper-other@v1"], [], None),
    ],
    ids=[
        "none was frozen",
        "in the pool",
        "left out",
        "one of two",
        "by number",
        "itself, a later one and another",
    ],
)
def test_a_past_that_leaves_out_earlier_versions_is_warned_of(
    frozen: list[str], pool: list[str], left_out: str | None
) -> None:
    own = "piper-self@v11"
    manifest = changed({"suite": own, "baseline_pool/suites": [own, *pool]})

    found = [str(each) for each in warnings(manifest, frozen)]

    said = (
        f"baseline_pool.suites leaves out {left_out}, whose outcomes forecasters may "
    )
    said += "know: add it, or past rates start cold and are easily beaten"
    assert found == ([] if left_out is None else [said])


def test_a_suite_that_computes_no_past_rate_leaves_no_past_out() -> None:
    sealed = [
        {"name": "piper-native", "layer": "native", "principal": "forecaster"},
        {"name": "panel", "layer": "baseline", "principal": "rival", "role": "r1"},
        {"name": "board", "layer": "baseline", "principal": "rival", "role": "r2"},
    ]
    changes = {
        "suite": "piper-self@v2",
        "baseline_pool/suites": ["piper-self@v2"],
        "incumbent": "panel",
        "scoring/reference": "panel",
        "competitors": sealed,
    }

    assert warnings(changed(changes), frozen=["piper-self@v1"]) == []


def test_a_draft_that_lacks_everything_is_warned_of_all_the_same() -> None:
    assert [each.where for each in warnings({})] == []
    claiming = {"run_class": "preregistered", "run_purpose": "score"}
    assert "utility" in {each.where for each in warnings(claiming)}


@pytest.mark.parametrize("track", TRACKS)
def test_a_new_suite_is_warned_of_nothing(track: str) -> None:
    assert warnings(manifest_from_toml(new_suite("morning-run", track))) == []


def split(**times: object) -> Changes:
    return {
        "statistics/splits": [{"name": "holdout", "purpose": "holdout"} | times],
    }


NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)


def test_a_split_may_be_written_as_a_time_or_as_text() -> None:
    assert found(split(**{"from": NEW_YEAR, "until": "2027-01-01T00:00:01Z"})) == []


@pytest.mark.parametrize(
    "until",
    [NEW_YEAR, NEW_YEAR - timedelta(seconds=1), "2026-12-31T23:59:59Z"],
    ids=["at once", "before", "before, as text"],
)
def test_a_split_that_holds_no_instant_is_a_gap(until: object) -> None:
    (gap,) = found(split(**{"from": NEW_YEAR, "until": until}))

    assert gap.where == "statistics.splits[holdout].until"


@pytest.mark.parametrize(
    "instant",
    [
        datetime(2027, 6, 1),  # noqa: DTZ001 - a time without a zone is the case
        datetime(2027, 6, 1, tzinfo=timezone(timedelta(hours=1))),
        "2027-06-01T00:00:00+01:00",
        "2027-06-01T00:00:00",
        "2027-06-01",
        1_800_000_000,
    ],
    ids=["naive", "offset", "offset, as text", "naive, as text", "a day", "a number"],
)
def test_a_split_in_another_time_than_utc_is_a_gap(instant: object) -> None:
    (gap,) = found(split(**{"from": NEW_YEAR, "until": instant}))

    assert gap.where == "statistics.splits[holdout].until"
    assert "UTC" in gap.remedy


def test_two_splits_of_one_name_are_a_gap() -> None:
    changes = split(**{"from": NEW_YEAR, "until": NEW_YEAR + timedelta(days=1)})
    changes["statistics/splits"] *= 2

    (gap,) = found(changes)

    assert (gap.where, gap.what) == (
        "statistics.splits[holdout]",
        "stands there twice",
    )


EVERYTHING: Changes = {
    "title": ABSENT,
    "track": "slef",
    "colour": "red",
    "owner": "eve",
    "statistics/level": 0.95,
    "scoring/reference": "nobody",
    "templates/dispatch-pass/sources": [],
    "templates/dispatch-on-time/positive": "soon",
    "competitors/past-pass-rate/prior_count": ABSENT,
    "prequential/window": 0,
}


def test_all_gaps_of_a_bad_suite_are_named_at_once() -> None:
    assert [gap.where for gap in found(EVERYTHING)] == [
        "title",
        "track",
        "statistics.level",
        "colour",
        "owner",
        "templates[dispatch-pass].sources",
        "templates[dispatch-on-time].positive",
        "competitors[past-pass-rate].prior_count",
        "scoring.reference",
        "prequential.window",
    ]


def test_a_bad_suite_is_refused_in_one_sentence_with_all_its_gaps() -> None:
    with pytest.raises(RefusedError) as refusal:
        freeze_manifest(changed(EVERYTHING), ROLES)

    message = refusal.value.message
    assert message.startswith("piper-self@v1 has 10 gaps: title is missing")
    assert all(str(gap) in message for gap in found(EVERYTHING))
    assert "\n" not in message


def test_a_suite_with_one_gap_is_incomplete() -> None:
    with pytest.raises(RefusedError, match="has 1 gap: title is missing") as refusal:
        freeze_manifest(changed({"title": ABSENT}), ROLES)

    assert refusal.value.code == "suite-incomplete"


UNSCORABLE: dict[str, Changes] = {
    "no source": {"templates/dispatch-pass/sources": ABSENT},
    "no rule": {"templates/dispatch-pass/resolution_rule": ABSENT},
    "no ambiguity policy": {"templates/dispatch-pass/ambiguity": ABSENT},
    "no horizon": {"templates/dispatch-pass/horizons": []},
    "no deadline": {"templates/dispatch-pass/max_open_hours": ABSENT},
    "its adjudicator forecasts": {"templates/dispatch-pass/adjudicator": "forecaster"},
    "its source forecasts": {"templates/dispatch-pass/sources": ["piper-native"]},
    "its resolver forecasts": {"resolvers": ["resolver", "forecaster"]},
}


@pytest.mark.parametrize("changes", UNSCORABLE.values(), ids=UNSCORABLE)
def test_a_proposition_that_nobody_can_label_is_refused_by_that_name(
    changes: Changes,
) -> None:
    # Without a charter too: a draft is judged before there is a ledger.
    with pytest.raises(RefusedError) as refusal:
        freeze_manifest(changed(changes))

    assert refusal.value.code == "unscorable-proposition"


def test_without_a_charter_nobody_s_role_is_checked() -> None:
    assert gaps(changed({"owner": "eve"})) == []


def test_a_charter_without_the_role_says_so() -> None:
    (gap,) = gaps(changed({}), ROLES | {"evaluator": "issuer"})

    assert "who is issuer" in gap.what
    assert "there is none yet" in gap.remedy


def test_a_null_is_a_gap() -> None:
    (gap,) = found({"incumbent": None})

    assert str(gap) == "incumbent is null: leave the key out"


def test_a_missing_table_is_named_key_by_key() -> None:
    places = [gap.where for gap in found({"prequential": ABSENT})]

    assert places == [
        f"prequential.{key}"
        for key in ("fading", "window", "ph_delta", "ph_lambda", "recovery")
    ]


def test_an_empty_suite_names_every_required_key_at_the_top() -> None:
    places = {gap.where for gap in gaps({})}

    top = {field.encode_name for field in suite_type().fields if field.required}
    tables = {"coverage", "baseline_pool", "scoring", "statistics", "gates"}
    assert top - tables - {"prequential"} <= places
    assert "format" in places


def test_a_struct_is_checked_like_what_somebody_wrote() -> None:
    frozen = freeze_manifest(changed({"run_class": "exploratory"}))

    assert gaps(frozen, ROLES) == []
    assert [gap.where for gap in gaps(frozen, ROLES | {"evaluator": "root"})] == [
        "owner"
    ]


def test_a_payload_may_leave_out_what_is_empty() -> None:
    frozen = freeze_manifest(
        changed({"gates/permutation/strata": [], "gates/promotion/slices": []})
    )

    assert gaps(frozen, ROLES) == []
