"""Every change to a published bundle is found, and named by row, field and value."""

import csv
from collections.abc import Callable
from os import mkfifo, truncate
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from ledger.canonical import encode
from ledger.checkpoint import Checkpoint, sign_checkpoint
from ledger.errors import UsageError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.projections.audit_bundle import verify_bundle
from ledger.projections.audit_report import Check
from tests.forger import Forger, copied
from tests.publisher import Copy, audited, publish
from tests.workshop import ORIGIN, Workshop, key_of, renamed

ROW = "the row of native in workshop@v1, slot initial"
EVALUATOR = key_of("evaluator")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A ledger of twelve entries, of which a bundle was published."""
    return Workshop(tmp_path_factory.mktemp("workshop")).found().tell()


@pytest.fixture(scope="module")
def bundle(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("published") / "bundle"
    publish(workshop, target)
    return target


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Copy:
    return Copy(bundle, tmp_path / "copy")


def native(rows: list[Any]) -> Any:
    """Return the row over everything of the one who forecasts."""
    return next(
        row
        for row in rows
        if row["forecaster"] == "native" and row["horizon"] is row["slice"] is None
    )


def improve(copy: Copy) -> None:
    """Make the forecaster's score better than it was."""
    rows = copy.rows()
    native(rows)["scores"]["brier"]["value"] = "0.065000000000"
    copy.write_rows(rows)


IMPROVED = (
    f'{ROW}: scores.brier.value is "0.065000000000", and the log gives "0.365000000000"'
)


def test_an_untouched_copy_holds(workshop: Workshop, copy: Copy) -> None:
    check = audited(workshop, copy.path)
    assert check.ok is True, check.detail
    assert check.covered == len(copy.rows())
    assert "size 12" in check.detail


def test_it_holds_when_the_log_has_grown(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found().tell()
    publish(workshop, tmp_path / "bundle")
    workshop.fill(2, first=10)
    assert audited(workshop, tmp_path / "bundle").ok is True


def test_it_holds_after_its_evaluator_left(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found().tell()
    publish(workshop, tmp_path / "bundle")
    append_charter(workshop, principals=without(workshop, "evaluator"))
    assert audited(workshop, tmp_path / "bundle").ok is True


# --- A number -------------------------------------------------------------------------


def test_a_changed_number_is_named_with_both_values(
    workshop: Workshop, copy: Copy
) -> None:
    improve(copy)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert IMPROVED in check.detail
    assert "rows.jsonl has the SHA-256" in check.detail


def test_a_changed_number_has_no_signature_though_the_hashes_were_fixed(
    workshop: Workshop, copy: Copy
) -> None:
    improve(copy)
    copy.fix_hashes()
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "manifest.sig: it signs another manifest" in check.detail
    assert IMPROVED not in check.detail


def test_a_changed_number_is_nobodys_though_a_forecaster_signed_it(
    workshop: Workshop, copy: Copy
) -> None:
    improve(copy)
    copy.fix_hashes()
    copy.sign(key_of("forecaster"))
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert IMPROVED not in check.detail
    assert "signed by forecaster: forecaster is a forecaster" in check.detail


def test_a_changed_number_is_named_though_the_evaluator_signed_it(
    workshop: Workshop, copy: Copy
) -> None:
    improve(copy)
    copy.fix_hashes()
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert IMPROVED in check.detail
    assert "manifest.sig" not in check.detail


FIELDS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a count": (
        lambda row: row["counts"].update(scored=3),
        "counts.scored is 3, and the log gives 2",
    ),
    "a field that is gone": (
        lambda row: row["counts"].pop("missing"),
        "counts.missing is absent, and the log gives 0",
    ),
    "a field that never was": (
        lambda row: row["scores"].update(luck={"value": "1"}),
        'scores.luck.value is "1", and the log gives absent',
    ),
    "a number instead of text": (
        lambda row: row["coverage"].update(value=1.0),
        'coverage.value is 1.0, and the log gives "1.000000000000"',
    ),
    "a reason instead of a value": (
        lambda row: row["scores"]["brier"].update(value=None),
        "scores.brier.value is null",
    ),
    "the custody": (
        lambda row: row.update(custody="separate"),
        'custody is "separate", and the log gives "shared"',
    ),
}


