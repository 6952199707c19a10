"""`ledger seal`, `update` and `resolve`: one event by hand, nothing guessed."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger.clock import instant_text, system_clock
from ledger.ids import sha256_hex
from tests.console import Console, Shown
from tests.court import BAR

OPENED = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", BAR)


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path).found().frozen()


def opened(console: Console, name: str = "d-1") -> str:
    """Open a question and return the id of the record."""
    shown = console.here(
        "resolve", "--status", "PENDING", "--id", name, *OPENED, "--json"
    )
    assert shown.code == 0, shown.stderr
    return str(shown.object["event_id"])


def payload(console: Console, shown: Shown) -> Any:
    """Return the payload of the event whose receipt was printed."""
    assert shown.code == 0, shown.stdout + shown.stderr
    return console.here("show", shown.object["seq"], "--json").object["payload"]


def sealed(console: Console, *words: str, stdin: str | None = None) -> Any:
    return payload(console, console.here("seal", *words, "--json", stdin=stdin))


def refused(shown: Shown) -> tuple[str, str]:
    assert shown.code == 2
    error = shown.object["error"]
    return error["code"], error["message"]


# --- Opening --------------------------------------------------------------------------


def test_an_issuer_opens_a_question_with_a_pending_record(console: Console) -> None:
    shown = console.here(
        "resolve", "--status", "PENDING", "--id", "d-1", *OPENED,
        "--target", "repo-a", "--cluster", "ticket-7", "--tag", "domain=bugfix", "--json",
    )  # fmt: skip
    record = payload(console, shown)
    question = record["question"]
    assert record["author"] == "issuer"
    assert question["opened_at"] == record["created_at"]
    assert question["target"] == "repo-a"
    assert question["cluster"] == "ticket-7"
    assert question["tags"] == {"domain": "bugfix"}
    assert question["acceptance_hash"] == BAR
    assert "acceptance_hash" not in record


def test_the_bar_is_named_by_its_file_too(console: Console) -> None:
    bar = console.home / "run.sh"
    bar.write_bytes(b"exit 0\n")
    words = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", bar)
    shown = console.here(
        "resolve", "--status", "PENDING", "--id", "d-1", *words, "--json"
    )
    question = payload(console, shown)["question"]
    assert question["acceptance_hash"] == sha256_hex(b"exit 0\n")


def test_a_bar_that_is_no_file_and_no_hash_is_refused(console: Console) -> None:
    words = ("--cutoff", "+2h", "--resolve-by", "+24h", "--acceptance", "none.sh")
    shown = console.here("resolve", "--status", "PENDING", "--id", "d-1", *words)
    assert shown.code == 2
    assert "none.sh cannot be read" in shown.stderr


def test_a_question_that_is_open_is_not_asked_again(console: Console) -> None:
    opened(console)
    shown = console.here("seal", "--id", "d-1", "-p", "0.8", *OPENED, "--json")
    code, message = refused(shown)
    assert code == "usage"
    assert "dispatch-pass/d-1/24h is open already" in message


def test_a_tag_is_a_name_and_a_value(console: Console) -> None:
    words = ("resolve", "--status", "PENDING", "--id", "d-1", *OPENED, "--json")
    assert (
        "domain is not NAME=VALUE"
        in refused(console.here(*words, "--tag", "domain"))[1]
    )
    assert refused(console.here(*words, "--tag", "colour=red"))[0] == (
        "question-outside-template"
    )


# --- Sealing --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "vector"),
    {
        "the positive answer's": (["-p", "0.8"], {"pass": "0.8", "fail": "0.2"}),
        "a named one of two": (["-p", "fail=0.3"], {"pass": "0.7", "fail": "0.3"}),
        "both": (["-p", "pass=0.8", "-p", "fail=0.2"], {"pass": "0.8", "fail": "0.2"}),
        "certain": (["-p", "1"], {"pass": "1", "fail": "0"}),
        "long": (["-p", "0.33333333"], {"pass": "0.333333", "fail": "0.666667"}),
        "by its long name": (["--probability", ".5"], {"pass": "0.5", "fail": "0.5"}),
    }.values(),
)
def test_a_probability_is_said_shortly(
    console: Console, words: list[str], vector: dict[str, str]
) -> None:
    opened(console)
    assert sealed(console, "--id", "d-1", *words)["probabilities"] == vector


@pytest.mark.parametrize(
    ("words", "code", "says"),
    {
        "no number": (
            ["-p", "likely"],
            "draft-unfit",
            'probabilities.pass is "likely"',
        ),
        "too much": (["-p", "1.2"], "draft-unfit", "probabilities.pass is 1.2"),
        "below zero": (["-p", "pass=-0.1"], "draft-unfit", "probabilities.pass"),
        "not one": (["-p", "pass=0.5", "-p", "fail=0.4"], "sum-not-one", "0.9"),
        "one answer twice": (["-p", "pass=0.5", "-p", "pass=0.5"], "usage", "twice"),
        "two bare numbers": (["-p", "0.5", "-p", "0.5"], "usage", "-p ANSWER=0.5"),
        "another answer": (["-p", "yes=1", "-p", "no=0"], "answers-mismatch", "pass"),
        "none": ([], "vector-missing", "give probabilities"),
    }.values(),
)
def test_a_vector_that_is_none_is_refused(
    console: Console, words: list[str], code: str, says: str
) -> None:
    opened(console)
    shown = console.here("seal", "--id", "d-1", *words, "--json")
    assert refused(shown)[0] == code
    assert says in refused(shown)[1]


def test_what_there_is_only_one_of_is_taken_as_meant_and_told(console: Console) -> None:
    opened(console)
    shown = console.here("seal", "--id", "d-1", "-p", "0.8")
    assert shown.stderr == (
        "Taken as meant: --suite piper-self@v1, --template dispatch-pass, "
        "--horizon 24h, --as native.\n"
    )
    assert "entry" in shown.stdout


def test_nothing_is_told_where_everything_was_said(console: Console) -> None:
    opened(console)
    words = (
        "--suite",
        "piper-self@v1",
        "--template",
        "dispatch-pass",
        "--horizon",
        "24h",
    )
    shown = console.here("seal", "--id", "d-1", "-p", "0.8", "--as", "native", *words)
    assert (shown.code, shown.stderr) == (0, "")


def test_with_two_suites_somebody_must_say_which(console: Console) -> None:
    console.frozen("weather", "world")
    code, message = refused(console.here("seal", "--id", "d-1", "-p", "0.8", "--json"))
    assert code == "usage"
    assert "--suite: the suites in force are piper-self@v1 and weather@v1" in message


def test_the_suite_is_that_in_which_the_question_is_open(console: Console) -> None:
    opened(console)
    console.frozen("weather", "world")
    shown = console.here("seal", "--id", "d-1", "-p", "0.8")
    assert "Taken as meant: --suite piper-self@v1, " in shown.stderr
    more = ("--suite", "weather", "--horizon", "7d", *OPENED[:4])
    done = console.here("resolve", "--status", "PENDING", "--id", "d-1", *more)
    assert done.code == 0, done.stderr
    both = console.here("seal", "--id", "d-1", "-p", "0.8").stderr
    assert "suites in which d-1 is open are piper-self@v1 and weather@v1" in both
    template = ("--template", "dated-event")
    named = console.here("seal", "--id", "d-1", "-p", "0.8", *template)
    assert "Taken as meant: --suite weather@v1, --horizon 7d" in named.stderr
    elsewhere = console.here("seal", "--id", "nowhere", "-p", "0.8").stderr
    assert "suites in force are piper-self@v1 and weather@v1" in elsewhere


def test_the_template_is_that_in_which_the_question_is_open(tmp_path: Path) -> None:
    console = Console(tmp_path).found()
    text = console.must("suite", "new", "market", "--track", "world").stdout
    head, table, rest = text.partition("[[templates]]\n")
    first = table + rest[: rest.index("\n\n[", 1) + 2]
    second = first.replace('"dated-event"', '"price-up"')
    pool = 'templates = ["dated-event"]'
    assert pool in text
    file = console.home / "market.toml"
    file.write_text(
        (head + first + second + rest[len(first) - len(table) :]).replace(
            pool, 'templates = ["dated-event", "price-up"]'
        )
    )
    assert console.here("suite", "freeze", file).code == 0
    asked = ("resolve", "--status", "PENDING", "--id", "e-1", *OPENED[:4])
    templates = "templates in market@v1 are dated-event and price-up"
    assert templates in console.here(*asked).stderr
    named = ("--template", "price-up", "--horizon", "7d")
    assert console.here(*asked, *named).code == 0
    shown = console.here("seal", "--id", "e-1", "-p", "0.4")
    assert "--template price-up, --horizon 7d" in shown.stderr
    console.frozen("weather", "world")
    # What only one suite has names the suite.
    assert console.here(*asked[:3], "--id", "e-2", *asked[5:], *named).code == 0
    words = ("seal", "--id", "e-9", "-p", "0.4", "--template")
    assert "did you mean price-up?" in console.here(*words, "priceup").stderr
    assert (
        "not open in market@v1" in console.here(*words, "price-up", *named[2:]).stderr
    )


def test_a_superseded_suite_is_not_what_is_meant(console: Console) -> None:
    console.frozen("piper-self@v2")
    shown = console.here("seal", "--id", "d-1", "-p", "0.8", "--json")
    assert "piper-self@v2" in refused(shown)[1]


def test_a_horizon_is_that_of_the_open_question(tmp_path: Path) -> None:
    console = Console(tmp_path).found().frozen("weather", "world")
    words = ("resolve", "--status", "PENDING", "--id", "w-1", *OPENED[:4])
    assert "horizons of dated-event are 24h and 7d" in console.here(*words).stderr
    assert console.here(*words, "--horizon", "7d").code == 0
    shown = console.here("seal", "--id", "w-1", "-p", "0.8")
    assert "--horizon 7d" in shown.stderr
    assert console.here(*words, "--horizon", "24h").code == 0
    both = console.here("seal", "--id", "w-1", "-p", "0.8")
    assert "horizons at which w-1 is open are 24h and 7d" in both.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    {
        "an unknown suite": (["--suite", "x@v1"], "unknown-suite", "piper-self@v1"),
        "a misspelt competitor": (
            ["--as", "natve"],
            "unknown-competitor",
            "did you mean native?",
        ),
        "a computed competitor": (
            ["--as", "native-calibrated"],
            "not-your-competitor",
            "is computed (platt): nobody seals for it",
        ),
        "a misspelt template": (
            ["--template", "dispatch-pas"],
            "unknown-template",
            "did you mean dispatch-pass?",
        ),
        "an unopened question": (["--id", "d-2"], "unknown-question", "PENDING record"),
        "somebody else's key": (["--author", "resolver"], "usage", "--as"),
        "nobody's key": (["--as", "native", "--author", "x"], "unknown-author", "x"),
    }.values(),
)
def test_a_name_that_is_none_is_refused(
    console: Console, words: list[str], code: str, says: str
) -> None:
    opened(console)
    named = () if "--id" in words else ("--id", "d-1")
    shown = console.here("seal", *named, "-p", "0.8", *words, "--json")
    assert refused(shown)[0] == code
    assert says in refused(shown)[1]


def test_a_second_seal_is_recorded_and_called_a_duplicate(console: Console) -> None:
    opened(console)
    assert console.here("seal", "--id", "d-1", "-p", "0.8").code == 0
    shown = console.here("seal", "--id", "d-1", "-p", "0.7")
    assert shown.code == 0
    assert "recorded as a duplicate" in shown.stderr


def test_a_forecaster_brings_a_question_where_the_suite_lets_it(tmp_path: Path) -> None:
    console = Console(tmp_path).found()
    text = console.must("suite", "new", "free", "--track", "target").stdout
    file = console.home / "free.toml"
    text = text.replace('question_owner = "issuer"', 'question_owner = "forecaster"')
    # What has no positive answer has no probability to be calibrated either.
    text = re.sub(r'(?m)^\[\[competitors\]\]\nname     = "native-cal(.+\n)+', "", text)
    file.write_text(re.sub("(?m)^(answers|positive) ", r"# \1 ", text))
    assert console.here("suite", "freeze", file).code == 0
    words = ("--id", "f-1", "--horizon", "7d", *OPENED[:4])
    answers = ("--answer", "red", "--answer", "blue", "--text", "Which colour?")
    event = sealed(console, *words, *answers, "-p", "red=0.25")
    assert event["probabilities"] == {"red": "0.25", "blue": "0.75"}
    assert event["question"]["answers"] == ["red", "blue"]
    assert event["question"]["text"] == "Which colour?"
    later = console.here("update", "--id", "f-1", "-p", "blue=0.5", "--json")
    assert payload(console, later)["probabilities"] == {"red": "0.5", "blue": "0.5"}
    bare = console.here("update", "--id", "f-1", "-p", "0.5", "--json")
    assert "-p ANSWER=0.5, one of red or blue" in refused(bare)[1]


# --- Updating and resolving -----------------------------------------------------------


def test_an_update_attaches_to_the_last_forecast(console: Console) -> None:
    opened(console)
    first = console.here("seal", "--id", "d-1", "-p", "0.8", "--json").object
    words = (
        "update",
        "--id",
        "d-1",
        "-p",
        "0.6",
        "--reason",
        "a test is flaky",
        "--json",
    )
    second = payload(console, console.here(*words))
    assert second["parent"] == first["event_id"]
    assert second["reason"] == "a test is flaky"


def test_an_update_needs_a_forecast(console: Console) -> None:
    opened(console)
    shown = console.here("update", "--id", "d-1", "-p", "0.6", "--json")
    assert refused(shown)[0] == "unknown-parent"


def test_an_outcome_is_recorded_by_the_resolver(console: Console) -> None:
    pending = opened(console)
    shown = console.here(
        "resolve", "--id", "d-1", "--outcome", "fail", "--source", "harness",
        "--started", "-1h", "--published", "now", "--acceptance", BAR, "--json",
    )  # fmt: skip
    record = payload(console, shown)
    assert (record["status"], record["outcome"]) == ("RESOLVED", "fail")
    assert record["author"] == "resolver"
    assert record["supersedes"] == pending
    assert record["published_at"] == record["created_at"]
    assert record["acceptance_hash"] == BAR
    assert "question" not in record


def test_a_correction_names_what_it_supersedes(console: Console) -> None:
    opened(console)
    first = console.here("resolve", "--id", "d-1", "--outcome", "fail", "--json").object
    words = ("resolve", "--id", "d-1", "--outcome", "pass", "--json")
    code, message = refused(console.here(*words))
    assert code == "supersedes-missing"
    assert first["event_id"] in message
    assert console.here(*words, "--supersedes", first["event_id"]).code == 0


def test_a_void_needs_a_reason(console: Console) -> None:
    opened(console)
    words = ("resolve", "--id", "d-1", "--status", "VOID", "--json")
    assert refused(console.here(*words))[0] == "reason-missing"
    record = payload(console, console.here(*words, "--reason", "flaky"))
    assert record["reason_code"] == "flaky"


def test_a_record_without_a_status_is_refused(console: Console) -> None:
    opened(console)
    shown = console.here("resolve", "--id", "d-1", "--json")
    assert refused(shown)[0] == "draft-unfit"
    assert "status is missing: write" in refused(shown)[1]


def test_who_forecasts_cannot_judge(console: Console) -> None:
    opened(console)
    words = ("resolve", "--id", "d-1", "--outcome", "pass", "--author", "forecaster")
    assert refused(console.here(*words, "--json"))[0] == "wrong-role"


def test_whose_key_is_not_at_hand_does_not_record(console: Console) -> None:
    opened(console)
    empty = console.home / "none"
    empty.mkdir()
    words = ("resolve", "--id", "d-1", "--outcome", "pass", "--keys", empty, "--json")
    assert (
        "resolvers of piper-self@v1 whose key is at hand are none"
        in (refused(console.here(*words))[1])
    )
    words = ("seal", "--id", "d-1", "-p", "1", "--keys", console.home / "no", "--json")
    assert "is no folder" in refused(console.here(*words))[1]


# --- Drafts on stdin ------------------------------------------------------------------


DRAFT = {
    "template": "dispatch-pass",
    "id": "d-1",
    "horizon": "24h",
    "probabilities": {"pass": 0.75, "fail": 0.25},
}


def test_a_draft_is_read_from_stdin_and_options_overrule_it(console: Console) -> None:
    opened(console)
    event = sealed(console, "-", "--model", "m-2", stdin=json.dumps(DRAFT))
    assert event["probabilities"] == {"pass": "0.75", "fail": "0.25"}
    assert event["model_version"] == "m-2"
    change = json.dumps({**DRAFT, "reason": "said in the draft"})
    words = ("update", "-", "-p", "0.5", "--json")
    later = payload(console, console.here(*words, stdin=change))
    assert later["reason"] == "said in the draft"
    assert later["probabilities"] == {"pass": "0.5", "fail": "0.5"}
    outcome = json.dumps({"id": "d-1", "status": "RESOLVED", "outcome": "pass"})
    record = payload(console, console.here("resolve", "-", "--json", stdin=outcome))
    assert record["outcome"] == "pass"


@pytest.mark.parametrize(
    ("stdin", "code"),
    {
        "nothing": ("", "not-json"),
        "a list": ("[]", "draft-unfit"),
        "another event": (
            json.dumps({**DRAFT, "type": "ForecastUpdated"}),
            "draft-unfit",
        ),
        "a misspelt field": (json.dumps({**DRAFT, "modl_version": "1"}), "draft-unfit"),
    }.values(),
)
def test_an_unfit_draft_on_stdin_is_refused(
    console: Console, stdin: str, code: str
) -> None:
    opened(console)
    assert refused(console.here("seal", "-", "--json", stdin=stdin))[0] == code


def test_only_a_dash_stands_for_stdin(console: Console) -> None:
    code, message = refused(console.here("seal", "draft.json", "--json"))
    assert code == "usage"
    assert "a draft is read from stdin" in message


def vector_drafted(tenths: int, made_at: datetime, *, is_first: bool) -> dict[str, Any]:
    """Return a draft of a seal, or of an update, on the question that is open."""
    return {
        "type": "ForecastSealed" if is_first else "ForecastUpdated",
        "created_at": instant_text(made_at),
        "suite": "piper-self@v1",
        "template": "dispatch-pass",
        "id": "d-1",
        "horizon": "24h",
        "author": "forecaster",
        "forecaster": "native",
        "probabilities": {"pass": tenths / 10, "fail": 1 - tenths / 10},
    }


def test_a_history_that_is_appended_twice_updates_nothing_twice(
    console: Console,
) -> None:
    opened(console)
    now = system_clock()

    def draft(at: int, minutes: int) -> dict[str, Any]:
        made_at = now - timedelta(minutes=minutes)
        return vector_drafted(5 + at, made_at, is_first=at == 0)

    history = [draft(at, minutes) for at, minutes in enumerate((3, 3, 2, 2, 2))]
    first = console.append(*history).objects
    assert [each["seq"] for each in first] == [3, 4, 5, 6, 7]
    # What was said last, at one instant; what came before it is refused as ever.
    again = console.append(*history)
    assert [each.get("seq") for each in again.objects] == [3, None, 5, 6, 7]
    assert again.objects[1]["error"]["code"] == "created-before-parent"
    assert again.code == 2
    later = draft(1, 1)
    assert console.append(later).objects[0]["seq"] == 8
    assert console.append(later).objects[0]["seq"] == 8


NOT_TEXT = {
    "no id": ({}, "id is missing"),
    "an empty id": ({"id": ""}, "id is missing"),
    "an id that is a list": ({"id": ["d-1"]}, "id is"),
    "a template that is a list": ({"id": "d-1", "template": ["x"]}, "template"),
    "a template that is an object": ({"id": "d-1", "template": {"a": 1}}, "template"),
    "a horizon that is a list": ({"id": "d-1", "horizon": ["24h"]}, "horizon"),
    "half a letter": ({"id": "\ud800"}, "id is no Unicode text"),
    "a hash that is half a letter": ({"question_hash": "\ud800"}, "names no answer"),
}


@pytest.mark.parametrize("suites", [1, 2])
@pytest.mark.parametrize(("draft", "says"), NOT_TEXT.values(), ids=NOT_TEXT)
def test_what_names_no_unit_is_refused_in_a_sentence(
    console: Console, suites: int, draft: dict[str, Any], says: str
) -> None:
    # A careless program's name for nothing is somebody's name all the same.
    opened(console, "None")
    if suites > 1:
        console.frozen("weather", "world")
    suite = ("--suite", "piper-self") if suites > 1 else ()
    shown = console.here("seal", "-", "-p", "0.8", *suite, stdin=json.dumps(draft))
    assert shown.code == 2
    assert says in shown.stderr
    alone = console.here("seal", "-", "-p", "0.8", stdin=json.dumps(draft))
    assert alone.code == 2
    assert "Traceback" not in alone.stderr


def test_what_is_resolved_is_meant_only_where_nothing_is_open(console: Console) -> None:
    opened(console)
    assert console.here("resolve", "--id", "d-1", "--outcome", "pass").code == 0
    console.frozen("weather", "world")
    asked = ("resolve", "--status", "PENDING", "--id", "d-1", *OPENED[:4])
    # It is asked again elsewhere: nobody means the suite that has its outcome.
    assert console.here(*asked, "--suite", "weather", "--horizon", "7d").code == 0
    shown = console.here("seal", "--id", "d-1", "-p", "0.8")
    assert "Taken as meant: --suite weather@v1, " in shown.stderr
    named = ("--id", "d-1", "--horizon", "24h")
    late = console.here("seal", *named, "-p", "0.8")
    assert "Taken as meant: --suite piper-self@v1, " in late.stderr
    nowhere = console.here("seal", "--id", "d-1", "--horizon", "2h", "-p", "0.8")
    assert "suites in force are piper-self@v1 and weather@v1" in nowhere.stderr


def test_a_new_question_is_not_looked_for_where_it_is_open(console: Console) -> None:
    opened(console)
    file = console.home / "other.toml"
    text = (console.home / "piper-self.toml").read_text()
    file.write_text(text.replace("piper-self@v1", "other@v1"))
    assert console.here("suite", "freeze", file).code == 0
    asked = ("resolve", "--status", "PENDING", "--id", "d-1", *OPENED)
    shown = console.here(*asked)
    assert "suites in force are piper-self@v1 and other@v1" in shown.stderr
    assert console.here(*asked, "--suite", "other").code == 0


def test_a_vector_that_comes_back_at_one_instant_is_new_once_and_once_only(
    console: Console,
) -> None:
    opened(console)
    made_at = system_clock()

    def history(*tenths: int) -> list[dict[str, Any]]:
        return [
            vector_drafted(tenth, made_at, is_first=at == 0)
            for at, tenth in enumerate(tenths)
        ]

    def seqs(*tenths: int) -> list[int]:
        return [each["seq"] for each in console.append(*history(*tenths)).objects]

    assert seqs(5, 6, 7, 6) == [3, 4, 5, 6]
    assert seqs(5, 6, 7, 6) == [3, 4, 5, 6]
    assert seqs(5, 6, 7, 6, 8) == [3, 4, 5, 6, 7]
    # By hand nothing is looked for: what is said is said once more.
    words = ("update", "-", "--json")
    by_hand = json.dumps(history(5, 8)[1])
    assert console.here(*words, stdin=by_hand).object["seq"] == 8


def test_who_amends_is_asked_which_of_several_records_is_meant(
    console: Console,
) -> None:
    opened(console)
    assert console.here("resolve", "--id", "d-1", "--outcome", "pass").code == 0
    console.frozen("weather", "world")
    asked = ("resolve", "--status", "PENDING", "--id", "d-1", *OPENED[:4])
    assert console.here(*asked, "--suite", "weather", "--horizon", "7d").code == 0
    amended = ("resolve", "--id", "d-1", "--status", "VOID", "--reason", "tie")
    shown = console.here(*amended, "--supersedes", "standing")
    assert shown.code == 2
    both = "suites in which d-1 was asked are piper-self@v1 and weather@v1"
    assert both in shown.stderr
