"""Rows as they were: at an earlier size of the log, and at a look that is long past."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copytree

import msgspec
import pytest

from ledger import codec
from ledger.checkpoint import open_checkpoint
from ledger.checkpoint_past import past_checkpoint
from ledger.daemon.protocol import RowsOf
from ledger.daemon.reading import rows
from ledger.errors import CorruptLogError, UncheckableError
from ledger.events import LedgerEvent
from ledger.keys.keyfile import write_key
from ledger.keys.signing import SignerKey
from ledger.projections.export import Past, read_charters
from ledger.store import Head, Store
from ledger.store_opening import open_store
from tests.console import Console, Shown
from tests.publisher import Copy, audited, publish
from tests.workshop import ORIGIN, SUITE, Workshop, key_of, renamed, suite_manifest

LOOKS = (1, 2)
# At which size of the log each look fell due, and how long the log is in the end.
DUE = {1: 8, 2: 9}
SIZE = 12
Files = dict[str, bytes]


class Kept(Workshop):
    """A workshop that keeps a copy of its folder after each entry."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        manifest = self.manifest
        statistics = msgspec.structs.replace(manifest.statistics, looks=LOOKS)
        self.manifest = msgspec.structs.replace(manifest, statistics=statistics)
        self.suite_hash = codec.suite_hash(self.manifest)
        self.copies = home / "copies"

    def append(self, *events: LedgerEvent) -> str:
        made = super().append(*events)
        copytree(self.folder.path, self.copies / str(len(self.receipts)))
        return made


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Return a ledger of twelve entries, and what it was after each."""
    made = Kept(tmp_path_factory.mktemp("kept"))
    made.found()
    made.tell()
    for folder in (made.folder.path, *made.copies.iterdir()):
        write_key(folder / "log.key", made.log_key)
        write_key(folder / "keys" / "evaluator.key", made.keys["evaluator"])
    return made


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def asked(console: Console, folder: Path, *words: object) -> Shown:
    return console.run(*words, "--ledger", folder)


def files_of(folder: Path) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- The same as a ledger that has only these entries ----------------------------------

COMMANDS = {
    "rows": ("rows", "--json"),
    "rows for people": ("rows",),
    "rows by tag": ("rows", "--json", "--by", "tag:domain", "--slot", "final"),
    "rows explained": ("rows", "--explain", "brier"),
    "compared": ("compare", "native", "past-rate", "--json"),
    "a curve": ("curve", "native", "--json"),
    "rows in a file": ("export", "-", "--format", "rows"),
    "points": ("export", "-", "--format", "metrics"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("size", [2, DUE[1] - 1, DUE[1], DUE[2], SIZE - 1, SIZE])
def test_at_a_size_a_command_prints_what_it_printed_then(
    kept: Kept, console: Console, size: int, words: tuple[str, ...]
) -> None:
    then = asked(console, kept.copies / str(size), *words)
    now = asked(console, kept.folder.path, *words, "--at", size)
    assert (now.code, now.stdout, now.stderr) == (0, then.stdout, then.stderr)


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("look", DUE)
def test_at_a_look_a_command_prints_what_it_printed_when_that_fell_due(
    kept: Kept, console: Console, look: int, words: tuple[str, ...]
) -> None:
    then = asked(console, kept.copies / str(DUE[look]), *words)
    now = asked(console, kept.folder.path, *words, "--look", look)
    said = f"look {look} of workshop@v1 fell due at {DUE[look]} entries, of 12 now\n"
    assert (now.code, now.stdout, now.stderr) == (0, then.stdout, said + then.stderr)


@pytest.mark.parametrize(
    ("then", "size"),
    [(RowsOf(at=each), each) for each in (2, DUE[1], SIZE)]
    + [(RowsOf(suite=SUITE, look=each), DUE[each]) for each in DUE],
)
def test_the_daemon_s_rows_of_a_moment_are_those_that_a_command_printed_then(
    kept: Kept, console: Console, then: RowsOf, size: int
) -> None:
    printed = asked(console, kept.copies / str(size), "rows", "--json").stdout
    found = msgspec.json.encode(rows(kept.folder, then)).decode()
    assert json.loads(found) == json.loads(printed)


@pytest.mark.parametrize("words", [("--at", SIZE), ("--look", 2)])
def test_the_tables_on_disk_are_left_alone(
    kept: Kept, console: Console, tmp_path: Path, words: tuple[object, ...]
) -> None:
    folder = copytree(kept.folder.path, tmp_path / "copy")
    (folder / "projections.db").unlink(missing_ok=True)
    assert asked(console, folder, "rows", *words).code == 0
    assert not (folder / "projections.db").exists()


@pytest.mark.parametrize("look", DUE)
def test_at_a_look_the_rows_are_due_and_beside_it_they_are_not(
    kept: Kept, console: Console, look: int
) -> None:
    words = (kept.folder.path, "rows", "--json", "--forecaster", "native")
    there, *_ = asked(console, *words, "--look", look).object
    assert there["look"]["resolved"] == look
    assert "off_look" not in there["labels"]
    before, *_ = asked(console, *words, "--at", DUE[look] - 1).object
    assert before["look"]["resolved"] == look - 1
    assert ("off_look" in before["labels"]) == (look - 1 not in LOOKS)


def test_a_name_without_a_version_means_the_latest_of_that_size(
    console: Console, tmp_path: Path
) -> None:
    workshop = Workshop(tmp_path).found()
    second = renamed(workshop.manifest, "workshop@v2")
    frozen = msgspec.structs.replace(
        workshop.frozen(second), supersedes=workshop.manifest.suite
    )
    workshop.append(frozen)
    for size, suite in ((2, "workshop@v1"), (3, "workshop@v2")):
        words = ("rows", "--suite", "workshop", "--json", "--at", size)
        shown = asked(console, workshop.folder.path, *words)
        assert {row["suite"] for row in shown.object} == {suite}
    shown = asked(
        console, workshop.folder.path, "rows", "--suite", "workshop@v2", "--at", 2
    )
    assert shown.code == 2
    assert "'workshop@v2' was not frozen in the first 2 entries" in shown.stderr


# --- What there is not -----------------------------------------------------------------

REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "no entry": (("--at", 0), "the log has 12 entries: --at takes a size from 1 to 12"),
    "less than none": (("--at", -1), "--at takes a size from 1 to 12"),
    "one too many": (("--at", SIZE + 1), "--at takes a size from 1 to 12"),
    "both": (("--at", 5, "--look", 1), "--at and --look are two ways"),
    "no look": (("--look", 3), "declares no look at 3 resolved units: its looks are at 1, 2"),
}  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(("then", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_moment_that_never_was_is_refused(
    kept: Kept,
    console: Console,
    words: tuple[str, ...],
    then: tuple[object, ...],
    sentence: str,
) -> None:
    shown = asked(console, kept.folder.path, *words, *then)
    assert shown.code == 2
    assert sentence in shown.stdout + shown.stderr


def test_a_look_that_is_ahead_is_refused_with_how_far_it_is(
    kept: Kept, console: Console
) -> None:
    shown = asked(console, kept.copies / str(DUE[1]), "rows", "--look", 2)
    assert (shown.code, shown.stdout) == (2, "")
    assert "look 2 of workshop@v1 is not reached: 1 of its" in shown.stderr


def test_of_several_suites_the_one_whose_look_it_is_must_be_named(
    console: Console, tmp_path: Path
) -> None:
    workshop = Kept(tmp_path)
    workshop.found()
    workshop.append(workshop.frozen(suite_manifest("other")))
    workshop.tell()
    folder = workshop.folder.path
    shown = asked(console, folder, "rows", "--look", 1)
    assert shown.code == 2
    assert "here are workshop@v1 and other@v1: name one with --suite" in shown.stderr
    shown = asked(console, folder, "rows", "--look", 1, "--suite", "workshop", "--json")
    assert {row["suite"] for row in shown.object} == {SUITE}
    assert all(row["look"]["is_due"] for row in shown.object)


# --- Bundles of a moment that is past --------------------------------------------------


@pytest.fixture(scope="module")
def at_look(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> Path:
    console = Console(tmp_path_factory.mktemp("published"))
    target = console.home / "bundle"
    shown = asked(console, kept.folder.path, "export", target, "--look", 2)
    assert shown.code == 0, shown.stderr
    return target


@pytest.mark.parametrize("size", [1, 2, DUE[1], SIZE])
def test_a_bundle_of_a_size_is_byte_for_byte_the_one_of_then(
    kept: Kept, tmp_path: Path, size: int
) -> None:
    then = Workshop(tmp_path)
    then.folder = type(then.folder)(kept.copies / str(max(size, 2)))
    past = Past(size=size, log_key=lambda: kept.log_key)
    publish(kept, tmp_path / "now", past=past)
    assert audited(kept, tmp_path / "now").ok
    if size > 1:
        publish(then, tmp_path / "then")
        assert files_of(tmp_path / "now") == files_of(tmp_path / "then")


def test_a_bundle_at_a_look_names_the_checkpoint_of_then(
    kept: Kept, at_look: Path
) -> None:
    manifest = json.loads((at_look / "manifest.json").read_bytes())
    assert manifest["size"] == DUE[2]
    assert manifest["checkpoint"] == kept.receipts[DUE[2] - 1].checkpoint
    assert manifest["received_at"] == kept.receipts[DUE[2] - 1].received_at


def test_the_checkpoint_of_a_past_size_is_kept_in_the_log(
    kept: Kept, at_look: Path
) -> None:
    assert at_look.is_dir()
    with closing(open_store(kept.folder.log, read_only=True)) as store:
        assert (DUE[2], kept.receipts[DUE[2] - 1].checkpoint) in store.checkpoints()


def test_a_bundle_at_a_look_is_verified_and_a_changed_digit_in_it_is_found(
    kept: Kept, console: Console, at_look: Path, tmp_path: Path
) -> None:
    words = ("verify", at_look)
    assert asked(console, kept.folder.path, *words).code == 0
    forged = Copy(at_look, tmp_path / "forged")
    rows = forged.rows()
    rows[0]["counts"]["scored"] += 1
    forged.write_rows(rows)
    forged.fix_hashes()
    forged.sign(kept.keys["evaluator"])
    found = audited(kept, forged.path)
    assert found.ok is False
    assert "counts.scored" in found.detail


def test_a_bundle_at_another_size_than_its_rows_is_found(
    kept: Kept, at_look: Path, tmp_path: Path
) -> None:
    forged = Copy(at_look, tmp_path / "forged")

    def later(manifest: dict[str, object]) -> None:
        manifest["size"] = DUE[2] + 1
        manifest["checkpoint"] = kept.receipts[DUE[2]].checkpoint
        manifest["received_at"] = kept.receipts[DUE[2]].received_at

    forged.state(later)
    forged.sign(kept.keys["evaluator"])
    assert audited(kept, forged.path).ok is False


# --- Whose checkpoint it is ------------------------------------------------------------


def no_key() -> SignerKey:
    msg = "nobody may ask for the key"
    raise AssertionError(msg)


def checkpoint(
    workshop: Workshop, size: int, log_key: Callable[[], SignerKey] = no_key
) -> str:
    with closing(open_store(workshop.folder.log, read_only=True)) as store:
        return past_checkpoint(store, size, read_charters(store), log_key)


@pytest.mark.parametrize("size", [1, SIZE])
def test_a_checkpoint_that_was_kept_needs_no_key(kept: Kept, size: int) -> None:
    note = checkpoint(kept, size)
    assert note == kept.receipts[size - 1].checkpoint
    assert open_checkpoint(note, [kept.log_key.verifier], ORIGIN).size == size


@pytest.mark.parametrize("size", [2, 5, SIZE - 1])
def test_any_other_is_signed_by_the_logs_key_as_it_was_then(
    kept: Kept, size: int
) -> None:
    note = checkpoint(kept, size, lambda: kept.log_key)
    assert note == kept.receipts[size - 1].checkpoint


@pytest.mark.parametrize("size", [5, SIZE - 1])
def test_a_key_that_was_not_the_logs_signs_no_checkpoint(kept: Kept, size: int) -> None:
    with pytest.raises(UncheckableError, match="the log's key was another one"):
        checkpoint(kept, size, lambda: key_of("somebody"))


def test_a_rotated_key_signs_what_came_since_and_nothing_before(
    console: Console, tmp_path: Path
) -> None:
    console.found().frozen()
    assert console.here("keys", "rotate-log").code == 0
    assert console.frozen("another").here("status").code == 0
    before = console.here("export", tmp_path / "before", "--at", 2)
    assert before.code == 3
    assert "the log's key was another one then (example.org/test+" in before.stderr
    assert console.here("export", tmp_path / "since", "--at", 3).code == 0
    assert console.here("verify", tmp_path / "since").code == 0


def test_without_the_logs_key_the_refusal_names_what_was_kept(
    kept: Kept, console: Console, tmp_path: Path
) -> None:
    folder = copytree(kept.copies / str(SIZE), tmp_path / "copy")
    (folder / "log.key").unlink()
    target = tmp_path / "bundle"
    shown = asked(console, folder, "export", target, "--at", 5, "--json")
    error = shown.object["error"]
    assert shown.code == 3
    assert "no checkpoint of 5 entries was kept" in error["message"]
    assert "restore it from the backup" in error["message"]
    assert error["message"].endswith("a size whose checkpoint was kept: 1 or 12")
    assert not target.exists()
    assert asked(console, folder, "export", target, "--at", 1).code == 0


def test_no_beginning_of_entries_is_signed_that_the_head_is_not_about(
    kept: Kept,
) -> None:
    class Forged(Store):
        def __init__(self, store: Store) -> None:
            self._database = store._database

        def leaves(self, start: int, stop: int) -> list[bytes]:
            return [b"\0" * 32, *super().leaves(start, stop)[1:]]

    with closing(open_store(kept.folder.log, read_only=True)) as store:
        charters = read_charters(store)
        with pytest.raises(CorruptLogError, match="are not those that the head's"):
            past_checkpoint(Forged(store), 5, charters, lambda: kept.log_key)


def test_a_head_that_the_logs_key_did_not_sign_is_no_ground_for_another(
    kept: Kept,
) -> None:
    class Forged(Store):
        def __init__(self, store: Store) -> None:
            self._database = store._database

        def head(self) -> Head:
            found = super().head()
            note = found.note.replace(ORIGIN, "example.org/other")
            return msgspec.structs.replace(found, note=note)

    with closing(open_store(kept.folder.log, read_only=True)) as store:
        charters = read_charters(store)
        with pytest.raises(CorruptLogError, match=r"not of 'example\.org/workshop'"):
            past_checkpoint(Forged(store), 5, charters, lambda: kept.log_key)