@pytest.mark.parametrize(("change", "said"), FIELDS.values(), ids=FIELDS)
def test_a_changed_field_is_named(
    workshop: Workshop, copy: Copy, change: Callable[[Any], object], said: str
) -> None:
    rows = copy.rows()
    change(native(rows))
    copy.write_rows(rows)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"{ROW}: {said}" in check.detail


def test_another_spelling_of_the_same_row_is_named(
    workshop: Workshop, copy: Copy
) -> None:
    path = copy.path / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"counts":', b'"counts": ', 1))
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"{ROW} is not spelled as canonical JSON" in check.detail


# --- Whole rows -----------------------------------------------------------------------


def test_a_row_that_was_taken_out_is_named(workshop: Workshop, copy: Copy) -> None:
    rows = copy.rows()
    rows.remove(native(rows))
    copy.write_rows(rows)
    copy.fix_hashes()
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"{ROW} is missing" in check.detail


def test_a_row_that_was_put_in_is_named(workshop: Workshop, copy: Copy) -> None:
    rows = copy.rows()
    copy.write_rows([*rows, {**native(rows), "forecaster": "oracle"}])
    copy.fix_hashes()
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "the row of oracle in workshop@v1, slot initial is published" in check.detail


def test_a_row_that_stands_twice_is_named(workshop: Workshop, copy: Copy) -> None:
    rows = copy.rows()
    copy.write_rows([*rows, native(rows)])
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"{ROW} is published twice" in check.detail


def test_rows_in_another_order_are_named(workshop: Workshop, copy: Copy) -> None:
    copy.write_rows(copy.rows()[::-1])
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "another order" in check.detail


NO_ROWS = {
    "no JSON": (b"{nonsense\n", "line 1 is no JSON object"),
    "a list": (b"[]\n", "line 1 is no JSON object"),
    "no text": (b"\xff\xfe\n", "line 1 is no JSON object"),
    "nothing": (b"", "is missing"),
    "endless nesting": (b"[" * 100_000 + b"\n", "line 1 is no JSON object"),
    "no end of line": (b"{}", "its last line has no end"),
}


@pytest.mark.parametrize(("content", "said"), NO_ROWS.values(), ids=NO_ROWS)
def test_what_is_no_row_is_named(
    workshop: Workshop, copy: Copy, content: bytes, said: str
) -> None:
    (copy.path / "rows.jsonl").write_bytes(content)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert said in check.detail


# --- The other forms ------------------------------------------------------------------


def resigned(copy: Copy) -> None:
    """Let the evaluator vouch for the files as they are now."""
    copy.fix_hashes()
    copy.sign(EVALUATOR)


def test_a_changed_cell_of_the_csv_is_named(workshop: Workshop, copy: Copy) -> None:
    path = copy.path / "rows.csv"
    heads, first, *others = csv.reader(path.read_text().splitlines())
    first[heads.index("scores.brier.value")] = "0.065000000000"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, first, *others])
    resigned(copy)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert (
        f"rows.csv: {ROW}: scores.brier.value is '0.065000000000', and the log gives "
        "'0.365000000000'"
    ) in check.detail


CSV = {
    "a row less": (lambda text: text[: text[:-1].rindex(b"\n") + 1], "rows, and the"),
    "other columns": (lambda text: b"x" + text, "other columns"),
    "a cell more": (lambda text: text[:-1] + b",1\n", "None is '1'"),
    "no text": (lambda text: text + b"\xff", "cannot be read as CSV"),
    "nothing": (lambda _: b"", "other columns"),
    "other line ends": (lambda text: text.replace(b"\n", b"\r\n"), "spelled otherwise"),
}


@pytest.mark.parametrize(("change", "said"), CSV.values(), ids=CSV)
def test_another_csv_is_named(
    workshop: Workshop, copy: Copy, change: Callable[[bytes], bytes], said: str
) -> None:
    path = copy.path / "rows.csv"
    path.write_bytes(change(path.read_bytes()))
    resigned(copy)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "rows.csv" in check.detail
    assert said in check.detail


