"""A table becomes drafts by a map of its columns, and each row is accounted for."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.import_report import CONVERSIONS, REASONS
from ledger.suite_check import freeze_manifest, gaps, manifest_from_toml
from tests.archive import Archive
from tests.console import Console
from tests.importer import (
    BINARY,
    PUBLISHED,
    TIMES,
    from_csv,
    from_objects,
    imported,
    refusal,
)

ROLES = {
    role: role for role in ("root", "evaluator", "issuer", "resolver", "forecaster")
}

# --- What becomes of a row ------------------------------------------------------------


def test_a_row_is_a_question_its_forecast_and_its_outcome(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,result\nq-1,0.25,yes\n",
        *BINARY, "--set", "outcome=result", *PUBLISHED, "--set", "source==the registry",
    )  # fmt: skip
    unit = {"template": "question", "id": "q-1", "horizon": "open"}

    assert made.drafts == [
        {
            "type": "ResolutionRecorded",
            "author": "issuer",
            "created_at": "2025-03-01T00:00:00Z",
            "suite": "imported@v1",
            "status": "PENDING",
            "question": {
                **unit,
                "opened_at": "2025-03-01T00:00:00Z",
                "cutoff_at": "2025-03-02T00:00:00Z",
                "resolve_by": "2025-04-01T00:00:00Z",
            },
            "source": "the registry",
        },
        {
            "type": "ForecastSealed",
            "author": "forecaster",
            "created_at": "2025-03-02T00:00:00Z",
            "suite": "imported@v1",
            **unit,
            "forecaster": "model",
            "probabilities": {"yes": "0.25", "no": "0.75"},
        },
        {
            "type": "ResolutionRecorded",
            "author": "resolver",
            "created_at": "2025-04-02T00:00:00Z",
            "suite": "imported@v1",
            **unit,
            "status": "RESOLVED",
            "outcome": "yes",
            "published_at": "2025-04-02T00:00:00Z",
            "source": "the registry",
        },
    ]


def test_a_table_may_have_a_column_for_each_forecaster(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,gpt-4.1,half\nq-1,0.25,0.5,x\nq-2,1,,x\n",
        *BINARY, "--forecaster", "gpt-4.1=gpt-4.1", "--forecaster", "half==0.5",
    )  # fmt: skip

    assert [each["forecaster"] for each in made.drafts if "forecaster" in each] == [
        "model", "gpt-4.1", "half", "model", "half",
    ]  # fmt: skip
    assert made.report["without_forecast"] == {"gpt-4.1": 1}
    assert made.report["forecasts"] == 6


def test_a_table_may_have_a_row_for_each_forecast(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,who,p,at\n"
        "q-1,a,0.25,2025-03-01T01:00:00Z\n"
        "q-1,b,0.5,2025-03-01T01:00:00Z\n"
        "q-1,a,0.75,2025-03-01T02:00:00Z\n",
        "--set", "id=id", *TIMES, "--set", "forecaster=who",
        "--set", "probability=p", "--set", "created_at=at",
    )  # fmt: skip

    assert [(each["type"], each.get("forecaster")) for each in made.drafts] == [
        ("ResolutionRecorded", None),
        ("ForecastSealed", "a"),
        ("ForecastSealed", "b"),
        ("ForecastUpdated", "a"),
    ]
    assert made.drafts[3]["created_at"] == "2025-03-01T02:00:00Z"
    assert made.report["used"] == 3


def test_an_answer_may_have_a_column_of_its_own(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,w,d,l\nq-1,0.5,0.3,0.2\n",
        "--set", "id=id", *TIMES, "--set", "forecaster==spi",
        "--set", "probability.win=w", "--set", "probability.draw=d",
        "--set", "probability.lose=l",
    )  # fmt: skip

    assert made.vectors == [{"win": "0.5", "draw": "0.3", "lose": "0.2"}]


def test_of_two_answers_the_second_may_be_what_is_left_over(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p\nq-1,0.7\n",
        "--set", "id=id", *TIMES, "--answers", "fail,pass", "--forecaster", "model=p",
    )  # fmt: skip

    assert made.vectors == [{"fail": "0.7", "pass": "0.3"}]


def test_outcomes_come_after_all_forecasts(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,result\nq-1,0.5,no\nq-2,0.5,yes\n",
        *BINARY, "--set", "outcome=result", *PUBLISHED,
    )  # fmt: skip

    assert [each["type"] for each in made.drafts][-2:] == ["ResolutionRecorded"] * 2
    assert made.outcomes == [("RESOLVED", "no"), ("RESOLVED", "yes")]


def test_a_text_may_be_made_of_columns(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "day,home,away,p\n2025-03-02,A/B,C.D,0.5\n",
        "--set", "id={day}/{home}-{away}", "--set", "text=={{a brace}}",
        "--set", "target==league", "--set", "cluster={{{day}}}", *TIMES,
        "--set", "tag.home=home", "--forecaster", "model=p",
    )  # fmt: skip
    (question,) = made.questions

    assert question["id"] == "2025-03-02/A/B-C.D"
    assert question["text"] == "{{a brace}}"  # a constant is taken as it is
    assert question["cluster"] == "{2025-03-02}"
    assert question["target"] == "league"
    assert question["tags"] == {"home": "A/B"}


def test_what_is_blank_and_may_be_is_left_out(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,t,a,b\nq-1,0.5,,,x\nq-2,0.5,y,z,x\n",
        *BINARY, "--set", "target=t", "--set", "tag.a=a", "--set", "text={a} {b}",
    )  # fmt: skip
    first, second = made.questions

    assert "target" not in first
    assert "tags" not in first
    assert first["text"] == "x"
    assert (second["target"], second["tags"], second["text"]) == (
        "y",
        {"a": "z"},
        "z x",
    )


def test_a_text_may_be_kept_as_its_hash(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path, "id,p\nabc,0.5\n", *BINARY, "--set", "text=id", "--hash-text"
    )

    assert made.questions[0]["text_hash"] == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    assert "text" not in made.questions[0]
    assert made.report["converted"] == {"text-hashed": 1}


# --- Times ----------------------------------------------------------------------------

# What stands in the file, what becomes of it, and how that is counted.
READ = {
    "with a Z": ("2025-02-01T09:30:00Z", "2025-02-01T09:30:00Z", None),
    "of another zone": ("2025-02-01T09:30:00+01:00", "2025-02-01T08:30:00Z", "to-utc"),
    "with a fraction": ("2025-02-01T09:30:00.5Z", "2025-02-01T09:30:00.500000Z", None),
    "finer than we are": ("2025-02-01T09:30:00.0000019Z", "2025-02-01T09:30:00.000001Z", "cut"),
    "with a distance": ("2025-02-01T09:00:00Z+90m", "2025-02-01T10:30:00Z", "shifted"),
    "with a distance back": ("2025-02-02T00:00:00Z-1d", "2025-02-01T00:00:00Z", "shifted"),
}  # fmt: skip
ASSUMED = {
    "without a zone": ("2025-02-01 09:30:00", "2025-02-01T09:30:00Z", "assumed-utc"),
    "a day": ("2025-02-01", "2025-02-01T00:00:00Z", "date-only"),
    "a day and a distance": ("2025-02-01+1s", "2025-02-01T00:00:01Z", "date-only"),
    "a zone is not overruled": ("2025-02-01T09:30:00+01:00", "2025-02-01T08:30:00Z", "to-utc"),
}  # fmt: skip
OPENED = (
    "--set", "id=id", "--set", "opened_at=at",
    *TIMES[2:], "--forecaster", "model==0.5",
)  # fmt: skip


@pytest.mark.parametrize(("text", "instant", "how"), READ.values(), ids=READ)
def test_a_time_with_a_zone_is_read(
    tmp_path: Path, text: str, instant: str, how: str | None
) -> None:
    made = from_csv(tmp_path, f"id,at\nq-1,{text}\n", *OPENED)

    assert made.questions[0]["opened_at"] == instant
    assert made.report["converted"] == ({} if how is None else {how: 1})


@pytest.mark.parametrize(("text", "instant", "how"), ASSUMED.values(), ids=ASSUMED)
def test_a_time_without_a_zone_is_utc_if_that_was_said(
    tmp_path: Path, text: str, instant: str, how: str
) -> None:
    made = from_csv(tmp_path, f"id,at\nq-1,{text}\n", *OPENED, "--assume-utc")

    assert made.questions[0]["opened_at"] == instant
    assert made.report["converted"][how] == 1


# What keeps a row from becoming a draft: its time of opening, and the reason.
UNFIT_TIMES = {
    "no zone": ("2025-02-01T09:30:00", "time-without-zone"),
    "a day": ("2025-02-01", "time-without-zone"),
    "no day of the calendar": ("2025-02-30T00:00:00Z", "not-a-time"),
    "another order": ("02/01/2025", "not-a-time"),
    "a number": ("1738368000", "not-a-time"),
    "beyond the last year in UTC": ("9999-12-31T23:59:59-01:00", "not-a-time"),
    "nothing": ("", "missing"),
    "N/A": ("N/A", "missing"),
    "after the cut-off": ("2025-03-02T00:00:01Z", "times-out-of-order"),
}


@pytest.mark.parametrize(("text", "reason"), UNFIT_TIMES.values(), ids=UNFIT_TIMES)
def test_a_row_with_an_unfit_time_is_skipped_by_name(
    tmp_path: Path, text: str, reason: str
) -> None:
    sound = "q-0,2025-03-02T00:00:00Z"
    made = from_csv(tmp_path, f"id,at\n{sound}\nq-1,{text}\n", *OPENED)
    (place,) = made.skipped[reason]

    assert place.startswith("line 3: opened_at")
    assert len(made.questions) == 1


# --- Probabilities --------------------------------------------------------------------

PROBABILITIES = {
    "exactly 0": ("0", "0", "1"),
    "exactly 1": ("1.0", "1", "0"),
    "a zero below zero": ("-0.0", "0", "1"),
    "with an exponent": ("1e-3", "0.001", "0.999"),
    "a half": (".5", "0.5", "0.5"),
    "half a millionth goes to the even one": ("0.1234565", "0.123456", "0.876544"),
    "almost 1": ("0.9999999", "1", "0"),
}


@pytest.mark.parametrize(
    ("text", "yes", "no"), PROBABILITIES.values(), ids=PROBABILITIES
)
def test_a_probability_is_read_exactly_or_rounded_and_counted(
    tmp_path: Path, text: str, yes: str, no: str
) -> None:
    made = from_csv(tmp_path, f"id,p\nq-1,{text}\n", *BINARY)

    assert made.vectors == [{"yes": yes, "no": no}]
    is_rounded = text in ("0.1234565", "0.9999999")
    assert made.report["rounded"] == ({"model": 1} if is_rounded else {})


NO_PROBABILITIES = ["1.000001", "-0.01", "likely", "50%", "1_0", "0x1", "inf", "1e999"]


@pytest.mark.parametrize("text", NO_PROBABILITIES)
def test_what_is_no_probability_is_skipped_and_the_rest_of_the_row_stands(
    tmp_path: Path, text: str
) -> None:
    made = from_csv(
        tmp_path,
        f"id,p,r\nq-1,{text},yes\n",
        *BINARY, "--set", "outcome=r", *PUBLISHED,
    )  # fmt: skip

    assert made.skipped == {"not-a-probability": [f"line 2: yes {text!r}"]}
    assert made.vectors == []
    assert made.outcomes == [("RESOLVED", "yes")]


@pytest.mark.parametrize("text", ["", "NA", "n/a", "NaN", "null", "None", "-", " "])
def test_a_blank_forecast_is_missing_and_counted(tmp_path: Path, text: str) -> None:
    made = from_csv(tmp_path, f"id,p\nq-1,{text}\n", *BINARY)

    assert made.report["without_forecast"] == {"model": 1}
    assert made.report["skipped_forecasts"] == {}


@pytest.mark.parametrize(
    ("text", "yes"), [("12.5", "0.125"), ("100%", "1"), ("0.01 %", "0.0001")]
)
def test_percentages_are_divided_if_that_was_said(
    tmp_path: Path, text: str, yes: str
) -> None:
    made = from_csv(tmp_path, f"id,p\nq-1,{text}\n", *BINARY, "--percent")

    assert made.vectors[0]["yes"] == yes
    assert made.report["converted"] == {"percent": 1}
    beyond = from_csv(tmp_path, "id,p\nq-1,100.1\n", *BINARY, "--percent")
    assert beyond.vectors == []


THREE = (
    "--set", "id=id", *TIMES, "--set", "forecaster==spi", "--set", "probability.a=a",
    "--set", "probability.b=b", "--set", "probability.c=c",
)  # fmt: skip


@pytest.mark.parametrize(
    ("values", "vector"),
    {
        "just within rounding": ("0.5,0.3,0.199985", ("0.500005", "0.300005", "0.19999")),
        "a third each": (".3333333,.3333333,.3333334", (".333333", ".333333", ".333334")),
    }.values(),
)  # fmt: skip
def test_a_vector_that_rounding_explains_is_made_to_sum_to_1(
    tmp_path: Path, values: str, vector: tuple[str, ...]
) -> None:
    made = from_csv(tmp_path, f"id,a,b,c\nq-1,{values}\n", *THREE)

    assert [f"{float(each):g}" for each in made.vectors[0].values()] == [
        f"{float(each):g}" for each in vector
    ]
    assert made.report["rounded"] == {"spi": 1}


@pytest.mark.parametrize("values", ["0.5,0.3,0.162", "0.5,0.3,0.199984", "0.5,0.5,0.5"])
def test_a_vector_that_misses_1_is_skipped_or_scaled_if_that_was_said(
    tmp_path: Path, values: str
) -> None:
    content = f"id,a,b,c\nq-1,{values}\n"
    made = from_csv(tmp_path, content, *THREE)
    scaled = from_csv(tmp_path, content, *THREE, "--normalise")

    assert made.vectors == []
    assert "they sum to" in made.skipped["sum-not-one"][0]
    assert sum(round(float(each) * 1e6) for each in scaled.vectors[0].values()) == 10**6
    assert scaled.report["normalised"] == {"spi": 1}
    assert scaled.report["rounded"] == {}


def test_nothing_can_be_scaled_from_nothing_or_from_a_part(tmp_path: Path) -> None:
    content = "id,a,b,c\nq-1,0,0,0\nq-2,0.5,0.5,\n"
    made = from_csv(tmp_path, content, *THREE, "--normalise")

    assert made.skipped == {
        "sum-not-one": ["line 2: they sum to 0"],
        "missing": ["line 3: the probability of c"],
    }


# --- Outcomes -------------------------------------------------------------------------

RESOLVED = (*BINARY, "--set", "outcome=r", *PUBLISHED)
MAPPED = (
    *RESOLVED, "--outcome", "1=yes", "--outcome", "0=no", "--outcome", "0.5=VOID:tie",
    "--outcome", "off=CANCELED:rain", "--outcome", "N/A=CENSORED:lost",
    "--outcome", "open=PENDING",
)  # fmt: skip
OUTCOMES: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "an answer": ("1", [("RESOLVED", "yes")]),
    "the same number in other words": ("0.0", [("RESOLVED", "no")]),
    "a tie": ("0.50", [("VOID", "tie")]),
    "a word in other letters": ("Off", [("CANCELED", "rain")]),
    "not yet": ("open", []),
    "nothing": ("", []),
    "a word for nothing that was given a meaning": ("N/A", [("CENSORED", "lost")]),
    "a word for nothing that was not": ("null", []),
}


@pytest.mark.parametrize(("text", "told"), OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_says_what_its_value_was_said_to_mean(
    tmp_path: Path, text: str, told: list[tuple[str, str]]
) -> None:
    made = from_csv(tmp_path, f"id,p,r\nq-1,0.5,{text}\n", *MAPPED)

    assert made.outcomes == told
    assert made.report["pending"] == 1 - len(told)
    assert made.skipped == {}


def test_an_outcome_without_a_meaning_is_skipped_and_its_unit_is_pending(
    tmp_path: Path,
) -> None:
    made = from_csv(tmp_path, "id,p,r\nq-1,0.5,0.37\n", *MAPPED)

    assert made.skipped == {"outcome-unmapped": ["line 2: '0.37'"]}
    assert made.report["pending"] == 1


def test_answers_mean_themselves_where_nothing_else_was_said(tmp_path: Path) -> None:
    made = from_csv(tmp_path, "id,p,r\nq-1,0.5,YES\nq-2,0.5,1\n", *RESOLVED)

    assert made.outcomes == [("RESOLVED", "yes")]
    assert made.skipped == {"outcome-unmapped": ["line 3: '1'"]}


def test_the_price_of_an_open_market_is_no_outcome(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,r,done\nq-1,0.5,1,False\nq-2,0.5,1,true\nq-3,0.5,0.4,\nq-4,0.5,1,soon\n",
        *MAPPED, "--set", "resolved=done",
    )  # fmt: skip

    assert made.outcomes == [("RESOLVED", "yes")]
    assert made.skipped == {"outcome-unmapped": ["line 5: resolved is 'soon'"]}
    assert made.report["pending"] == 3


def test_an_outcome_needs_its_publication(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,r,at,on\nq-1,0.5,1,N/A,\nq-2,0.5,1,2025-04-02T00:00:00Z,2025-04-01T00:00:00Z\n",
        *MAPPED, "--set", "published_at=at", "--set", "occurred_at=on",
        "--set", "note={r} on {on}",
    )  # fmt: skip
    *_, record = made.drafts

    assert made.skipped == {"missing": ["line 2: published_at"]}
    assert record["occurred_at"] == "2025-04-01T00:00:00Z"
    assert record["note"] == "1 on 2025-04-01T00:00:00Z"


def test_a_unit_has_one_outcome(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,r\nq-1,0.5,1\nq-1,0.6,1\nq-1,0.7,0\nq-1,0.8,\n",
        *MAPPED,
    )  # fmt: skip

    assert made.outcomes == [("RESOLVED", "yes")]
    assert made.report["repeated_outcomes"] == 1
    assert list(made.skipped) == ["outcome-differs"]


# --- Rows that belong together --------------------------------------------------------


def test_a_forecast_that_says_nothing_new_is_counted_as_repeated(
    tmp_path: Path,
) -> None:
    made = from_csv(tmp_path, "id,p\nq-1,0.5\nq-1,0.5\nq-1,0.6\n", *BINARY)

    assert [each["type"] for each in made.drafts[1:]] == [
        "ForecastSealed",
        "ForecastUpdated",
    ]
    assert made.skipped == {"repeated": ["line 3: model at 2025-03-02T00:00:00Z"]}


def test_a_forecast_made_before_the_last_one_is_skipped(tmp_path: Path) -> None:
    made = from_csv(
        tmp_path,
        "id,p,at\nq-1,0.5,2025-03-01T02:00:00Z\nq-1,0.6,2025-03-01T01:59:59Z\n"
        "q-1,0.7,2025-03-01T02:00:00Z\n",
        *BINARY, "--set", "created_at=at", "--set", "model_version==v1",
    )  # fmt: skip

    assert [each["yes"] for each in made.vectors] == ["0.5", "0.7"]
    assert made.skipped == {"made-earlier": ["line 3: model at 2025-03-01T01:59:59Z"]}
    assert made.drafts[1]["model_version"] == "v1"


def test_a_unit_that_is_described_otherwise_is_another_one(tmp_path: Path) -> None:
    content = "id,round,p\nq-1,2025-03-01,0.5\nq-1,2025-03-02,0.5\n"
    rounds = ("--set", "opened_at=round", *TIMES[2:], "--assume-utc")
    same = from_csv(tmp_path, content, "--set", "id=id", *rounds, "--forecaster", "m=p")
    apart = from_csv(
        tmp_path, content, "--set", "id={round}/{id}", "--set", "target=id", *rounds,
        "--forecaster", "m=p",
    )  # fmt: skip

    assert same.skipped == {"question-differs": ["line 3: q-1"]}
    assert [each["id"] for each in apart.questions] == [
        "2025-03-01/q-1",
        "2025-03-02/q-1",
    ]
    assert {each["target"] for each in apart.questions} == {"q-1"}


def test_a_row_that_only_opens_a_unit_again_is_skipped(tmp_path: Path) -> None:
    made = from_csv(tmp_path, "id\nq-1\nq-1\n", "--set", "id=id", *TIMES)

    assert len(made.drafts) == 1
    assert made.skipped == {"repeated": ["line 3: q-1"]}


def test_what_is_known_of_units_may_lie_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"q-{number % 7},{number % 3 / 4},{number % 7 % 2}" for number in range(40)]
    content = "\n".join(["id,p,r", *rows])
    made = from_csv(tmp_path, content, *MAPPED)
    monkeypatch.setattr("ledger.index.CACHED_MAX", 2)
    monkeypatch.setattr("ledger.cli.import_memory.DEFERRED_BYTES_IN_MEMORY", 10)

    assert from_csv(tmp_path, content, *MAPPED) == made
    assert made.report["units"] == {"question": 7}


def test_every_row_and_every_forecast_is_accounted_for(tmp_path: Path) -> None:
    rows = [
        "q-1,0.5,1,2025-03-01T00:00:00Z",
        "q-1,,1,2025-03-01T00:00:00Z",
        "q-1,0.5,0,2025-03-01T00:00:00Z",
        "q-2,two,,2025-03-01T00:00:00Z",
        ",0.5,1,2025-03-01T00:00:00Z",
        "q-3,0.5,1",
        "q-3,0.5,1,2025-03-01",
        "q-3,0.5,1,yesterday",
        "q-2,0.5,2,2025-03-01T01:00:00Z",
    ]
    made = from_csv(
        tmp_path,
        "\n".join(["id,p,r,at", *rows]),
        "--set", "id=id", "--set", "opened_at=at", *TIMES[2:], "--forecaster", "m=p",
        "--forecaster", "half==0.5", "--set", "outcome=r", *PUBLISHED,
        "--outcome", "1=yes", "--outcome", "0=no",
    )  # fmt: skip
    report = made.report

    def total(kind: str) -> int:
        return sum(each["count"] for each in report[kind].values())

    assert report["rows"] == len(rows) == report["used"] + total("skipped")
    drafts = report["drafts"]
    sealed = drafts.get("ForecastSealed", 0) + drafts.get("ForecastUpdated", 0)
    assert (
        report["forecasts"]
        == 2 * report["used"]
        == (
            sealed
            + sum(report["without_forecast"].values())
            + total("skipped_forecasts")
        )
    )
    assert sum(report["units"].values()) == drafts["PENDING"] == len(made.questions)
    assert report["pending"] == drafts["PENDING"] - drafts["RESOLVED"]
    assert len(made.drafts) == sum(drafts.values())


def test_the_report_says_in_sentences_what_became_of_every_row(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(
        "id,a,b,c,r\nq-1,0.5,0.3,0.2000001,a\nq-2,0.5,0.3,0.162,\nq-3,,,,b\n,1,0,0,a\n"
        "q-1,0.1,0.2,0.7,a\n"
    )
    shown = Console(tmp_path).must(
        "import", "csv", file, *THREE, "--set", "outcome=r", *PUBLISHED, "--normalise"
    )

    assert shown.stderr.splitlines() == [
        "5 rows read: 4 rows used, for 3 units (question 3)",
        "8 drafts: PENDING 3, ForecastSealed 2, RESOLVED 2, ForecastUpdated 1",
        "PENDING: 1 unit without an outcome in this file",
        "rounded: 1 forecast of spi, to millionths",
        "changed: 1 forecast of spi, scaled to sum to 1",
        "missing: 1 row without a forecast of spi",
        "repeated: 1 outcome known from earlier rows",
        "skipped: 1 row without a value that is needed (line 5: id)",
    ]


# --- The file -------------------------------------------------------------------------


def test_a_csv_may_be_gzipped_and_parted_by_anything(tmp_path: Path) -> None:
    content = "\ufeffid;p\nq-1;0.5\n\nq-2;0.5\n"
    packed = gzip.compress(content.encode())

    for delimiter in (";", "\t"):
        table = gzip.compress(content.replace(";", delimiter).encode())
        written = "\\t" if delimiter == "\t" else delimiter
        made = from_csv(tmp_path, table, *BINARY, "--delimiter", written)
        assert [each["id"] for each in made.questions] == ["q-1", "q-2"]
    assert "has no column 'id'" in refusal(tmp_path, "csv", packed, *BINARY)


def test_a_quoted_value_may_have_lines_and_separators(tmp_path: Path) -> None:
    content = 'id,p,text\nq-1,0.5,"one, ""two""\r\nthree"\nq-2,0.5,x\nq-3,0.5\n'
    made = from_csv(tmp_path, content, *BINARY, "--set", "text=text")

    assert made.questions[0]["text"] == 'one, "two"\r\nthree'
    assert made.skipped == {"columns": ["line 5: 2 values, not 3"]}


def test_bytes_of_another_encoding_are_no_text(tmp_path: Path) -> None:
    content = "id,p\nq-1,0.5\nZürich,0.5\n".encode("cp1252")
    made = from_csv(tmp_path, content, *BINARY)
    read = from_csv(tmp_path, content, *BINARY, "--encoding", "cp1252")

    assert made.skipped == {"not-unicode": ["line 3: id"]}
    assert read.questions[1]["id"] == "Zürich"


def test_a_value_that_is_too_long_to_be_one_is_skipped(tmp_path: Path) -> None:
    content = f"id,p\nq-1,0.5\n{'x' * 200_000},0.5\nq-2,0.5\n"
    made = from_csv(tmp_path, content, *BINARY)

    assert list(made.skipped) == ["unreadable"]
    assert len(made.questions) == 2


def test_an_object_is_read_by_dotted_paths(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 8609, "meta": {"p": 0.1, "topics": ["x", {"name": "y"}]}, "a.b": 1.50},
        {"id": "q-2", "meta": {"p": None, "topics": []}, "done": True},
        {"id": "q-3", "meta": None},
    ]
    made = from_objects(
        tmp_path, rows,
        "--set", "id=id", *TIMES, "--forecaster", "m=meta.p",
        "--set", "tag.first=meta.topics.0", "--set", "tag.second=meta.topics.1.name",
        "--set", "tag.third=a.b", "--set", "tag.done=done",
    )  # fmt: skip

    assert [each["id"] for each in made.questions] == ["8609", "q-2", "q-3"]
    assert made.questions[0]["tags"] == {"first": "x", "second": "y", "third": "1.5"}
    assert made.questions[1]["tags"] == {"done": "true"}
    assert made.vectors == [{"yes": "0.1", "no": "0.9"}]
    assert made.report["without_forecast"] == {"m": 2}


UNREADABLE = {
    "no JSON": "{",
    "no object": "[1]",
    "a key twice": '{"id": "q-1", "id": "q-2"}',
    "no number": '{"id": "q-1", "p": NaN}',
    "no text": '{"id": "\\ud800"}',
    "too long": '{"id": "' + "x" * (1 << 20) + '"}',
}


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE)
def test_a_line_that_is_no_object_is_skipped(tmp_path: Path, line: str) -> None:
    content = f'{{"id": "q-0", "p": 1}}\n{line}\n\n{{"id": "q-9", "p": 0}}'
    made = imported(tmp_path, "jsonl", content, *BINARY)
    ((reason, (place,)),) = made.skipped.items()

    assert reason in ("unreadable", "not-unicode")
    assert place.startswith("line 2: ")
    assert [each["id"] for each in made.questions] == ["q-0", "q-9"]
    assert made.report["rows"] == 3


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_is_read_up_to_its_limit_without_its_end(
    tmp_path: Path, more: int, end: str, *, is_read: bool
) -> None:
    row = '{"id": "q-1", "p": 1}'.ljust((1 << 20) + more)
    first = '{"id": "q-0", "p": 1}\n'
    made = imported(tmp_path, "jsonl", f"{first}{row}{end}", *BINARY)
    assert len(made.questions) == 1 + is_read


def test_a_list_or_an_object_is_no_value(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": ["a", "b"], "p": 0.5},
        {"id": "q-1", "p": [0.5, 0.5]},
        {"id": "q-2", "p": {"yes": 1}},
    ]
    made = from_objects(tmp_path, rows, *BINARY)

    assert made.report["skipped"]["not-one-value"]["places"] == ["line 1: id is a list"]
    assert made.report["skipped_forecasts"]["not-one-value"]["places"] == [
        "line 2: p is a list",
        "line 3: p is an object",
    ]


# --- The map --------------------------------------------------------------------------

MAP = """
answers = ["win", "lose"]
percent = true
assume_utc = true
delimiter = ";"

