"""`ledger suite`: written, judged, frozen once, and shown as it was frozen."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from ledger.suite_check import gaps, manifest_from_toml
from tests.console import CAST, EXAMPLES, Console
from tests.court import QUESTIONS

LIST = "questions.jsonl"


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def written(console: Console, *changes: tuple[str, str], name: str = "weather") -> Path:
    """Write a fresh world suite, some of its text replaced."""
    text = console.must("suite", "new", name, "--track", "world").stdout
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = console.home / "suite.toml"
    file.write_text(text)
    return file


def pinning(console: Console, name: str, content: bytes) -> Path:
    """Write a suite that pins a file, and the file beside it."""
    digest = sha256(content).hexdigest()
    pins = f'\n[pins]\n"{name}" = "{digest}"\n'
    file = written(console)
    file.write_text(file.read_text() + pins)
    (console.home / name).write_bytes(content)
    return file


@pytest.mark.parametrize("track", ["self", "world", "target"])
def test_a_new_suite_has_no_gaps(console: Console, track: str) -> None:
    shown = console.must("suite", "new", "mine", "--track", track)
    assert gaps(manifest_from_toml(shown.stdout)) == []
    told = console.must("suite", "new", "mine", "--track", track, "--json").object
    assert told == {"suite": "mine@v1", "toml": shown.stdout}


def test_a_new_suite_needs_a_track_and_a_name_that_exist(console: Console) -> None:
    shown = console.run("suite", "new", "mine", "--track", "wrld")
    assert shown.code == 2
    assert "did you mean world?" in shown.stderr
    assert console.run("suite", "new", "My Suite", "--track", "self").code == 2


def test_a_check_prints_the_verdict_of_each_template(console: Console) -> None:
    file = written(console)
    shown = console.must("suite", "check", file)
    assert "dated-event" in shown.stdout
    assert "Scored" in shown.stdout
    assert "No gaps" in shown.stdout
    told = console.must("suite", "check", file, "--json").object
    assert told["ok"] is True
    assert [each["verdict"] for each in told["verdicts"]] == ["Scored"]


def test_a_check_names_every_gap_at_once(console: Console) -> None:
    file = written(console, ('track       = "world"', ""), ('"0.95" ', "0.95 "))
    shown = console.run("suite", "check", file)
    assert shown.code == 2
    assert "track is missing" in shown.stdout
    assert "coverage.minimum is 0.95" in shown.stdout
    told = console.run("suite", "check", file, "--json")
    assert told.code == 2
    assert {"track", "coverage.minimum"} <= {
        each["where"] for each in told.object["gaps"]
    }


def test_a_check_warns_of_what_can_be_frozen_and_comes_to_nothing(
    console: Console,
) -> None:
    file = written(console, ("[500, 1000, 2000]", "[100]"))
    shown = console.must("suite", "check", file).stdout
    assert "No gaps: the suite can be frozen.\n\n1 warning, which" in shown
    assert "  statistics.looks ends at 100 resolved units, and min_class" in shown
    told = console.must("suite", "check", file, "--json").object
    assert told["ok"] is True
    [warning] = told["warnings"]
    assert warning["where"] == "statistics.looks"
    assert warning["remedy"] == "add a look at 200 or more"


def test_a_check_of_a_new_suite_warns_of_nothing(console: Console) -> None:
    file = written(console)
    assert "warning" not in console.must("suite", "check", file).stdout
    assert console.must("suite", "check", file, "--json").object["warnings"] == []


def test_a_place_with_a_gap_has_no_warning_beside_it(console: Console) -> None:
    file = written(console, ("[500, 1000, 2000]", "[100, 100]"))
    told = console.run("suite", "check", file, "--json").object
    assert [each["where"] for each in told["gaps"]] == ["statistics.looks"]
    assert told["warnings"] == []


def test_in_a_ledger_the_suites_of_the_past_are_looked_up(console: Console) -> None:
    file = written(console, ('["weather@v1"]', '["weather@v1", "ghost@v1"]'))
    assert "without a ledger" in console.must("suite", "check", file).stdout
    console.found()
    shown = console.here("suite", "check", file)
    assert shown.code == 2
    assert "has ghost@v1, which is not frozen in this ledger" in shown.stdout
    assert "warning" not in shown.stdout
    refused = console.here("suite", "freeze", file)
    assert "ghost@v1, which is not frozen in this ledger" in refused.stderr
    console.here("suite", "freeze", written(console, name="ghost"))
    file = written(console, ('["weather@v1"]', '["weather@v1", "ghost@v1"]'))
    assert console.here("suite", "freeze", file).code == 0


def test_a_check_reads_stdin(console: Console) -> None:
    text = written(console).read_text()
    assert console.must("suite", "check", "-", stdin=text).stdout
    shown = console.run("suite", "check", "-", stdin="= nonsense")
    assert shown.code == 2
    assert "suite-not-toml" in shown.stderr
    shown = console.run("suite", "check", "-", stdin=b"\xff\xfe")
    assert "not UTF-8" in shown.stderr


@pytest.mark.parametrize("command", ["check", "freeze"])
@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"])
def test_where_nothing_stands_no_gap_is_listed(
    console: Console, command: str, content: bytes
) -> None:
    shown = console.found().here("suite", command, "-", stdin=content)
    assert (shown.code, shown.stdout) == (2, "")
    assert shown.stderr == (
        "refused: suite-incomplete: what stdin gives is no suite: nothing stands here, "
        "and `ledger suite new NAME` prints one to edit\n"
    )


def test_a_check_of_no_file_says_so(console: Console) -> None:
    shown = console.run("suite", "check", console.home / "none.toml")
    assert shown.code == 2
    assert "none.toml cannot be read: No such file" in shown.stderr


def test_in_a_ledger_the_principals_of_a_suite_are_looked_up(console: Console) -> None:
    file = written(console, ('"evaluator"', '"eve"'))
    console.must("suite", "check", file)
    console.found()
    shown = console.here("suite", "check", file)
    assert shown.code == 2
    assert "owner names eve, whom the charter does not list" in shown.stdout


def test_a_check_warns_of_a_pinned_file_that_is_not_there(console: Console) -> None:
    file = pinning(console, "bar.sh", b"exit 0\n")
    assert console.must("suite", "check", file).stderr == ""
    (console.home / "bar.sh").unlink()
    assert "bar.sh is not at" in console.must("suite", "check", file).stderr


def test_a_frozen_suite_is_listed_and_shown(console: Console) -> None:
    console.found()
    shown = console.here("suite", "freeze", written(console), "--json")
    receipt = shown.object
    assert receipt["seq"] == 1
    [listed] = console.here("suite", "list", "--json").objects
    assert (listed["suite"], listed["seq"]) == ("weather@v1", 1)
    assert listed["suite_hash"] in shown.stderr
    told = console.here("suite", "show", "weather@v1", "--json").object
    assert told["manifest"]["title"] == listed["title"]
    assert told["event_id"] == receipt["event_id"]
    text = console.here("suite", "show", "weather").stdout
    assert told["suite_hash"] in text
    assert "native" in text
    assert "weather@v1" in console.here("suite", "list").stdout


def test_a_name_without_a_version_means_the_latest(console: Console) -> None:
    console.found().here("suite", "freeze", written(console))
    console.here("suite", "freeze", written(console, name="weather@v2"))
    assert console.here("suite", "show", "weather", "--json").object["in_force"] is True
    first = console.here("suite", "show", "weather@v1", "--json").object
    assert first["in_force"] is False


def test_an_unknown_suite_is_answered_with_the_likely_one(console: Console) -> None:
    console.found().here("suite", "freeze", written(console))
    shown = console.here("suite", "show", "wether@v1")
    assert shown.code == 2
    assert "did you mean weather@v1?" in shown.stderr


def test_a_version_is_frozen_once(console: Console) -> None:
    console.found().here("suite", "freeze", written(console))
    shown = console.here("suite", "freeze", written(console), "--json")
    assert shown.code == 2
    assert shown.object["error"]["code"] == "frozen-before"
    assert "weather@v2" in shown.object["error"]["message"]


FREEZE_REFUSED = {
    "a suite with gaps": (('track       = "world"', ""), [], "suite-incomplete"),
    "by somebody who is not the owner": (("", ""), ["--as", "root"], "wrong-role"),
    "without the owner's key": (("", ""), ["--keys", "."], "key-missing"),
}


@pytest.mark.parametrize(
    ("change", "options", "code"), FREEZE_REFUSED.values(), ids=FREEZE_REFUSED
)
def test_an_unfit_freeze_is_refused(
    console: Console, change: tuple[str, str], options: list[str], code: str
) -> None:
    console.found()
    shown = console.here("suite", "freeze", written(console, change), *options)
    assert shown.code == 2
    assert f"refused: {code}: " in shown.stderr
    assert console.here("suite", "list", "--json").objects == []


# --- Pins -----------------------------------------------------------------------------


def blobs(console: Console) -> set[str]:
    folder = console.ledger / "blobs"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_a_pinned_file_is_kept_with_the_ledger(console: Console) -> None:
    file = pinning(console, "bar.sh", b"exit 0\n")
    assert console.found().here("suite", "freeze", file).code == 0
    assert blobs(console) == {sha256(b"exit 0\n").hexdigest()}


def test_a_pinned_file_that_is_missing_is_refused_by_name(console: Console) -> None:
    file = pinning(console, "bar.sh", b"exit 0\n")
    (console.home / "bar.sh").unlink()
    shown = console.found().here("suite", "freeze", file)
    assert shown.code == 2
    assert "pin-unfit" in shown.stderr
    assert f"bar.sh is not at {console.home / 'bar.sh'}" in shown.stderr


def test_a_pinned_file_that_was_changed_is_refused_by_name(console: Console) -> None:
    file = pinning(console, "bar.sh", b"exit 0\n")
    (console.home / "bar.sh").write_bytes(b"exit 1\n")
    shown = console.found().here("suite", "freeze", file)
    assert shown.code == 2
    assert "bar.sh is another one now" in shown.stderr
    assert sha256(b"exit 1\n").hexdigest() in shown.stderr
    assert blobs(console) == set()


def test_a_pinned_file_that_the_ledger_has_need_not_lie_there(console: Console) -> None:
    file = pinning(console, "bar.sh", b"exit 0\n")
    console.found().here("suite", "freeze", file)
    (console.home / "bar.sh").unlink()
    file.write_text(file.read_text().replace("weather@v1", "weather@v2"))
    assert console.here("suite", "freeze", file).code == 0


def test_a_refused_suite_leaves_no_pinned_file_behind(console: Console) -> None:
    file = pinning(console, "bar.sh", b"exit 0\n")
    assert console.found().here("suite", "freeze", file, "--as", "root").code == 2
    assert blobs(console) == set()


def test_a_question_list_that_holds_no_questions_is_refused(console: Console) -> None:
    file = pinning(console, LIST, b'{"id":"only"}\n')
    owned = f'question_owner = "evaluator"\nquestions = "{LIST}"'
    text = file.read_text()
    file.write_text(text.replace('question_owner = "issuer"', owned))
    shown = console.found().here("suite", "freeze", file)
    assert shown.code == 2
    assert f"the question list {LIST} is unfit: line 1" in shown.stderr


def test_a_pinned_question_is_sealed_by_its_name_alone(console: Console) -> None:
    content = QUESTIONS.replace(b'"listed"', b'"dated-event"')
    file = pinning(console, LIST, content)
    owned = f'question_owner = "evaluator"\nquestions = "{LIST}"'
    text = file.read_text()
    file.write_text(text.replace('question_owner = "issuer"', owned))
    console.found().here("suite", "freeze", file)
    shown = console.here("seal", "--id", "listed-1", "--horizon", "24h", "-p", "0.4")
    assert shown.code == 0, shown.stderr


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not beside this")
def test_the_example_suite_freezes_from_where_it_lies(console: Console) -> None:
    example = console.home / "example"
    shutil.copytree(EXAMPLES, example)
    console.found(*CAST)
    assert console.here("suite", "freeze", example / "piper-self.toml").code == 0
    told = console.here("suite", "show", "piper-self", "--json").object
    assert set(told["manifest"]["pins"].values()) == blobs(console)