def rewrite(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(pl.read_parquet(path)).write_parquet(path)


def test_a_changed_cell_of_the_rows_in_parquet_is_named(
    workshop: Workshop, copy: Copy
) -> None:
    rewrite(
        copy.path / "rows.parquet",
        lambda frame: frame.with_columns(
            pl.col("counts.scored").replace(2, 3).cast(pl.Int64)
        ),
    )
    resigned(copy)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "rows.parquet: suite workshop@v1, forecaster native" in check.detail
    assert "counts.scored is 3, and the log gives 2" in check.detail


def test_a_changed_vector_is_named_by_its_entry(workshop: Workshop, copy: Copy) -> None:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame.to_dicts()
        rows[0]["probabilities"][0]["ppm"] = 100_000
        return pl.DataFrame(rows, schema=frame.schema)

    rewrite(copy.path / "forecasts.parquet", change)
    resigned(copy)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "forecasts.parquet: seq 4: probabilities is" in check.detail
    assert "100000" in check.detail
    assert "800000" in check.detail


FRAMES: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a vector less": (lambda frame: frame.head(-1), "has 3 rows, and the log gives 4"),
    "a column less": (lambda frame: frame.drop("kind"), "column kind is missing"),
    "a column more": (
        lambda frame: frame.with_columns(luck=pl.lit(1)),
        "has a column that should not be there: luck",
    ),
    "a column of floats": (
        lambda frame: frame.with_columns(pl.col("picobits").cast(pl.Float64)),
        "column picobits is Float64, and should be Int64",
    ),
    "another order": (
        lambda frame: frame.select(frame.columns[::-1]),
        "has its columns in another order",
    ),
}


@pytest.mark.parametrize(("change", "said"), FRAMES.values(), ids=FRAMES)
def test_another_table_of_vectors_is_named(
    workshop: Workshop,
    copy: Copy,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    said: str,
) -> None:
    rewrite(copy.path / "forecasts.parquet", change)
    resigned(copy)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"forecasts.parquet {said}" in check.detail


def test_the_same_table_by_another_writer_is_the_same_table(
    workshop: Workshop, copy: Copy
) -> None:
    path = copy.path / "forecasts.parquet"
    before = path.read_bytes()
    pl.read_parquet(path).write_parquet(path, compression="uncompressed")
    assert path.read_bytes() != before
    resigned(copy)
    assert audited(workshop, copy.path).ok is True


def test_a_damaged_parquet_file_that_nobody_vouched_for_is_not_opened(
    workshop: Workshop, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy.path / "forecasts.parquet"
    path.write_bytes(path.read_bytes()[::-1])
    copy.fix_hashes()
    copy.sign(key_of("mallory"))
    monkeypatch.setattr(pl, "read_parquet", None)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "mallory" in check.detail


# --- The manifest and who signed it ---------------------------------------------------


MANIFESTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "another suite hash": (
        lambda stated: stated["suites"].update({"workshop@v1": "ab" * 32}),
        f"the hash of workshop@v1 is {'ab' * 32}, not",
    ),
    "a suite that was never frozen": (
        lambda stated: stated["suites"].update({"other@v1": "ab" * 32}),
        f"the hash of other@v1 is {'ab' * 32}, not None",
    ),
    "another row hash": (
        lambda stated: stated["rows"]["sha256"].__setitem__(0, "ab" * 32),
        f"the hash of row 0 is {'ab' * 32}",
    ),
    "another count": (
        lambda stated: stated["rows"].update(count=1),
        "it counts 1 rows",
    ),
    "another origin": (
        lambda stated: stated.update(origin="example.org/other"),
        "names the origin 'example.org/other'",
    ),
    "another instant": (
        lambda stated: stated.update(received_at="2026-11-02T09:00:00.000000Z"),
        "entry 11 was received at",
    ),
    "another size": (
        lambda stated: stated.update(size=11),
        "its checkpoint has 12 entries",
    ),
    "fewer files": (
        lambda stated: stated["files"].pop("rows.csv"),
        "manifest.json lists no rows.csv",
    ),
    "a file outside": (
        lambda stated: stated["files"].update({"../../secret": "ab" * 32}),
        "lists '../../secret', which no bundle has",
    ),
    "another ledger": (
        lambda stated: stated.update(ledger="ab" * 32),
        f"the bundle is of ledger {'ab' * 32}, and this one is",
    ),
}


