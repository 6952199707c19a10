"""What forecasts cost to make: summed over their chains, and nothing guessed."""

from collections.abc import Mapping
from typing import Any

import pytest

from ledger import codec
from ledger.projections.bundle_forecasts import read_forecasts
from tests.reporting import Row, report, row, rows
from tests.simulator import History
from tests.story import SALT

WITHOUT: Mapping[str, str] = {}


def costing(**amounts: str) -> dict[str, Any]:
    return {"extensions": {"cost": amounts}} if amounts else {}


def told(*chains: list[Mapping[str, str]], resolved: int | None = None) -> History:
    """Forecast a unit a chain, each vector with its costs; resolve the first ones."""
    history, asked = History(), []
    for number, (first, *others) in enumerate(chains):
        question = history.question(f"u-{number}")
        parent = history.seal(question, **costing(**first))
        for other in others:
            parent = history.update(question, parent, **costing(**other))
        asked.append(question)
    history.wait(hours=3)
    for question in asked[:resolved]:
        history.resolve(question)
    return history


def published(history: History) -> list[str | None]:
    """Return the column of a bundle's vectors that says what each cost."""
    made = report(history)
    made.refresh()
    found = read_forecasts(made.tables, history, [history.manifest.suite])
    return found["cost"].to_list()


def costs(history: History, forecaster: str = "native", **asked: Any) -> Row:
    return row(history, forecaster, **asked)["costs"]


def test_a_unit_costs_what_all_of_its_chain_cost() -> None:
    history = told(
        [{"usd": "0.5"}, {"usd": "0.25"}, WITHOUT], [{"usd": "1"}], [WITHOUT]
    )
    for slot in ("initial", "final", "all"):
        assert costs(history, slot=slot) == {
            "usd": {
                "value": "0.875000000000",
                "exact": "7/8",
                "n": 2,
                "total": "1.750000000000",
                "vectors": 3,
                "unreadable": 0,
            }
        }


def test_every_name_is_a_cost_of_its_own() -> None:
    history = told([{"usd": "0.5", "tokens": "1200"}], [{"tokens": "800"}])
    found = costs(history)
    assert {name: (each["exact"], each["n"]) for name, each in found.items()} == {
        "tokens": ("1000/1", 2),
        "usd": ("1/2", 1),
    }


@pytest.mark.parametrize(
    ("stated", "total"),
    [
        ("12", "12.000000000000"),
        ("0012.50", "12.500000000000"),
        ("-0.25", "-0.250000000000"),
        ("0." + "0" * 17 + "1", "0.000000000000"),
        ("9" * 18 + "." + "9" * 18, "1" + "0" * 18 + ".000000000000"),
        ("9" * 19, None),
        ("0." + "0" * 18 + "1", None),
        ("1e3", None),
        ("1,5", None),
        (".5", None),
        ("5.", None),
        ("+5", None),
        (" 5", None),
        ("5\n", None),
        ("\u0665", None),
        ("1_000", None),
        ("NaN", None),
        ("", None),
    ],
)
def test_only_decimals_are_amounts(stated: str, total: str | None) -> None:
    found = costs(told([{"usd": stated}]))["usd"]
    assert (found["total"], found["unreadable"]) == (total, int(total is None))
    assert found.get("reason") == (None if total else "empty")


def test_a_unit_with_a_statement_that_is_no_decimal_is_left_out() -> None:
    history = told(
        [{"usd": "1"}, {"usd": "a lot"}], [{"usd": "3"}], [{"usd": "5"}, WITHOUT]
    )
    found = costs(history)["usd"]
    assert (found["exact"], found["total"]) == ("4/1", "8.000000000000")
    assert (found["n"], found["vectors"], found["unreadable"]) == (2, 4, 1)


def test_costs_are_of_the_scored_units_alone() -> None:
    history = told([{"usd": "1"}], [{"usd": "2"}], resolved=1)
    assert costs(history)["usd"]["total"] == "1.000000000000"


def test_a_duplicate_cost_too() -> None:
    history = History()
    question = history.question()
    for amount in ("1", "2"):
        history.seal(question, **costing(usd=amount))
    history.wait(hours=3)
    history.resolve(question)
    assert costs(history)["usd"]["total"] == "3.000000000000"


def test_a_hidden_vector_cost_what_it_says_and_its_reveal_nothing() -> None:
    history = History()
    question = history.question()
    shown = history.vector(question, "0.8")
    draft = history.draft_seal(question, probabilities=shown)
    committed = codec.commitment(draft, parent=None, salt=SALT)
    sealed = history.seal(question, "", commitment=committed, **costing(usd="1"))
    history.wait(minutes=1)
    history.update(question, sealed, "0.8", opens=sealed, salt=SALT, **costing(usd="2"))
    history.wait(hours=3)
    history.resolve(question)
    assert costs(history)["usd"]["total"] == "1.000000000000"
    assert published(history) == ['{"usd":"1"}', None]


def test_a_bundle_has_of_each_vector_what_it_states_to_have_cost() -> None:
    history = told([{"usd": "0.50", "tokens": "1200"}, WITHOUT], [{"usd": "much"}])
    assert published(history) == [
        *('{"tokens":"1200","usd":"0.50"}', None),
        '{"usd":"much"}',
    ]


def test_each_forecaster_has_its_own_and_what_recalibrates_it_the_same() -> None:
    history = told([{"usd": "1"}])
    found = {each["forecaster"]: each.get("costs") for each in rows(history)}
    assert found.pop("native")["usd"]["total"] == "1.000000000000"
    assert found.pop("native-calibrated")["usd"]["total"] == "1.000000000000"
    assert found == dict.fromkeys(("rival", "past-rate", "own-routine"))


def test_without_a_statement_there_is_no_block() -> None:
    assert "costs" not in row(told([WITHOUT]))


@pytest.mark.parametrize(
    "extensions",
    [{"trace": {"cost": "5"}}, {"trace": {"trigger_id": "x"}}, {"costs": {"usd": "5"}}],
)
def test_what_is_called_cost_elsewhere_is_none(extensions: dict[str, Any]) -> None:
    history = History()
    question = history.question()
    history.seal(question, extensions=extensions)
    history.wait(hours=3)
    history.resolve(question)
    assert "costs" not in row(history)


def test_a_row_shows_a_hundred_names_at_most_those_that_are_stated_most() -> None:
    many = {f"c-{number:03}": "1" for number in range(105)}
    found = costs(told([many], [{"c-104": "1"}]))
    assert len(found) == 100
    assert set(many) - set(found) == {f"c-{number:03}" for number in range(99, 104)}


def test_the_table_has_each_statement_once_however_the_log_is_read() -> None:
    history = told([{"usd": "0.5"}, {"usd": "n/a"}], [{"tokens": "3"}])
    cells = report(history).tables.connection.execute(
        "SELECT seq, cost, stated FROM costs ORDER BY seq"
    )
    assert cells.fetchall() == [
        (2, "usd", "0.5"),
        (3, "usd", "n/a"),
        (4, "tokens", "3"),
    ]
