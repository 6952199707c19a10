"""The manifest's keys, its bytes, the ready suites, and the page that explains them."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from ledger import canonical
from ledger.errors import RefusedError, UsageError
from ledger.ids import sha256_hex
from ledger.suite import (
    FORMATS,
    CharterManifest,
    Manifest,
    SuiteManifest,
)
from ledger.suite_check import (
    freeze_manifest,
    gaps,
    manifest_from_toml,
)
from ledger.suite_template import TRACKS, new_suite
from ledger.suite_verdicts import verdicts
from tests.shared import SHARED

ROOT = Path(__file__).parents[1]
SUITES = sorted((ROOT / "docs" / "suites").glob("*.toml"))
# The principals of `ledger init`, called after their roles.
ROLES = {
    name: name for name in ("root", "evaluator", "issuer", "resolver", "forecaster")
}


def ready(name: str) -> dict[str, Any]:
    return manifest_from_toml((ROOT / "docs" / "suites" / f"{name}.toml").read_text())


def keys_of(kind: inspect.Type) -> set[str]:
    """Every key that a struct and the structs in it can have."""
    match kind:
        case inspect.StructType():
            inner = [keys_of(field.type) for field in kind.fields]
            return {field.encode_name for field in kind.fields}.union(*inner)
        case inspect.UnionType():
            return set().union(*map(keys_of, kind.types))
        case inspect.VarTupleType():
            return keys_of(kind.item_type)
        case inspect.DictType():
            return keys_of(kind.value_type)
        case inspect.Metadata():
            return keys_of(kind.type)
        case _:
            return set()


SUITE_KEYS = keys_of(inspect.type_info(SuiteManifest)) | {"format"}
CHARTER_KEYS = keys_of(inspect.type_info(CharterManifest)) | {"format"}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_ready_suite_can_be_frozen_right_after_init(path: Path) -> None:
    manifest = manifest_from_toml(path.read_text())

    assert gaps(manifest, ROLES) == []
    assert freeze_manifest(manifest, ROLES).suite == f"{path.stem}@v1"


def test_there_is_a_ready_suite_for_each_track() -> None:
    tracks = [manifest_from_toml(path.read_text())["track"] for path in SUITES]

    assert sorted(tracks) == sorted(TRACKS)


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_the_files_that_a_ready_suite_pins_stand_beside_it(path: Path) -> None:
    for name, digest in manifest_from_toml(path.read_text()).get("pins", {}).items():
        assert sha256_hex((path.parent / name).read_bytes()) == digest


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_the_bytes_of_a_suite_are_canonical_and_say_the_same(path: Path) -> None:
    frozen = freeze_manifest(manifest_from_toml(path.read_text()))
    payload = canonical.encode(frozen)

    again = msgspec.json.decode(payload, type=Manifest)

    assert again == frozen
    assert canonical.encode(again) == payload
    assert canonical.encode(msgspec.json.decode(payload)) == payload


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_decoded_suite_has_no_gaps_either(path: Path) -> None:
    frozen = freeze_manifest(manifest_from_toml(path.read_text()))

    assert gaps(frozen, ROLES) == []


def test_the_shared_example_can_be_frozen() -> None:
    path = SHARED / "examples" / "piper-self.toml"
    if not path.exists():
        pytest.skip("the shared example is not beside this checkout")

    manifest = manifest_from_toml(path.read_text())

    assert gaps(manifest) == []
    assert freeze_manifest(manifest).headline == "initial"


def test_an_empty_collection_is_absent_from_the_bytes() -> None:
    manifest = ready("piper-self") | {"canaries": [], "ablations": [], "pins": {}}
    manifest["statistics"]["splits"] = []

    text = canonical.canonical_text(freeze_manifest(manifest))

    for key in ("canaries", "ablations", "pins", "splits", "adaptation_budgets"):
        assert f'"{key}"' not in text


def test_false_and_zero_are_written() -> None:
    text = canonical.canonical_text(freeze_manifest(ready("piper-self")))

    assert '"baseline_fill":false' in text
    assert '"half_life_days":0' in text
    assert '"requires_acceptance":false' in text


def test_a_split_keeps_its_instants_in_utc() -> None:
    manifest = ready("piper-self")
    manifest["statistics"]["splits"] = tomllib.loads(
        "splits = [{name = 'h', from = 2027-01-01T00:00:00Z,"
        " until = 2027-07-01T12:00:00.25Z, purpose = 'holdout'}]"
    )["splits"]

    text = canonical.canonical_text(freeze_manifest(manifest))

    assert '"from":"2027-01-01T00:00:00Z"' in text
    assert '"until":"2027-07-01T12:00:00.250000Z"' in text


def test_a_suite_finds_its_parts_by_name() -> None:
    suite = freeze_manifest(ready("targetspace"))

    assert suite.template("commitment") is suite.templates[0]
    assert suite.template("commitments") is None
    assert suite.competitor("own-routine") is suite.competitors[-1]
    assert suite.competitor("routine") is None
    assert [each.id for each in suite.observable] == ["commitment", "no-reply"]


def test_the_formats_are_those_of_the_structs() -> None:
    kinds = (SuiteManifest, CharterManifest)

    assert {kind.__struct_config__.tag for kind in kinds} == FORMATS


def test_a_charter_is_written_as_the_vectors_write_it() -> None:
    charter = {
        "backdated_seconds": 7200,
        "clock_jump_seconds": 45,
        "created_ahead_seconds": 120,
        "custody": "separate",
        "format": "charter/1",
        "log_keys": ["ledger.example/piper+ab4bab2d+AX1Q"],
        "origin": "ledger.example/piper",
        "principals": [{"key": "root+8beb44b3+ATrm", "name": "root", "role": "root"}],
    }

    decoded = msgspec.convert(charter, Manifest)

    assert isinstance(decoded, CharterManifest)
    assert canonical.encode(decoded) == canonical.encode(charter)


@pytest.mark.parametrize("track", TRACKS)
def test_a_new_suite_passes_the_check_as_it_is_written(track: str) -> None:
    manifest = manifest_from_toml(new_suite("morning-run", track))

    assert gaps(manifest, ROLES) == []
    assert manifest["suite"] == "morning-run@v1"
    assert manifest["track"] == track


@pytest.mark.parametrize("track", TRACKS)
def test_a_new_suite_shows_every_key(track: str) -> None:
    text = new_suite("x", track)
    written = set(re.findall(r"^(?:# )?(\w+) *=", text, re.MULTILINE))
    headers = re.findall(r"^(?:# )?\[+([\w.]+)\]", text, re.MULTILINE)
    tables = {part for header in headers for part in header.split(".")}

    assert SUITE_KEYS - written - tables == set()


@pytest.mark.parametrize("track", TRACKS)
def test_the_examples_that_a_new_suite_comments_out_have_the_right_form(
    track: str,
) -> None:
    lines = new_suite("x", track).splitlines()
    uncommented = [
        re.sub(r"^# (?=\[|[\w.]+ *= |\"[\w/.]+\" = )", "", line) for line in lines
    ]

    found = gaps(manifest_from_toml("\n".join(uncommented)))

    # What they refer to is for the author to write.
    assert {gap.where for gap in found} <= {
        "ablations[evidence].order",
        "competitors[native].evidence_tier",
        "templates[commitment].questions",
        "templates[dated-event].questions",
        "templates[dispatch-pass].questions",
    }


def test_a_new_suite_may_start_at_a_later_version() -> None:
    assert 'suite       = "x@v3"' in new_suite("x@v3", "world")


@pytest.mark.parametrize("name", ["", "X", "x@1", "x@v0", "a b", "-x", "x@v1\n"])
def test_a_name_that_no_suite_can_have_starts_none(name: str) -> None:
    with pytest.raises(UsageError, match="suite version"):
        new_suite(name, "self")


def test_an_unknown_track_is_named_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match="did you mean world"):
        new_suite("x", "word")


def test_text_that_is_no_toml_is_refused_with_the_place() -> None:
    with pytest.raises(RefusedError, match="line 1") as refusal:
        manifest_from_toml("suite = \n")

    assert refusal.value.code == "suite-not-toml"


def test_toml_that_nests_too_deeply_is_refused() -> None:
    with pytest.raises(RefusedError, match="no TOML"):
        manifest_from_toml("a = " + "[" * 100_000)


@pytest.mark.parametrize("key", sorted(SUITE_KEYS | CHARTER_KEYS))
def test_the_page_on_suites_explains_every_key(key: str) -> None:
    page = (ROOT / "docs" / "suite.md").read_text()

    spans = re.findall(r"`([^`\n]+)`", page)
    assert key in {word for span in spans for word in re.findall(r"\w+", span)}


def test_every_key_that_the_page_lists_exists() -> None:
    page = (ROOT / "docs" / "suite.md").read_text()

    listed = re.findall(r"^\| `([a-z_.]+)` \|", page, re.MULTILINE)

    kinds = {"affect", "causal", "observable"}
    assert {key.split(".")[-1] for key in listed} <= SUITE_KEYS | CHARTER_KEYS | kinds


def test_targetspace_gets_the_verdicts_of_its_protocol() -> None:
    table = {each.template: each for each in verdicts(ready("targetspace"))}

    assert {name: (each.category, each.verdict) for name, each in table.items()} == {
        "commitment": ("Observable outcome", "Scored"),
        "no-reply": ("Observable outcome", "Scored"),
        "feels-anxious": ("Affect", "Evidence only"),
        "attending-now": ("Attention", "Evidence only"),
        "true-goal": ("Inferred goal", "Evidence only"),
        "attention-causes-switch": ("Causal claim", "Out of scope"),
        "self-reported-goal": ("Contaminated label", "Invalid label"),
    }
    assert table["self-reported-goal"].why == (
        "Self-report may be evidence, but it is never the outcome label when it is "
        "also a model input."
    )


def test_a_self_report_that_nobody_reads_is_evidence() -> None:
    manifest = ready("targetspace")
    manifest["templates"][-1]["label_streams"] = ["diary"]

    assert verdicts(manifest)[-1].verdict == "Evidence only"


def test_an_observable_label_that_is_an_input_is_invalid() -> None:
    manifest = ready("targetspace")
    manifest["templates"][0]["label_streams"] = ["calendar"]

    first = verdicts(manifest)[0]

    assert (first.kind, first.verdict) == ("observable", "Invalid label")


def test_an_observable_template_without_a_rule_is_evidence() -> None:
    manifest = ready("targetspace")
    del manifest["templates"][0]["resolution_rule"]

    first = verdicts(manifest)[0]

    assert first.verdict == "Evidence only"
    assert "resolution_rule" in first.why


def test_a_frozen_suite_gets_the_same_verdicts_as_its_draft() -> None:
    manifest = ready("targetspace")

    assert verdicts(freeze_manifest(manifest)) == verdicts(manifest)


def test_a_draft_that_is_full_of_faults_still_gets_its_verdicts() -> None:
    manifest = ready("targetspace")
    manifest["templates"][2]["kind"] = 7
    manifest["statistics"] = "none"

    assert len(verdicts(manifest)) == 6


def paths(
    value: object, path: tuple[str | int, ...] = ()
) -> list[tuple[str | int, ...]]:
    """Return the path of every value in a manifest, tables and lists included."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path] * bool(path) + [
        each for key, item in inner for each in paths(item, (*path, key))
    ]


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 2**60)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "0", "0.5", "1", "-1", "x", "void", "initial", "target"])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "name", "x"]), inner, max_size=2)
    ),
    max_leaves=3,
)


@given(data=st.data(), name=st.sampled_from(["piper-self", "targetspace"]))
def test_a_suite_without_gaps_freezes_and_one_with_gaps_never_does(
    data: st.DataObject, name: str
) -> None:
    manifest = ready(name)
    for path in data.draw(st.lists(st.sampled_from(paths(manifest)), max_size=3)):
        spoil(manifest, path, data.draw(ODD))

    found = gaps(manifest, ROLES)

    if found:
        with pytest.raises(RefusedError) as refusal:
            freeze_manifest(manifest, ROLES)
        assert all(str(gap) in refusal.value.message for gap in found)
    else:
        frozen = freeze_manifest(manifest, ROLES)
        payload = canonical.encode(frozen)
        assert msgspec.json.decode(payload, type=Manifest) == frozen
        assert gaps(frozen, ROLES) == []


def spoil(manifest: Any, path: tuple[str | int, ...], value: object) -> None:
    """Put `value` at `path`, if an earlier change left that place there."""
    *outer, last = path
    place = manifest
    for step in outer:
        if not isinstance(place, dict | list):
            return
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(place, dict) or (
        isinstance(place, list) and last in range(len(place))
    ):
        place[last] = value