@pytest.mark.parametrize(("change", "said"), MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_the_evaluator_signed_is_not_believed(
    workshop: Workshop, copy: Copy, change: Callable[[Any], None], said: str
) -> None:
    copy.state(change)
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert said in check.detail
    assert "manifest.sig" not in check.detail


def test_a_manifest_of_another_ledger_is_named(
    workshop: Workshop, tmp_path: Path
) -> None:
    other = Workshop(tmp_path / "other")
    other.wait(days=1)
    other.found().tell()
    publish(other, tmp_path / "bundle")
    check = audited(workshop, tmp_path / "bundle")
    assert check.ok is False
    assert str(other.ledger) in check.detail
    assert str(workshop.ledger) in check.detail


SIGNERS: dict[str, tuple[list[str], str]] = {
    "nobody": ([], "it has no signature"),
    "a forecaster": (["forecaster"], "forecaster is a forecaster"),
    "the log's own key": ([ORIGIN], "no charter of this ledger lists this key"),
    "a stranger": (["mallory"], "signed by mallory: no charter"),
}


@pytest.mark.parametrize(("names", "said"), SIGNERS.values(), ids=SIGNERS)
def test_a_true_bundle_is_false_when_signed_by(
    workshop: Workshop, copy: Copy, names: list[str], said: str
) -> None:
    copy.sign(*map(key_of, names))
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert said in check.detail


def test_others_may_sign_beside_the_evaluator(workshop: Workshop, copy: Copy) -> None:
    copy.sign(key_of("mallory"), EVALUATOR, key_of("resolver"))
    assert audited(workshop, copy.path).ok is True


def test_a_wrong_signature_of_the_evaluator_is_named(
    workshop: Workshop, copy: Copy
) -> None:
    copy.sign(EVALUATOR, over=b"another manifest")
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "the signature of evaluator is wrong" in check.detail


ENVELOPES = {
    "no JSON": (lambda text: b"{", "it is no DSSE envelope"),
    "another type": (
        lambda text: text.replace(b".bundle.v1", b".event.v1"),
        "its payloadType is",
    ),
    "another manifest": (
        lambda text: text.replace(b'"payload":"eyJj', b'"payload":"eyJk'),
        "it signs another manifest",
    ),
    "no base64": (
        lambda text: text.replace(b'"payload":"eyJj', b'"payload":"*yJj'),
        "its payload is unfit",
    ),
    "no key": (
        lambda text: text.replace(b'"keyid":"evaluator', b'"keyid":"'),
        "which is no verifier key",
    ),
}


@pytest.mark.parametrize(("change", "said"), ENVELOPES.values(), ids=ENVELOPES)
def test_another_envelope_is_named(
    workshop: Workshop, copy: Copy, change: Callable[[bytes], bytes], said: str
) -> None:
    path = copy.path / "manifest.sig"
    path.write_bytes(change(path.read_bytes()))
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "manifest.sig: " in check.detail
    assert said in check.detail


def append_charter(workshop: Workshop, **changes: Any) -> None:
    workshop.append(
        SuiteFrozen(
            author="root",
            created_at=workshop.clock(),
            ledger=workshop.ledger,
            suite="charter@v2",
            supersedes="charter@v1",
            manifest=msgspec.structs.replace(workshop.charter(), **changes),
        )
    )


def without(workshop: Workshop, name: str) -> Any:
    return tuple(p for p in workshop.charter().principals if p.name != name)


@pytest.mark.parametrize(
    ("since", "ok"), [(11, False), (12, False), (13, True)], ids=str
)
def test_a_key_that_was_lost_vouches_for_what_was_before(
    tmp_path: Path, since: int, *, ok: bool
) -> None:
    workshop = Workshop(tmp_path).found().tell()
    publish(workshop, tmp_path / "bundle")
    workshop.fill(1, first=10)
    append_charter(workshop, compromised_since={"evaluator": since})
    check = audited(workshop, tmp_path / "bundle")
    assert check.ok is ok
    assert ok or f"compromised from entry {since} on" in check.detail


def test_an_evaluator_who_left_cannot_sign_for_what_came_after(
    tmp_path: Path,
) -> None:
    workshop = Workshop(tmp_path).found().tell()
    charter = workshop.charter()
    second = msgspec.structs.replace(
        next(each for each in charter.principals if each.name == "evaluator"),
        name="evaluator-2",
        key=str(key_of("evaluator-2").verifier),
    )
    principals = (*without(workshop, "evaluator"), second)
    append_charter(workshop, principals=principals)
    publish(workshop, tmp_path / "bundle", signers=[key_of("evaluator-2")])
    copy = Copy(tmp_path / "bundle", tmp_path / "copy")
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "does not give evaluator this key" in check.detail


def test_a_checkpoint_by_another_key_is_named(workshop: Workshop, copy: Copy) -> None:
    note = sign_checkpoint(
        Checkpoint(origin=ORIGIN, size=12, root=bytes(32)), key_of("mallory")
    )
    copy.state(lambda stated: stated.update(checkpoint=note))
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"no key of '{ORIGIN}' signed the checkpoint" in check.detail


def test_a_checkpoint_of_another_history_is_named(
    workshop: Workshop, copy: Copy
) -> None:
    note = sign_checkpoint(
        Checkpoint(origin=ORIGIN, size=12, root=bytes(32)), workshop.log_key
    )
    copy.state(lambda stated: stated.update(checkpoint=note))
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "the first 12 entries are not those" in check.detail


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"format":1}', b"\xff", b"[" * 99_999]
)
def test_what_is_no_manifest_is_named(
    workshop: Workshop, copy: Copy, content: bytes
) -> None:
    (copy.path / "manifest.json").write_bytes(content)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "manifest.json is no manifest" in check.detail