[set]
id = "{day}/{team}"
tag.team = "team"
opened_at = "day"
cutoff_at = "{day}+12h"
resolve_by = "{day}+1d"
outcome = "r"
published_at = "{day}+1d"

[forecasters]
model = "p"
"v1.5" = { win = "w", lose = "l" }

[outcomes]
1 = "win"
0.5 = "VOID:tie"
"""


def test_a_map_may_stand_in_a_file_and_options_overrule_it(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    content = "day;team;p;w;l;r\n2025-03-02;A;75;20;80;1\n2025-03-03;B;50;50;50;0.5\n"
    given = ("--map", str(tmp_path / "map.toml"))
    made = from_csv(tmp_path, content, *given)
    other = from_csv(
        tmp_path, content, *given, "--set", "id=team", "--forecaster", "model==10",
        "--answers", "win,lose", "--outcome", "0.5=lose",
    )  # fmt: skip

    assert made.vectors[:2] == [
        {"win": "0.75", "lose": "0.25"},
        {"win": "0.2", "lose": "0.8"},
    ]
    assert made.questions[0]["tags"] == {"team": "A"}
    assert made.questions[0]["cutoff_at"] == "2025-03-02T12:00:00Z"
    assert made.outcomes == [("RESOLVED", "win"), ("VOID", "tie")]
    assert other.vectors[0] == {"win": "0.1", "lose": "0.9"}
    assert other.questions[0]["id"] == "A"
    assert other.outcomes == [("RESOLVED", "win"), ("RESOLVED", "lose")]


# A map that cannot be meant is refused before a row is read.
UNFIT_MAPS: dict[str, tuple[tuple[str, ...], str]] = {
    "a misspelt field": ((*BINARY, "--set", "cut_off=id"), "did you mean cutoff_at?"),
    "a field of a far name": ((*BINARY, "--set", "zzz=id"), "there are template, id"),
    "no id": ((*TIMES, "--forecaster", "m=p"), "does not say id: add --set id=COLUMN"),
    "no times": (("--set", "id=id"), "opened_at, cutoff_at and resolve_by"),
    "no publication": ((*BINARY, "--set", "outcome=p"), "does not say published_at"),
    "a source of nothing": ((*BINARY, "--set", "id="), "is not --set FIELD=SOURCE"),
    "a setting without a sign": ((*BINARY, "--set", "id"), "is not --set FIELD=SOURCE"),
    "a brace that does not close": ((*BINARY, "--set", "text={id"), "does not close"),
    "a column that is not there": ((*BINARY, "--set", "target=team"), "no column 'team'"),
    "a column in a text that is not there": (
        (*BINARY, "--set", "target={id}{team}"),
        "no column 'team'",
    ),
    "a probability of nobody": (
        ("--set", "id=id", *TIMES, "--set", "probability=p"),
        "needs both",
    ),
    "somebody without a probability": (
        ("--set", "id=id", *TIMES, "--set", "forecaster=id"),
        "needs both",
    ),
    "two ways to say a probability": (
        (*BINARY, "--set", "forecaster==x", "--set", "probability=p", "--set", "probability.yes=p"),
        "exclude each other",
    ),
    "an answer without a source": (
        (*BINARY, "--answers", "a,b,c"),
        "forecaster model is over a, and the answers are a, b, c",
    ),
    "an outcome that means no answer": (
        (*RESOLVED, "--outcome", "1=maybe"),
        "an outcome means 'maybe', which is no answer (yes, no)",
    ),
    "a status without a reason": ((*RESOLVED, "--outcome", "1=VOID"), "such as VOID:tie"),
    "a reason for nothing": ((*RESOLVED, "--outcome", "1=PENDING:x"), "which is no answer"),
    "what belongs to an outcome": ((*BINARY, "--set", "note=id"), "note belongs to an outcome"),
    "what belongs to a forecast": (
        ("--set", "id=id", *TIMES, "--set", "model_version=id"),
        "model_version belongs to a forecast",
    ),
    "no encoding": ((*BINARY, "--encoding", "utf-99"), "there is no encoding 'utf-99'"),
    "no delimiter": ((*BINARY, "--delimiter", "::"), "is not one character"),
    "a map that is not there": (("--map", "nowhere.toml"), "nowhere.toml cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "sentence"), UNFIT_MAPS.values(), ids=UNFIT_MAPS)
def test_a_map_that_cannot_be_meant_is_refused(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(tmp_path, "csv", "id,p,r\nq-1,0.5,1\n", *options)


UNFIT_FILES = {
    "no TOML": ("answers = ", "is no TOML"),
    "an unknown key": ("assume_utcs = true", "did you mean assume_utc?"),
    "another type": ("assume_utc = 1", "is no map of a table"),
    "a list for a table": ("set = ['id']", "is no map of a table"),
}


@pytest.mark.parametrize(("toml", "sentence"), UNFIT_FILES.values(), ids=UNFIT_FILES)
def test_a_map_file_that_is_none_is_refused(
    tmp_path: Path, toml: str, sentence: str
) -> None:
    (tmp_path / "map.toml").write_text(toml)
    given = ("--map", str(tmp_path / "map.toml"))

    assert sentence in refusal(tmp_path, "csv", "id\nq-1\n", *given)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "has no column 'id'; it has none"),
        ("id,p,p\n", "has two columns 'p'"),
        ("id,p\n", "nothing was imported"),
        ("id,p\n,0.5\n", "nothing was imported"),
    ],
)
def test_where_nothing_can_be_read_there_is_no_file(
    tmp_path: Path, content: str, sentence: str
) -> None:
    out = tmp_path / "drafts.jsonl"

    assert sentence in refusal(tmp_path, "csv", content, *BINARY, "--out", str(out))
    assert not out.exists()


# --- Into a ledger --------------------------------------------------------------------

REPLAYED = {
    "csv": (
        "id,a,b,c,r,s\nq-1,0.5,0.3,0.2,a,x\nq-1,0.6,0.3,0.1,a,x\nq-2,0,0,1,,y\n",
        (*THREE, "--set", "outcome=r", *PUBLISHED, "--set", "tag.kind=s",
         "--set", "source==the registry"),
    ),
    "jsonl": ('{"id": 1, "p": 0.25, "r": 1}\n{"id": 2, "p": 1, "r": 0}\n', MAPPED),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "given"), REPLAYED.items(), ids=REPLAYED)
def test_a_ledger_takes_the_suite_and_then_every_draft(
    tmp_path: Path, kind: str, given: tuple[str, tuple[str, ...]]
) -> None:
    content, options = given
    made = imported(tmp_path, kind, content, *options)
    file = tmp_path / f"table.{kind}"
    toml = Console(tmp_path).must("import", kind, file, *options, "--suite-toml").stdout
    manifest = manifest_from_toml(toml)

    assert gaps(manifest, ROLES) == []
    assert freeze_manifest(manifest, ROLES).chronology == "claimed"
    assert Archive(tmp_path, toml).append(made.drafts) == len(made.drafts)


def test_the_suite_of_a_table_is_under_the_names_that_were_given(
    tmp_path: Path,
) -> None:
    file = tmp_path / "table.csv"
    file.write_text('id,who,p\nq-1,past-rate,0.5\nq-2,"a ""b""",0.5\n')
    options = (
        "--set", "id=id", *TIMES, "--set", "forecaster=who", "--set", "probability=p",
        "--suite", "mine@v2", "--owner", "eve", "--resolver", "rob", "--sealed-by", "fay",
    )  # fmt: skip
    console = Console(tmp_path)
    manifest = manifest_from_toml(
        console.must("import", "csv", file, *options, "--suite-toml").stdout
    )
    drafts = console.must("import", "csv", file, *options, "--issuer", "ida").objects

    assert manifest["suite"] == "mine@v2"
    assert (manifest["owner"], manifest["resolvers"]) == ("eve", ["rob"])
    assert [each["name"] for each in manifest["competitors"]] == [
        "past-rate",
        'a "b"',
        "past-rate-computed",
    ]
    assert manifest["competitors"][0]["principal"] == "fay"
    assert manifest["templates"][0]["max_open_hours"] == 31 * 24
    assert {each["author"] for each in drafts} == {"ida", "fay"}
    assert {each["suite"] for each in drafts} == {"mine@v2"}


def test_drafts_go_to_a_file_and_the_report_to_stdout(tmp_path: Path) -> None:
    file, out = tmp_path / "table.csv", tmp_path / "drafts.jsonl"
    file.write_text("id,p\nq-1,0.5\n")
    shown = Console(tmp_path).must(
        "import", "csv", file, *BINARY, "--out", out, "--json"
    )

    assert shown.object["used"] == 1
    assert shown.stderr == ""
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 2


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    file, pipe = tmp_path / "table.csv", tmp_path / "pipe"
    file.write_text("id,p\nq-1,0.5\n")
    os.mkfifo(pipe)
    words = ["import", "csv", str(file), *BINARY, "--out", str(pipe)]
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text)
        Console(tmp_path).must(*words)

    assert len(read.result().splitlines()) == 2
    assert pipe.is_fifo()


def test_a_table_may_come_from_stdin(tmp_path: Path) -> None:
    shown = Console(tmp_path).must("import", "csv", "-", *BINARY, stdin="id,p\nq-1,1\n")

    assert len(shown.objects) == 2


def test_every_reason_and_every_conversion_has_words() -> None:
    assert all(REASONS.values())
    assert all(CONVERSIONS.values())
