"""What statistics stand on: the root seed, and columns over a row's scored units."""

from hashlib import sha256

import msgspec

from ledger.canonical import encode
from ledger.projections.entrants import Field
from ledger.projections.ground import Ground
from ledger.projections.parts import Parts
from ledger.projections.sample import sample
from ledger.projections.seeds import root_seed
from tests.reporting import board_of, suite_of, template
from tests.simulator import History, suite


def ground(
    history: History, slot: str = "initial", forecaster: str = "native"
) -> Ground:
    """Return what a forecaster's row over everything stands on."""
    field = Field(board_of(history))
    competitor = field.board.suite.manifest.competitor(forecaster)
    assert competitor is not None
    (part, *_) = Parts(field.board, ()).of(competitor, [])
    about = sample(field.board, field.enter(competitor, slot), part.units)
    return Ground(about, about.cohort(about.scored))


def told(history: History, **asked: tuple[str, str, dict[str, str]]) -> History:
    """Forecast and resolve questions, each with a probability, an outcome and traits."""
    questions = [
        (history.question(name.replace("_", "-"), **traits), p, outcome)
        for name, (p, outcome, traits) in asked.items()
    ]
    for question, p, _ in questions:
        history.seal(question, p)
    history.wait(hours=3)
    for question, _, outcome in questions:
        history.resolve(question, outcome)
    return history


# --- The root seed --------------------------------------------------------------------


def test_a_seed_that_a_suite_states_is_that_seed() -> None:
    stated = suite(statistics__root_seed="ab" * 32)
    assert root_seed(stated) == b"\xab" * 32


def test_a_seed_of_the_manifest_is_the_hash_of_everything_else_that_it_says() -> None:
    manifest = suite()
    content = msgspec.json.decode(encode(manifest))
    assert content["statistics"].pop("root_seed") == "manifest"
    assert root_seed(manifest) == sha256(encode(content)).digest()


def test_another_manifest_has_another_seed() -> None:
    assert root_seed(suite()) != root_seed(suite(title="Another"))


# --- Columns --------------------------------------------------------------------------


def test_units_stand_by_name_and_groups_have_codes_by_the_bytes_of_theirs() -> None:
    history = told(
        History(),
        d_2=("0.3", "fail", {"target": "é", "cluster": "b"}),
        d_1=("0.8", "pass", {"target": "z", "cluster": "é"}),
        d_3=("0.5", "pass", {"target": "z", "cluster": "Z"}),
    )
    found = ground(history)
    assert found.said is not None
    assert found.said.p_ppm.tolist() == [800_000, 300_000, 500_000]
    assert found.said.y.tolist() == [1, 0, 1]
    assert found.cluster.names == ["Z", "b", "é"]
    assert found.cluster.code.tolist() == [2, 1, 0]
    assert (found.target.names, found.target.code.tolist()) == (["z", "é"], [0, 1, 0])


def test_a_unit_without_an_outcome_is_in_no_column() -> None:
    history = History()
    history.seal(history.question())
    history.wait(hours=3)
    history.seal(history.question("later"))
    found = ground(history)
    assert (found.size, found.cluster.size) == (0, 0)
    assert found.said is not None
    assert found.said.p_ppm.tolist() == []


def test_several_vectors_of_a_unit_are_no_independent_forecasts() -> None:
    history = History()
    question = history.question()
    history.update(question, history.seal(question, "0.8"), "0.6")
    history.wait(hours=3)
    history.resolve(question)
    assert ground(history, "all").said is None
    final = ground(history, "final").said
    assert final is not None
    assert final.p_ppm.tolist() == [600_000]


def test_three_answers_have_no_event_in_common() -> None:
    history = History(suite_of(template(suite(), ("a", "b", "c"))))
    question = history.question()
    history.seal(question, {"a": "0.5", "b": "0.2", "c": "0.3"})
    history.wait(hours=3)
    history.resolve(question, "b")
    assert ground(history).said is None


def test_a_baseline_beside_all_units_stands_on_the_same_ground() -> None:
    history = told(History(), d_1=("0.8", "pass", {}), d_2=("0.4", "fail", {}))
    found = ground(history)
    assert found.beside("past-rate") is found
    assert found.beside("nobody") is None


def test_a_baseline_beside_some_units_stands_on_those() -> None:
    history = History(scoring__reference="rival")
    first, second = history.question("d-1"), history.question("d-2")
    history.seal(first)
    history.seal(second)
    history.seal(first, "0.6", forecaster="rival")
    history.wait(hours=3)
    history.resolve(first)
    history.resolve(second)
    found = ground(history)
    beside = found.beside("rival")
    assert beside is not None
    assert (found.size, beside.size) == (2, 1)
    assert beside.cohort.hash != found.cohort.hash
    assert found.beside("rival") is beside
