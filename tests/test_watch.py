"""Pinned files on disk: while one is another than its suite pinned, forecasts stop."""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger import codec
from ledger.daemon.watch import PinWatch
from ledger.errors import RefusedError
from ledger.state import FrozenSuite, State
from ledger.suite import SuiteManifest
from ledger.suite_check import freeze_manifest
from ledger.suite_template import new_suite
from ledger.writer import Submission
from tests.console import Console
from tests.served import HURRIED, Served, served_as, until, wire
from tests.workshop import SUITE, renamed, suite_manifest

SOUND = b"exit 0\n"
DIGEST = sha256(SOUND).hexdigest()


def pinning(*names: str) -> SuiteManifest:
    pins = dict.fromkeys(names, DIGEST)
    return msgspec.structs.replace(suite_manifest(), pins=pins)


def frozen(manifest: SuiteManifest) -> dict[str, FrozenSuite]:
    state = State(units=None, blobs=lambda _: None)
    return {manifest.suite: state.frozen_suite(manifest)}


def payload(kind: str, suite: str = SUITE, **more: str) -> bytes:
    return json.dumps({"type": kind, "suite": suite, **more}).encode()


def looked(folder: Path, manifest: SuiteManifest) -> PinWatch:
    found = PinWatch([folder])
    found.look(frozen(manifest))
    return found


# --- What has changed -----------------------------------------------------------------


def test_a_file_as_it_was_pinned_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(SOUND)
    watch = looked(tmp_path, pinning("run.sh"))
    assert (watch.changed, watch.files) == ((), 1)
    assert watch.refusal(payload("ForecastSealed")) is None


def make_other(path: Path) -> None:
    path.write_bytes(b"exit 1\n")


def make_sound(path: Path) -> None:
    path.write_bytes(SOUND)