def test_a_manifest_has_one_spelling(workshop: Workshop, copy: Copy) -> None:
    content = (copy.path / "manifest.json").read_bytes()
    (copy.path / "manifest.json").write_bytes(content + b"\n")
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "is not spelled as canonical JSON" in check.detail


# --- What cannot be checked -----------------------------------------------------------


def follow_newer_metrics(copy: Copy) -> None:
    copy.state(lambda stated: stated.update(scorer="metrics/2"))
    copy.sign(EVALUATOR)


def ask_for_a_newer_slot(copy: Copy) -> None:
    copy.state(lambda stated: stated["query"].update(slots=["best"]))
    copy.sign(EVALUATOR)


def ask_for_much(copy: Copy, name: str, count: int) -> None:
    asked = [f"at_lead:{hours}" for hours in range(1, count + 1)]
    copy.state(lambda stated: stated["query"].update({name: asked}))
    copy.sign(EVALUATOR)


LACKING: dict[str, tuple[Callable[[Copy], object], str]] = {
    "no manifest": (
        lambda copy: (copy.path / "manifest.json").unlink(),
        "manifest.json cannot be read",
    ),
    "no signature": (
        lambda copy: (copy.path / "manifest.sig").unlink(),
        "manifest.sig is missing",
    ),
    "no rows": (lambda copy: (copy.path / "rows.jsonl").unlink(), "rows.jsonl is"),
    "no table": (lambda copy: (copy.path / "rows.parquet").unlink(), "rows.parquet is"),
    "a newer format": (
        lambda copy: copy.state(lambda stated: stated.update(format="bundle/2")),
        "'bundle/2'",
    ),
    "newer metrics": (follow_newer_metrics, "metrics/2"),
    "a slot of the future": (
        ask_for_a_newer_slot,
        "its rows cannot be recomputed: there is no slot 'best'",
    ),
    "a slot too many": (
        lambda copy: ask_for_much(copy, "slots", 65),
        "its query has 65 slots, and a bundle has at most 64",
    ),
    "a grouping too many": (
        lambda copy: ask_for_much(copy, "by", 65),
        "its query has 65 by, and a bundle has at most 64",
    ),
}


