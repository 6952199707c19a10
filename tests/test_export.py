"""Bundles: what is in one, that it is the same twice, and who may sign it."""

import csv
import json
import os
import sqlite3
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from ledger import codec
from ledger.canonical import encode
from ledger.checkpoint import open_checkpoint
from ledger.errors import RefusedError, UsageError
from ledger.events import Quantity, SuiteFrozen
from ledger.ids import sha256_hex
from ledger.keys.roster import Principal
from ledger.keys.signing import parse_verifier, verifies
from ledger.log import create
from ledger.projections.export_tables import FORECAST_COLUMNS
from ledger.projections.flat_rows import flat
from ledger.projections.stored import open_report
from ledger.store_opening import open_store
from ledger.suite import CharterManifest, QuantityRule
from tests.console import Console
from tests.publisher import audited, publish
from tests.source_tree import REPOSITORY
from tests.workshop import SUITE, Workshop, key_of, renamed, suite_manifest

FILES = ["forecasts.parquet", "rows.csv", "rows.jsonl", "rows.parquet"]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries: three units, four vectors."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


@pytest.fixture(scope="module")
def bundle(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("published") / "bundle"
    publish(workshop, target)
    return target


def manifest_of(bundle: Path) -> Any:
    return json.loads((bundle / "manifest.json").read_bytes())


def published_rows(bundle: Path) -> list[dict[str, Any]]:
    lines = (bundle / "rows.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def every_file(bundle: Path) -> dict[str, bytes]:
    return {
        path.relative_to(bundle).as_posix(): path.read_bytes()
        for path in bundle.rglob("*")
        if path.is_file()
    }


# --- What is in one -------------------------------------------------------------------


def test_the_manifest_names_every_file_by_its_hash(bundle: Path) -> None:
    files = every_file(bundle)
    del files["manifest.json"], files["manifest.sig"]
    stated = manifest_of(bundle)["files"]
    assert stated == {name: sha256_hex(content) for name, content in files.items()}
    assert sorted(stated) == FILES


def test_the_manifest_is_canonical_json(bundle: Path) -> None:
    content = (bundle / "manifest.json").read_bytes()
    assert content == encode(json.loads(content))


def test_the_manifest_says_what_the_rows_were_computed_from(
    workshop: Workshop, bundle: Path
) -> None:
    stated = manifest_of(bundle)
    assert stated["format"] == "bundle/1"
    assert stated["ledger"] == workshop.ledger
    assert stated["suites"] == {SUITE: workshop.suite_hash}
    assert stated["query"] == {"suites": [SUITE], "slots": [], "by": []}
    assert stated["scorer"] == "metrics/1"
    checkpoint = open_checkpoint(
        stated["checkpoint"], [workshop.log_key.verifier], stated["origin"]
    )
    assert checkpoint.size == stated["size"] == len(workshop.receipts)
    assert stated["received_at"] == workshop.receipts[-1].received_at


def test_the_rows_are_those_that_the_ledger_prints(
    workshop: Workshop, bundle: Path
) -> None:
    with (
        closing(open_store(workshop.folder.log, read_only=True)) as store,
        open_report(workshop.folder, store) as report,
    ):
        printed = report.rows()
    lines = (bundle / "rows.jsonl").read_bytes().splitlines()
    assert lines == [encode(row) for row in printed]
    assert manifest_of(bundle)["rows"] == {
        "count": len(lines),
        "sha256": [sha256_hex(line) for line in lines],
    }


def as_text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case _:
            return str(cell)


def test_rows_as_csv_are_the_same_rows_as_text(bundle: Path) -> None:
    with (bundle / "rows.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    rows = [flat(row) for row in published_rows(bundle)]
    assert len(found) == len(rows)
    for cells, row in zip(found, rows, strict=True):
        assert cells == {name: as_text(row.get(name)) for name in cells}
        assert set(row) <= set(cells)


def test_rows_as_parquet_keep_decimal_text_and_whole_counts(bundle: Path) -> None:
    found = pl.read_parquet(bundle / "rows.parquet")
    rows = [flat(row) for row in published_rows(bundle)]
    assert found.to_dicts() == [
        {name: row.get(name) for name in found.columns} for row in rows
    ]
    assert found.schema["scores.brier.value"] == pl.String
    assert found.schema["scores.brier.n"] == pl.Int64
    assert found.schema["counts.units"] == pl.Int64


@pytest.mark.parametrize("name", ["rows.parquet", "forecasts.parquet"])
def test_no_column_of_a_bundle_holds_floats(bundle: Path, name: str) -> None:
    schema = pl.read_parquet(bundle / name).schema
    assert [column for column, kind in schema.items() if kind.is_float()] == []


def test_every_vector_is_there_with_its_numbers_as_integers(
    workshop: Workshop, bundle: Path
) -> None:
    found = pl.read_parquet(bundle / "forecasts.parquet")
    assert found["kind"].to_list() == ["initial", "update", "initial", "initial"]
    first = found.row(0, named=True)
    assert first["event_id"] == workshop.receipts[first["seq"]].event_id
    assert first["probabilities"] == [
        {"answer": "pass", "ppm": 800_000},
        {"answer": "fail", "ppm": 200_000},
    ]
    assert first["outcome"] == "fail"
    assert first["brier_sum_e12"] == 2 * 800_000**2
    assert first["eligible"] is True
    assert first["evidence_tiers"] == ["L0", "L1"]
    assert first["reason_codes"] == ["small-diff", "tests-present"]
    update = found.row(1, named=True)
    assert update["parent"] == first["seq"]


def test_the_columns_of_vectors_have_the_types_that_are_documented(
    bundle: Path,
) -> None:
    schema = pl.read_parquet(bundle / "forecasts.parquet").schema
    assert dict(schema) == {**FORECAST_COLUMNS, "tag:domain": pl.String}


def test_every_tag_is_a_column(bundle: Path) -> None:
    found = pl.read_parquet(bundle / "forecasts.parquet")
    assert found["tag:domain"].to_list() == ["feature", "feature", "bugfix", "feature"]


def test_instants_are_in_utc_to_the_microsecond(
    workshop: Workshop, bundle: Path
) -> None:
    found = pl.read_parquet(bundle / "forecasts.parquet").row(0, named=True)
    stated = workshop.receipts[found["seq"]].received_at
    assert found["received_at"] == datetime.fromisoformat(stated)
    assert found["cutoff_at"] - found["opened_at"] == timedelta(hours=1)
    assert found["lead_seconds"] == int(
        (found["resolve_by"] - found["received_at"]).total_seconds()
    )
    assert found["received_at"].tzinfo is not None


def test_a_vector_that_is_not_resolved_has_no_score(bundle: Path) -> None:
    last = pl.read_parquet(bundle / "forecasts.parquet").row(-1, named=True)
    assert last["status"] == "PENDING"
    assert last["outcome"] is None
    assert last["brier_sum_e12"] is None
    assert last["picobits"] is None


def test_a_hidden_vector_has_no_probabilities(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    question = workshop.question(0)
    workshop.append(workshop.opened(question))
    sealed = workshop.sealed(codec.question_hash(question), 50)
    workshop.append(
        msgspec.structs.replace(sealed, probabilities={}, commitment="ab" * 32)
    )
    publish(workshop, tmp_path / "bundle")
    found = pl.read_parquet(tmp_path / "bundle" / "forecasts.parquet")
    [row] = found.to_dicts()
    assert row["is_hidden"] is True
    assert row["probabilities"] is None


def test_quantities_stay_decimal_text(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    hours = QuantityRule(
        unit="hours", interpolate=False, scale="1", underage="1", overage="1"
    )
    workshop.manifest = msgspec.structs.replace(
        workshop.manifest, quantities={"hours": hours}
    )
    workshop.suite_hash = codec.suite_hash(workshop.manifest)
    workshop.found()
    question = workshop.question(0)
    workshop.append(workshop.opened(question))
    sealed = workshop.sealed(codec.question_hash(question), 50)
    stated = {"hours": Quantity(point="1.25")}
    workshop.append(msgspec.structs.replace(sealed, quantities=stated))
    publish(workshop, tmp_path / "bundle")
    found = pl.read_parquet(tmp_path / "bundle" / "forecasts.parquet")
    assert found["quantities"].to_list() == ['{"hours":{"point":"1.25"}}']


# --- The same again -------------------------------------------------------------------


def test_the_same_head_gives_the_same_bytes(
    workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    publish(workshop, tmp_path / "again")
    assert every_file(tmp_path / "again") == every_file(bundle)


def test_the_number_of_threads_changes_no_byte(
    workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from tests.workshop import Workshop\nfrom tests.publisher import publish\n"
        "publish(Workshop(Path(sys.argv[1])), Path(sys.argv[2]))\n"
    )
    home = workshop.folder.path.parent
    subprocess.run(
        [sys.executable, "-c", program, home, tmp_path / "again"],
        check=True,
        cwd=REPOSITORY,
        env={**os.environ, "POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "7"},
    )
    assert every_file(tmp_path / "again") == every_file(bundle)


def test_what_is_appended_later_changes_no_row_of_another_suite(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found().tell()
    publish(workshop, tmp_path / "before")
    workshop.append(workshop.frozen(suite_manifest("other")))
    publish(workshop, tmp_path / "after", suites=[SUITE])
    before, after = every_file(tmp_path / "before"), every_file(tmp_path / "after")
    assert {name for name in before if before[name] != after[name]} == {
        "manifest.json",
        "manifest.sig",
    }


def test_tables_that_somebody_edited_are_not_published(
    tmp_path: Path, bundle: Path
) -> None:
    workshop = Workshop(tmp_path).found().tell()
    with (
        closing(open_store(workshop.folder.log, read_only=True)) as store,
        open_report(workshop.folder, store) as report,
    ):
        report.rows()
    with closing(sqlite3.connect(workshop.folder.projections)) as tables:
        tables.execute("UPDATE forecasts SET brier_sum = 0")
        tables.execute("UPDATE rows SET row = '{}'")
        tables.commit()
    publish(workshop, tmp_path / "bundle")
    assert published_rows(tmp_path / "bundle") == published_rows(bundle)


# --- Which rows -----------------------------------------------------------------------


def test_slots_and_groupings_are_those_that_were_asked_for(
    workshop: Workshop, tmp_path: Path
) -> None:
    publish(
        workshop,
        tmp_path / "bundle",
        slots=["initial", "final"],
        by=["tag:domain"],
    )
    rows = published_rows(tmp_path / "bundle")
    assert {row["slot"] for row in rows} == {"initial", "final"}
    assert "tag:domain=bugfix" in {row["slice"] for row in rows}
    query = manifest_of(tmp_path / "bundle")["query"]
    assert query == {
        "suites": [SUITE],
        "slots": ["initial", "final"],
        "by": ["tag:domain"],
    }


def test_a_superseded_suite_is_published_beside_its_successor(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found().tell()
    later = renamed(workshop.manifest, "workshop@v2")
    workshop.append(
        msgspec.structs.replace(workshop.frozen(later), supersedes="workshop@v1")
    )
    publish(workshop, tmp_path / "bundle")
    superseded = {
        row["suite"]: row["superseded_at"]
        for row in published_rows(tmp_path / "bundle")
    }
    assert superseded["workshop@v1"] == workshop.receipts[-1].received_at
    assert superseded["workshop@v2"] is None
    assert list(manifest_of(tmp_path / "bundle")["suites"]) == [*superseded]
    assert audited(workshop, tmp_path / "bundle").ok


@pytest.mark.parametrize(
    "asked",
    [{"suites": ["nothing@v1"]}, {"slots": ["latest"]}, {"by": ["weather"]}],
    ids=["suite", "slot", "grouping"],
)
def test_what_there_is_not_is_refused_and_leaves_nothing(
    workshop: Workshop, tmp_path: Path, asked: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=next(iter(asked.values()))[0]):
        publish(workshop, tmp_path / "bundle", **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_without_suites_has_a_bundle_without_rows(tmp_path: Path) -> None:
    workshop = founded_alone(tmp_path)
    publish(workshop, tmp_path / "bundle")
    assert published_rows(tmp_path / "bundle") == []
    assert pl.read_parquet(tmp_path / "bundle" / "rows.parquet").height == 0
    vectors = pl.read_parquet(tmp_path / "bundle" / "forecasts.parquet")
    assert dict(vectors.schema) == FORECAST_COLUMNS
    assert audited(workshop, tmp_path / "bundle").ok


def founded_alone(home: Path) -> Workshop:
    """Make a ledger that has nothing but its charter."""
    workshop = Workshop(home)
    charter = SuiteFrozen(
        author="root",
        created_at=workshop.clock(),
        suite="charter@v1",
        manifest=workshop.charter(),
    )
    receipt = create(
        workshop.folder,
        workshop.signed(charter),
        workshop.log_key,
        clock=workshop.clock,
        state_home=workshop.state_home,
    )
    workshop.ledger = receipt.event_id
    return workshop


# --- Who signs ------------------------------------------------------------------------


def test_the_signature_is_dsse_over_the_manifest(
    workshop: Workshop, bundle: Path
) -> None:
    manifest = (bundle / "manifest.json").read_bytes()
    envelope = json.loads((bundle / "manifest.sig").read_bytes())
    assert b64decode(envelope["payload"]) == manifest
    kind = "application/vnd.sealed-ledger.bundle.v1+json"
    assert envelope["payloadType"] == kind
    [signature] = envelope["signatures"]
    signed = b"DSSEv1 %d %s %d %s" % (
        len(kind), kind.encode(), len(manifest), manifest,
    )  # fmt: skip
    key = parse_verifier(signature["keyid"])
    assert key == workshop.keys["evaluator"].verifier
    assert verifies(signed, b64decode(signature["sig"]), key.public)


def charter_of(workshop: Workshop, **changes: Any) -> SuiteFrozen:
    """Return the second charter."""
    return SuiteFrozen(
        author="root",
        created_at=workshop.clock(),
        ledger=workshop.ledger,
        suite="charter@v2",
        supersedes="charter@v1",
        manifest=msgspec.structs.replace(workshop.charter(), **changes),
    )


def people(charter: CharterManifest, *, second: str | None) -> tuple[Principal, ...]:
    """Return the principals with another evaluator in the place of the first."""
    others = tuple(each for each in charter.principals if each.role != "evaluator")
    if second is None:
        return others
    key = str(key_of(second).verifier)
    return (*others, Principal(name=second, key=key, role="evaluator"))


def nothing(_: Workshop) -> None:
    """Leave the ledger as it is."""


def revoke(workshop: Workshop) -> None:
    workshop.append(
        charter_of(
            workshop, principals=people(workshop.charter(), second="evaluator-2")
        )
    )


def compromise(workshop: Workshop) -> None:
    workshop.append(charter_of(workshop, compromised_since={"evaluator": 5}))


MAY_NOT_SIGN: dict[str, tuple[Callable[[Workshop], None], list[str], str, str]] = {
    "nobody": (nothing, [], "bundle-unsigned", "nobody signs"),
    "a forecaster": (nothing, ["forecaster"], "wrong-role", "forecaster is a forec"),
    "an issuer": (nothing, ["dispatcher"], "wrong-role", "dispatcher is an issuer"),
    "a stranger": (nothing, ["mallory"], "wrong-role", "no charter"),
    "one good, one stranger": (
        nothing, ["evaluator", "mallory"], "wrong-role", "mallory",
    ),
    "a revoked evaluator": (revoke, ["evaluator"], "wrong-role", "at size 13"),
    "a lost key": (compromise, ["evaluator"], "compromised-key", "from entry 5"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "names", "code", "said"), MAY_NOT_SIGN.values(), ids=MAY_NOT_SIGN
)
def test_a_bundle_cannot_be_signed_by(
    tmp_path: Path,
    before: Callable[[Workshop], None],
    names: list[str],
    code: str,
    said: str,
) -> None:
    workshop = Workshop(tmp_path / "home").found().tell()
    before(workshop)
    signers = [key_of(name) for name in names]
    with pytest.raises(RefusedError, match=said) as refused:
        publish(workshop, tmp_path / "bundle", signers=signers)
    assert refused.value.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_the_evaluator_of_a_new_charter_signs_from_then_on(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found().tell()
    revoke(workshop)
    publish(workshop, tmp_path / "bundle", signers=[key_of("evaluator-2")])
    assert audited(workshop, tmp_path / "bundle").ok


def test_several_evaluators_sign_one_bundle(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found().tell()
    charter = workshop.charter()
    second = people(charter, second="evaluator-2")[-1]
    workshop.append(charter_of(workshop, principals=(*charter.principals, second)))
    signers = [workshop.keys["evaluator"], key_of("evaluator-2")]
    publish(workshop, tmp_path / "bundle", signers=signers)
    envelope = json.loads((tmp_path / "bundle" / "manifest.sig").read_bytes())
    assert [each["keyid"] for each in envelope["signatures"]] == [
        str(signer.verifier) for signer in signers
    ]
    assert audited(workshop, tmp_path / "bundle").ok


# --- How it appears -------------------------------------------------------------------


TAKEN: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a file": Path.touch,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN)
def test_what_exists_is_never_written_over(
    workshop: Workshop, tmp_path: Path, take: Callable[[Path], object]
) -> None:
    take(tmp_path / "bundle")
    with pytest.raises(UsageError, match="exists"):
        publish(workshop, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_folder_that_is_not_there_is_named(
    workshop: Workshop, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="nowhere is no folder"):
        publish(workshop, tmp_path / "nowhere" / "bundle")


def test_a_bundle_appears_as_a_whole_or_not_at_all(
    workshop: Workshop, tmp_path: Path
) -> None:
    def fail(_size: int, _note: str) -> None:
        assert not (tmp_path / "bundle").exists()
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        publish(workshop, tmp_path / "bundle", keep=fail)
    assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_is_handed_over_before_it_leaves(
    workshop: Workshop, tmp_path: Path
) -> None:
    kept = []
    publish(
        workshop, tmp_path / "bundle", keep=lambda size, note: kept.append((size, note))
    )
    stated = manifest_of(tmp_path / "bundle")
    assert kept == [(stated["size"], stated["checkpoint"])]


# --- Pinned files ---------------------------------------------------------------------


def pinned(home: Path) -> tuple[Workshop, str]:
    """Return a ledger whose suite pins a file, and the file's hash."""
    workshop = Workshop(home).found()
    kept = workshop.folder.blobs.keep(b"the acceptance tests")
    manifest = msgspec.structs.replace(
        suite_manifest("pinned"), pins={"acceptance.py": kept}
    )
    workshop.append(workshop.frozen(manifest))
    return workshop, kept


def test_pinned_files_travel_by_their_hashes(tmp_path: Path) -> None:
    workshop, digest = pinned(tmp_path)
    publish(workshop, tmp_path / "bundle")
    name = f"blobs/{digest}"
    assert every_file(tmp_path / "bundle")[name] == b"the acceptance tests"
    assert manifest_of(tmp_path / "bundle")["files"][name] == digest
    assert audited(workshop, tmp_path / "bundle").ok


def test_a_pinned_file_that_was_erased_is_named_and_left_out(tmp_path: Path) -> None:
    workshop, digest = pinned(tmp_path)
    (workshop.folder.path / "blobs" / digest).unlink()
    written = publish(workshop, tmp_path / "bundle")
    assert written.missing == (f"acceptance.py of pinned@v1 ({digest})",)
    assert not (tmp_path / "bundle" / "blobs").exists()


def test_only_the_pins_of_published_suites_travel(tmp_path: Path) -> None:
    workshop, _ = pinned(tmp_path)
    publish(workshop, tmp_path / "bundle", suites=[SUITE])
    assert sorted(manifest_of(tmp_path / "bundle")["files"]) == FILES


# --- The command ----------------------------------------------------------------------


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path).found().frozen()


def test_the_command_writes_a_bundle_and_tells_of_it(console: Console) -> None:
    shown = console.here("export", console.home / "bundle", "--json")
    assert shown.code == 0, shown.stderr
    told = shown.object
    assert told["rows"] == manifest_of(console.home / "bundle")["rows"]["count"]
    assert told["files"] == manifest_of(console.home / "bundle")["files"]
    assert told["checkpoint_kept"] is True


def test_the_checkpoint_that_left_is_stored(console: Console) -> None:
    told = console.here("export", console.home / "bundle", "--json").object
    with closing(open_store(console.ledger / "log.db", read_only=True)) as store:
        assert (told["size"], told["checkpoint"]) in store.checkpoints()


def test_exporting_beside_a_writer_says_that_the_checkpoint_is_not_stored(
    workshop: Workshop, tmp_path: Path
) -> None:
    (workshop.folder.path / "keys").mkdir(exist_ok=True)
    console = Console(tmp_path)
    keys = tmp_path / "keys"
    keys.mkdir()
    key = keys / "evaluator.key"
    key.write_text(key_of("evaluator").line() + "\n")
    key.chmod(0o600)
    with workshop.writer():
        shown = console.run(
            "export", tmp_path / "bundle", "--ledger", workshop.folder.path,
            "--keys", keys, "--json",
        )  # fmt: skip
    assert shown.code == 0, shown.stderr
    assert shown.object["checkpoint_kept"] is False
    assert "another process" in shown.stderr


def test_the_command_needs_the_key_of_an_evaluator(console: Console) -> None:
    (console.ledger / "keys" / "evaluator.key").unlink()
    shown = console.here("export", console.home / "bundle", "--json")
    assert shown.code == 2
    assert shown.object["error"]["code"] == "key-missing"
    assert not (console.home / "bundle").exists()


def test_the_command_refuses_to_sign_as_somebody_else(console: Console) -> None:
    shown = console.here("export", console.home / "b", "--as", "forecaster", "--json")
    assert shown.code == 2
    assert shown.object["error"]["code"] == "wrong-role"


def test_of_two_evaluators_the_command_asks_which(tmp_path: Path) -> None:
    console = Console(tmp_path).found("evaluator:ada", "evaluator:eve")
    shown = console.here("export", tmp_path / "bundle")
    assert shown.code == 2
    assert "ada and eve could sign" in shown.stderr
    assert console.here("export", tmp_path / "bundle", "--as", "eve").code == 0


def test_what_was_exported_verifies_and_what_was_changed_does_not(
    console: Console,
) -> None:
    bundle = console.home / "bundle"
    assert console.here("export", bundle).code == 0
    assert console.here("verify", bundle).code == 0
    rows = (bundle / "rows.jsonl").read_text()
    (bundle / "rows.jsonl").write_text(rows.replace('"shared"', '"separate"', 1))
    shown = console.here("verify", bundle, "--json")
    assert shown.code == 1
    [check] = [each for each in shown.object["checks"] if each["name"] == "bundles"]
    assert 'custody is "separate", and the log gives "shared"' in check["detail"]
    (bundle / "rows.jsonl").write_text(rows)
    (bundle / "rows.csv").unlink()
    assert console.here("verify", bundle).code == 3