def make_longer(path: Path) -> None:
    path.write_bytes(SOUND + b"\n")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    make_other(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


CHANGED = {
    "other bytes": (make_other, sha256(b"exit 1\n").hexdigest()),
    "a line more": (make_longer, sha256(SOUND + b"\n").hexdigest()),
    "a link to others": (make_link, sha256(b"exit 1\n").hexdigest()),
    "a folder": (Path.mkdir, "no regular file"),
    "a pipe": (make_pipe, "no regular file"),
}


@pytest.mark.parametrize(("make", "found"), CHANGED.values(), ids=CHANGED)
def test_a_changed_file_is_named_with_both_hashes(
    tmp_path: Path, make: Any, found: str
) -> None:
    path = tmp_path / "run.sh"
    make(path)
    [changed] = looked(tmp_path, pinning("run.sh")).changed
    assert msgspec.to_builtins(changed) == {
        "suite": SUITE, "file": str(path), "pinned": DIGEST, "found": found,
    }  # fmt: skip
    for word in (SUITE, str(path), DIGEST, found, "put the pinned file back"):
        assert word in changed.sentence()


def test_a_file_that_was_never_there_stops_nothing_and_is_named(tmp_path: Path) -> None:
    watch = looked(tmp_path, pinning("run.sh", "b"))
    assert (watch.changed, watch.files) == ((), 0)
    assert watch.absent == ["run.sh", "b"]
    (tmp_path / "run.sh").write_bytes(SOUND)
    watch.look(frozen(pinning("run.sh")))
    assert watch.absent == []
    assert looked_nowhere(pinning("run.sh")).absent == []


def looked_nowhere(manifest: SuiteManifest) -> PinWatch:
    found = PinWatch([])
    found.look(frozen(manifest))
    return found


@pytest.mark.parametrize("make", [make_sound, make_other])
def test_a_file_that_was_there_and_is_gone_stops_forecasts_until_it_is_back(
    tmp_path: Path, make: Any
) -> None:
    path, suites = tmp_path / "run.sh", frozen(pinning("run.sh"))
    make(path)
    watch = looked(tmp_path, pinning("run.sh"))
    for _ in range(2):
        path.unlink(missing_ok=True)
        watch.look(suites)
        [changed] = watch.changed
        assert (changed.file, changed.found) == (str(path), "gone")
        assert watch.absent == ["run.sh"]
        assert watch.refusal(payload("ForecastSealed")) is not None
    make_sound(path)
    watch.look(suites)
    assert (watch.changed, watch.absent) == ((), [])


def test_a_stray_copy_may_go_while_the_pinned_file_lies_elsewhere(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for each in folders:
        each.mkdir()
    make_sound(folders[0] / "run.sh")
    make_other(folders[1] / "run.sh")
    watch, suites = PinWatch(folders), frozen(pinning("run.sh"))
    watch.look(suites)
    assert watch.changed
    (folders[1] / "run.sh").unlink()
    watch.look(suites)
    assert (watch.changed, watch.absent) == ((), [])
    (folders[0] / "run.sh").unlink()
    watch.look(suites)
    assert [each.found for each in watch.changed] == ["gone"]


@pytest.mark.parametrize("name", ["acceptance/run.sh", "a/b/c"])
def test_a_pin_s_name_may_have_folders(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    make_other(path)
    watch = looked(tmp_path, pinning(name))
    assert len(watch.changed) == 1
    assert path.parent in watch.places(frozen(pinning(name)))


def test_a_pin_s_name_leads_out_of_no_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    make_other(tmp_path / "run.sh")
    assert looked(inner, pinning("x/../../run.sh")).files == 0


def test_every_folder_is_looked_into(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for each in folders:
        each.mkdir()
    (folders[0] / "run.sh").write_bytes(SOUND)
    make_other(folders[1] / "run.sh")
    watch = PinWatch([*folders, tmp_path / "gone"])
    watch.look(frozen(pinning("run.sh")))
    assert [each.file for each in watch.changed] == [str(folders[1] / "run.sh")]
    assert watch.missing() == [str(tmp_path / "gone")]


def test_a_file_is_right_again_once_it_is_as_it_was_pinned(tmp_path: Path) -> None:
    path, suites = tmp_path / "run.sh", frozen(pinning("run.sh"))
    make_other(path)
    watch = PinWatch([tmp_path])
    watch.look(suites)
    assert watch.changed
    path.write_bytes(SOUND)
    watch.forget()
    watch.look(suites)
    assert watch.changed == ()


def test_a_suite_s_own_file_is_compared_by_what_it_would_freeze(tmp_path: Path) -> None:
    text = new_suite("workshop", "self")
    path = tmp_path / "any-name.toml"
    path.write_text(text + "\n# a comment changes nothing\n")
    assert looked(tmp_path, suite_manifest()).changed == ()
    path.write_text(re.sub(r"resamples( *)= 2000", r"resamples\1= 1999", text))
    assert path.read_text() != text
    [changed] = looked(tmp_path, suite_manifest()).changed
    assert changed.pinned == codec.suite_hash(suite_manifest())
    path.write_text(f'suite = "{SUITE}"\n')
    [changed] = looked(tmp_path, suite_manifest()).changed
    assert changed.found == "no suite that could be frozen"
    for other in ("nonsense = = 1", 'suite = "another@v1"', "suite = 3"):
        path.write_text(other)
        assert looked(tmp_path, suite_manifest()).changed == ()


def test_a_name_that_is_no_text_is_told_as_text(tmp_path: Path) -> None:
    text = new_suite("workshop", "self")
    path = tmp_path / os.fsdecode(b"n\xff.toml")
    path.write_text(re.sub(r"resamples( *)= 2000", r"resamples\1= 1999", text))
    [changed] = looked(tmp_path, suite_manifest()).changed
    assert changed.file == str(tmp_path / r"n\udcff.toml")
    assert msgspec.json.encode(changed)


def test_a_suite_s_own_file_that_can_be_read_no_more_counts_as_changed(
    tmp_path: Path,
) -> None:
    path, suites = tmp_path / "suite.toml", frozen(suite_manifest())
    path.write_text(new_suite("workshop", "self"))
    watch = PinWatch([tmp_path])
    watch.look(suites)
    assert (watch.changed, watch.trouble) == ((), None)
    path.unlink()
    make_pipe(path)
    watch.look(suites)
    [changed] = watch.changed
    assert (changed.suite, changed.file) == (SUITE, str(path))
    assert changed.found.startswith("unreadable")
    assert watch.refusal(payload("ForecastSealed")) is not None
    path.unlink()
    watch.look(suites)
    [changed] = watch.changed
    assert changed.found == "gone"


TABLE = new_suite("workshop", "self")
EDITED = re.sub(r"resamples( *)= 2000", r"resamples\1= 1999", TABLE)
LATER: dict[str, tuple[dict[str, str], list[str]]] = {
    "it is as it was": ({"suite.toml": TABLE}, []),
    "it is gone": ({}, ["gone"]),
    "it is no TOML": ({"suite.toml": "= ="}, ["no suite that could be frozen"]),
    "it has another name": ({"other.toml": TABLE}, []),
    "an edited one has another name": (
        {"other.toml": EDITED},
        [codec.suite_hash(freeze_manifest(tomllib.loads(EDITED)))],
    ),
    "it is the next version's": (
        {"suite.toml": TABLE.replace(SUITE, "workshop@v2")},
        [],
    ),
}


@pytest.mark.parametrize("first", [TABLE, EDITED])
@pytest.mark.parametrize(("files", "found"), LATER.values(), ids=LATER)
def test_a_suite_s_own_file_is_not_made_right_by_taking_it_away(
    tmp_path: Path, first: str, files: dict[str, str], found: list[str]
) -> None:
    suites = frozen(suite_manifest())
    (tmp_path / "suite.toml").write_text(first)
    watch = PinWatch([tmp_path])
    watch.look(suites)
    assert bool(watch.changed) is (first == EDITED)
    (tmp_path / "suite.toml").unlink()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for _ in range(2):
        watch.look(suites)
        assert [each.found for each in watch.changed] == found


def test_a_file_that_may_be_a_suite_s_own_and_cannot_be_read_is_named(
    tmp_path: Path,
) -> None:
    make_pipe(tmp_path / "any.toml")
    watch = looked(tmp_path, suite_manifest())
    assert watch.changed == ()
    assert str(tmp_path / "any.toml") in str(watch.trouble)


# --- What is refused then -------------------------------------------------------------


LET_IN = {
    "a forecast": (payload("ForecastSealed"), False),
    "an update": (payload("ForecastUpdated"), False),
    "what opens a hidden forecast": (payload("ForecastUpdated", opens="ab"), True),
    "a record": (payload("ResolutionRecorded"), True),
    "another suite's forecast": (payload("ForecastSealed", "other@v1"), True),
    "what is no event": (b"{", True),
    "what has another shape": (b'{"type": 3}', True),
}


@pytest.mark.parametrize(("sent", "is_let_in"), LET_IN.values(), ids=LET_IN)
def test_only_forecasts_of_that_suite_are_refused(
    tmp_path: Path, sent: bytes, *, is_let_in: bool
) -> None:
    make_other(tmp_path / "run.sh")
    refusal = looked(tmp_path, pinning("run.sh")).refusal(sent)
    assert (refusal is None) is is_let_in
    if refusal is not None:
        assert isinstance(refusal, RefusedError)
        assert refusal.code == "pinned-file-changed"


@pytest.mark.parametrize(("sent", "is_let_in"), LET_IN.values(), ids=LET_IN)
def test_once_nobody_compares_files_no_suite_is_forecast(
    tmp_path: Path, sent: bytes, *, is_let_in: bool
) -> None:
    (tmp_path / "run.sh").write_bytes(SOUND)
    watch = looked(tmp_path, pinning("run.sh"))
    watch.leave("a fault")
    other = payload("ForecastSealed", "other@v1")
    refusal = watch.refusal(sent)
    assert (refusal is None) is (is_let_in and sent != other)
    if refusal is not None:
        assert refusal.code == "pinned-files-unwatched"
        assert "a fault" in refusal.message
    assert watch.trouble == "a fault"


def test_where_no_folder_is_watched_none_is_missed() -> None:
    watch = PinWatch([])
    watch.leave("a fault")
    assert watch.refusal(payload("ForecastSealed")) is None


# --- In a daemon ----------------------------------------------------------------------


class House(Served):
    """A served ledger with a suite that pins a file, which lies in a watched folder."""

    program = HURRIED

    def pin(self) -> Path:
        """Freeze a suite that pins a file, and return where the file lies."""
        folder = self.home / "suites"
        folder.mkdir()
        (folder / "run.sh").write_bytes(SOUND)
        self.folder.blobs.keep(SOUND)
        manifest = renamed(pinning("run.sh"), "workshop@v2")
        event = msgspec.structs.replace(self.shop.frozen(manifest), supersedes=SUITE)
        self.shop.append(event)
        self.pinned = manifest
        self.configure(f'[watch]\nfolders = ["{folder}"]\n')
        return folder / "run.sh"

    def sealable(self, number: int) -> list[Submission]:
        """Return an opening and a forecast in the suite that pins."""
        shop = self.shop
        shop.clock()
        opening = msgspec.structs.replace(
            shop.opened(shop.question(number)), suite=self.pinned.suite
        )
        sealed = msgspec.structs.replace(
            shop.sealed(opening.question_hash, 50),
            suite=self.pinned.suite, suite_hash=codec.suite_hash(self.pinned),
        )  # fmt: skip
        return [shop.signed(opening), shop.signed(sealed)]

    def changed(self) -> list[Any]:
        with self.talk() as talk:
            return talk.ask("status")["pinned_files_changed"]

    def sent(self, *events: Submission) -> list[Any]:
        with self.talk() as talk:
            return [
                each.get("error", {}).get("code")
                for each in talk.append(*events)["receipts"]
            ]


@pytest.fixture
def house() -> Iterator[House]:
    with served_as(House) as found:
        yield found


def test_forecasts_stop_while_a_pinned_file_is_another(house: House) -> None:
    path = house.pin()
    house.start()
    first, second = house.sealable(1), house.sealable(2)
    assert house.sent(*first) == [None, None]
    make_other(path)
    until(house.changed)
    [told] = house.changed()
    assert (told["suite"], told["file"]) == ("workshop@v2", str(path))
    # What the log has already keeps its receipt; questions and records go on.
    assert house.sent(*first) == [None, None]
    assert house.sent(*second) == [None, "pinned-file-changed"]
    # To delete the edited file makes nothing right.
    path.unlink()
    until(lambda: [each["found"] for each in house.changed()] == ["gone"])
    assert house.sent(*second) == [None, "pinned-file-changed"]
    path.write_bytes(SOUND)
    until(lambda: not house.changed())
    assert house.sent(*second) == [None, None]
    until(lambda: house.noted("pinned-file-restored"))
    assert len(house.noted("pinned-file-changed")) == 2
    assert house.stop() == 0


def test_a_file_that_changed_while_no_daemon_ran_is_noticed(house: House) -> None:
    path = house.pin()
    make_other(path)
    house.start()
    # From the first answer on: there is no moment in which it is let in.
    assert house.sent(*house.sealable(1)) == [None, "pinned-file-changed"]
    console, mark = Console(house.home), house.home / "it-ran"
    words = (
        "--ledger",
        house.folder.path,
        "--issuer",
        "dispatcher",
        "--acceptance",
        DIGEST,
    )
    shown = console.run("run", "-p", "0.5", *words, "--", "touch", mark)
    assert (shown.code, mark.exists()) == (2, False)
    assert "pinned-file-changed" in shown.stderr
    people = house.command("daemon", "status")
    assert str(path) in people.stdout
    dropped = b"".join(
        json.dumps(each).encode() + b"\n" for each in wire(*house.sealable(2))
    )
    (house.folder.path / "inbox" / ".new").write_bytes(dropped)
    (house.folder.path / "inbox" / ".new").rename(
        house.folder.path / "inbox" / "n.jsonl"
    )
    reason = house.folder.path / "inbox" / "refused" / "n.jsonl.reason.json"
    until(reason.exists)
    assert json.loads(reason.read_bytes())["told"][0]["code"] == "pinned-file-changed"


def test_a_superseded_version_is_not_held_to_its_files(house: House) -> None:
    path = house.pin()
    house.start()
    old = house.shop.sealable(3)
    make_other(path)
    until(house.changed)
    # The next version is pinned as the file is now: forecasts go on under it.
    house.folder.blobs.keep(path.read_bytes())
    manifest = msgspec.structs.replace(
        renamed(house.pinned, "workshop@v3"),
        pins={"run.sh": sha256(path.read_bytes()).hexdigest()},
    )  # fmt: skip
    event = msgspec.structs.replace(
        house.shop.frozen(manifest), supersedes="workshop@v2"
    )
    assert house.sent(house.shop.signed(event)) == [None]
    until(lambda: not house.changed())
    house.pinned = manifest
    assert house.sent(*house.sealable(4)) == [None, None]
    assert house.sent(*old)[0] == "superseded-suite"


def test_a_watched_folder_that_is_not_there_is_named(house: House) -> None:
    house.pin()
    gone = house.home / "gone"
    house.configure(f'[watch]\nfolders = ["{gone}"]\n')
    house.start()
    with house.talk() as talk:
        assert talk.ask("status")["watch"] == {
            "files": 0, "missing_folders": [str(gone)], "missing_files": ["run.sh"],
            "trouble": None,
        }  # fmt: skip


def test_a_name_that_is_no_text_switches_no_watching_off(house: House) -> None:
    path = house.pin()
    house.start()

    def trouble() -> str | None:
        with house.talk() as talk:
            return talk.ask("status")["watch"]["trouble"]

    assert house.sent(*house.sealable(1)) == [None, None]
    path.with_name(os.fsdecode(b"n\xff")).touch()
    until(lambda: "the system tells of no changes" in str(trouble()))
    make_other(path)
    until(house.changed)
    assert house.sent(*house.sealable(2)) == [None, "pinned-file-changed"]
    # The telling begins again by itself.
    until(lambda: trouble() is None)
    path.write_bytes(SOUND)
    until(lambda: not house.changed())
    until(lambda: house.noted("watch-restored"))
    assert house.stop() == 0
    assert len(house.noted("watch-failed")) == len(house.noted("watch-restored")) == 1
    assert not house.noted("fault")