@pytest.mark.parametrize(("change", "said"), LACKING.values(), ids=LACKING)
def test_a_bundle_cannot_be_checked_that_has(
    workshop: Workshop, copy: Copy, change: Callable[[Copy], object], said: str
) -> None:
    change(copy)
    check = audited(workshop, copy.path)
    assert check.verdict == "uncheckable"
    assert said in check.detail


NAMES = ("manifest.json", "manifest.sig", "rows.jsonl", "forecasts.parquet")


def be_a_pipe(path: Path) -> None:
    path.unlink()
    mkfifo(path)


def be_endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def lead_elsewhere(path: Path) -> None:
    path.symlink_to(path.rename(path.parents[1] / path.name))


def be_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("become", [be_a_pipe, be_endless, lead_elsewhere, be_a_folder])
def test_what_is_no_regular_file_is_not_read(
    workshop: Workshop, copy: Copy, name: str, become: Callable[[Path], None]
) -> None:
    become(copy.path / name)
    check = audited(workshop, copy.path)
    assert check.verdict == "uncheckable"
    assert f"{name} cannot be read: it is no regular file" in check.detail


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sig", "rows.parquet"])
def test_a_file_with_nothing_but_room_is_not_read(
    workshop: Workshop, copy: Copy, name: str
) -> None:
    truncate(copy.path / name, 40 * 2**30)
    check = audited(workshop, copy.path)
    assert check.verdict == "uncheckable"
    assert f"{name} cannot be read: it has {40 * 2**30} bytes" in check.detail


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_rows_far_longer_than_those_of_the_log_are_not_read(
    workshop: Workshop, copy: Copy, name: str
) -> None:
    truncate(copy.path / name, 64 * 2**20)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"{name} is far longer than" in check.detail


def test_a_statement_has_sixteen_mebibytes(workshop: Workshop, copy: Copy) -> None:
    path = copy.path / "manifest.json"
    truncate(path, 16 * 2**20)
    assert "manifest.json is no manifest" in audited(workshop, copy.path).detail
    truncate(path, 16 * 2**20 + 1)
    assert "at most 16777216 are read" in audited(workshop, copy.path).detail


def test_nothing_is_computed_for_a_bundle_that_no_evaluator_signed(
    workshop: Workshop, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.projections.audit_bundle.compute", None)
    copy.sign(key_of("mallory"))
    assert audited(workshop, copy.path).ok is False
    (copy.path / "manifest.sig").unlink()
    check = audited(workshop, copy.path)
    assert check.verdict == "uncheckable"
    assert "its rows were not recomputed: nobody signed them" in check.detail


@pytest.mark.parametrize(("count", "ok"), [(64, True), (65, False)])
def test_a_bundle_is_not_written_that_nobody_would_recompute(
    workshop: Workshop, tmp_path: Path, count: int, *, ok: bool
) -> None:
    slots = [f"at_lead:{hours}" for hours in range(1, count + 1)]
    if not ok:
        with pytest.raises(UsageError, match="at most 64 slots, not 65"):
            publish(workshop, tmp_path / "bundle", slots=slots)
        return
    publish(workshop, tmp_path / "bundle", slots=slots)
    assert audited(workshop, tmp_path / "bundle").ok is True


def test_what_is_false_counts_more_than_what_is_missing(
    workshop: Workshop, copy: Copy
) -> None:
    (copy.path / "manifest.sig").unlink()
    improve(copy)
    assert audited(workshop, copy.path).ok is False


def test_a_shorter_log_cannot_tell(
    workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    forger = Forger(workshop, tmp_path)
    forger.shorten(11, workshop.receipts[10].checkpoint)
    report = verify_bundle(bundle, forger.folder)
    assert report.exit_code == 3
    assert "12 entries, and the log has 11" in report.check("bundles").detail


def test_rows_are_not_computed_from_a_log_that_breaks_its_rules(
    workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    forger = Forger(workshop, tmp_path)
    event = workshop.signed(workshop.sealed("ab" * 32, 50), key_of("mallory"))
    forger.replace(4, event)
    report = verify_bundle(bundle, forger.folder)
    assert report.exit_code == 1
    assert report.check("rules").ok is False
    check = report.check("bundles")
    assert check.ok is False
    assert (
        "the first 12 entries are not those that its checkpoint signed" in check.detail
    )


def test_a_log_that_cannot_be_read_checks_no_bundle(
    workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    forger = Forger(workshop, tmp_path)
    forger.change(0, "payload", b'nonsense with "type":"SuiteFrozen"')
    report = verify_bundle(bundle, forger.folder)
    assert report.exit_code == 1
    assert report.check("bundles").verdict == "uncheckable"


@pytest.mark.parametrize("page", [1, 3, 5])
def test_a_damaged_database_is_no_traceback(
    workshop: Workshop, bundle: Path, tmp_path: Path, page: int
) -> None:
    forger = Forger(workshop, tmp_path)
    content = bytearray(forger.folder.log.read_bytes())
    content[page * 4096 : page * 4096 + 2048] = bytes(2048)
    forger.folder.log.write_bytes(content)
    assert verify_bundle(bundle, forger.folder).exit_code == 1


def test_a_bundle_by_another_version_of_the_program_is_recomputed(
    workshop: Workshop, copy: Copy
) -> None:
    here, other = copy.manifest()["program"], "sealed-ledger/0.0.9"
    frames = copy.path / "rows.parquet"
    for name in ("rows.jsonl", "rows.csv"):
        path = copy.path / name
        path.write_text(path.read_text().replace(here, other))
    rewrite(
        frames,
        lambda frame: frame.with_columns(
            pl.col("scorer").str.replace(here, other, literal=True)
        ),
    )
    copy.state(lambda stated: stated.update(program=other))
    resigned(copy)
    check = audited(workshop, copy.path)
    assert check.ok is True, check.detail


# --- In the report --------------------------------------------------------------------


def in_report(workshop: Workshop, bundle: Path, tmp_path: Path) -> tuple[int, Check]:
    report = verify_bundle(bundle, copied(workshop.folder, tmp_path / "ledger"))
    return report.exit_code, report.check("bundles")


def test_the_report_has_the_log_and_the_bundle(
    workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    code, check = in_report(workshop, bundle, tmp_path)
    assert code == 0
    assert check.covered > 0


def test_a_false_bundle_is_a_false_report(
    workshop: Workshop, copy: Copy, tmp_path: Path
) -> None:
    improve(copy)
    code, check = in_report(workshop, copy.path, tmp_path)
    assert code == 1
    assert IMPROVED in check.detail


def test_files_that_nobody_vouched_for_are_told(workshop: Workshop, copy: Copy) -> None:
    (copy.path / "corrected.csv").write_text("better,numbers\n")
    check = audited(workshop, copy.path)
    assert check.ok is True
    assert "not part of it: corrected.csv" in check.detail


def test_a_pinned_file_that_was_changed_is_named(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path).found()
    digest = workshop.folder.blobs.keep(b"the acceptance tests")
    own = renamed(workshop.manifest, "pinned@v1")
    manifest = msgspec.structs.replace(own, pins={"acceptance.py": digest})
    workshop.append(workshop.frozen(manifest))
    publish(workshop, tmp_path / "bundle")
    copy = Copy(tmp_path / "bundle", tmp_path / "copy")
    (copy.path / "blobs" / digest).write_bytes(b"an easier bar")
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert f"blobs/{digest} has the SHA-256" in check.detail


def test_a_file_is_not_a_pinned_one_under_another_hash(
    workshop: Workshop, copy: Copy
) -> None:
    (copy.path / "blobs").mkdir()
    (copy.path / "blobs" / ("ab" * 32)).write_bytes(b"an easier bar")
    copy.state(lambda stated: stated["files"].update({f"blobs/{'ab' * 32}": "cd" * 32}))
    copy.sign(EVALUATOR)
    check = audited(workshop, copy.path)
    assert check.ok is False
    assert "which no bundle has" in check.detail


def test_a_copy_of_the_manifest_is_what_was_signed(copy: Copy) -> None:
    content = (copy.path / "manifest.json").read_bytes()
    assert encode(copy.manifest()) == content


def test_a_bundle_without_its_log_says_how_to_name_it(
    bundle: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="--ledger DIR or LEDGER_DIR"):
        verify_bundle(bundle, Folder(tmp_path))
