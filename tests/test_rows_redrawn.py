"""Every interval is drawn again by whoever has the row, the manifest and the log.

What draws here shares no code with the product: it reads events and a row's JSON, and
goes by `docs/rows.md` and METRICS §§0.2, 0.8, 10 alone.
"""

import json
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from hashlib import sha256, shake_256
from math import ceil
from typing import Any, NamedTuple

import msgspec
import pytest

from ledger import codec
from ledger.canonical import canonical_text
from ledger.cli.explain import print_explained
from ledger.events import ForecastSealed, Quantity, Question, ResolutionRecorded
from ledger.projections.explaining import explained
from ledger.projections.export_points import points
from ledger.suite import Ablation, SuiteManifest
from tests.reporting import Row, row
from tests.simulator import History, ppm_text, suite
from tests.test_rows_blocks import NUMBER

CLUSTERS, OF_RIVAL, OF_NUMBERS, OF_REPO = 16, 12, 11, 13
# Nobody is promoted unless the reference is on every unit.
WATCHED = "gates.promotion.loss_increase.tag:repo=a"
TIERS = {"rival": "L0", "native": "L0+L1"}
CONTEXT = Context(prec=50, rounding=ROUND_HALF_EVEN)


def declared(**changes: Any) -> SuiteManifest:
    """Return a suite in which the rival is reference, R1 and the lower tier."""
    stated: dict[str, Any] = {
        "scoring__reference": "rival",
        "scoring__primary": "brier",
        "quantities": {"cost": NUMBER},
        "gates__promotion__slices": ["tag:repo"],
    }
    made = suite(**{**stated, **changes})
    order = Ablation(name="evidence", kind="cumulative", order=("rival", "native"))
    competitors = tuple(
        msgspec.structs.replace(
            each,
            role="r1" if each.name == "rival" else None,
            layer="baseline" if each.name == "rival" else each.layer,
            evidence_tier=TIERS.get(each.name),
        )
        for each in made.competitors
    )
    return msgspec.structs.replace(made, ablations=(order,), competitors=competitors)


def told(
    of_rival: int = OF_RIVAL,
    of_numbers: int = OF_NUMBERS,
    of_repo: int = OF_REPO,
    **changes: Any,
) -> History:
    """Forecast two units of each cluster; on the first clusters the rival does too.

    The first clusters have numbers, and the tag of a slice that a promotion watches.
    """
    history = History(declared(**changes))
    asked = [
        history.question(
            f"u-{cluster:02}-{unit}",
            cluster=f"c-{cluster:02}",
            tags={"repo": "a"} if cluster < of_repo else {},
        )
        for cluster in range(CLUSTERS)
        for unit in range(2)
    ]
    for at, question in enumerate(asked):
        p = ppm_text((at * 37 % 89 + 6) * 10_000)
        stated = {"cost": Quantity(point=str(at % 5))} if at < 2 * of_numbers else {}
        history.seal(question, p, quantities=stated)
        if at < 2 * of_rival:
            history.seal(question, ppm_text(600_000 - 7_000 * at), forecaster="rival")
    history.wait(hours=3)
    for at, question in enumerate(asked):
        values = {"cost": "3"} if at < 2 * of_numbers else {}
        history.resolve(question, "pass" if at % 3 else "fail", values=values)
    return history


# --- From the log alone ----------------------------------------------------------------


class Unit(NamedTuple):
    """What the log says of a unit: its line in a cohort's hash, and who said what."""

    line: bytes
    cluster: str
    outcome: str
    said: dict[str, Fraction]
    points: dict[str, Fraction]
    observed: Fraction | None


def units_of(history: History) -> list[Unit]:
    """Return the resolved units of a log, in the order of their lines."""
    events = [codec.decode(entry.payload) for entry in history.entries]
    questions: dict[str, Question] = {}
    said: dict[str, dict[str, dict[str, Fraction]]] = {}
    points: dict[str, dict[str, Fraction]] = {}
    for event in events:
        if isinstance(event, ForecastSealed) and event.question is not None:
            asked = codec.question_hash(event.question)
            questions[asked] = event.question
            by = said.setdefault(asked, {})
            by[event.forecaster] = {
                answer: Fraction(p) for answer, p in event.probabilities.items()
            }
            for quantity in event.quantities.values():
                points[asked] = {event.forecaster: Fraction(str(quantity.point))}
    found = []
    for event in events:
        if not isinstance(event, ResolutionRecorded):
            continue
        question, outcome = questions[event.question_hash], str(event.outcome)
        name = [event.suite, question.template, question.id, question.horizon]
        by = said[event.question_hash]
        found.append(
            Unit(
                canonical_text([*name, event.status, outcome]).encode() + b"\n",
                str(question.cluster),
                outcome,
                {who: vector[outcome] for who, vector in by.items()},
                points.get(event.question_hash, {}),
                Fraction(event.values["cost"]) if event.values else None,
            )
        )
    return sorted(found, key=lambda unit: unit.line)


def bits(p: Fraction) -> int:
    """Return the clipped log score of a probability, in units of 1e-12."""
    p = min(max(p, Fraction(1, 1000)), Fraction(999, 1000))
    share = CONTEXT.divide(Decimal(p.numerator), Decimal(p.denominator))
    exact = CONTEXT.divide(CONTEXT.ln(share), CONTEXT.ln(Decimal(2)))
    return int(CONTEXT.multiply(exact, Decimal(10**12)).to_integral_value())


def brier(p: Fraction) -> int:
    return int((1 - p) ** 2 * 10**12)


# Sums over a resample's units, and what is made of them.
Sums = Callable[[Unit], tuple[int, int]]


def mean_of(score: Callable[[Unit], int]) -> Sums:
    return lambda unit: (score(unit), 10**12)


def gain(unit: Unit) -> int:
    return bits(unit.said["native"]) - bits(unit.said["rival"])


def less(unit: Unit) -> tuple[int, int]:
    """Return the parts of a skill: the loss that was saved, and the reference's."""
    theirs = brier(unit.said["rival"])
    return theirs - brier(unit.said["native"]), theirs


STATISTICS: dict[str, Sums] = {
    "scores.brier": mean_of(lambda unit: brier(unit.said["native"])),
    "scores.bss_frozen": less,
    "scores.reference_brier": mean_of(lambda unit: brier(unit.said["rival"])),
    "scores.skill_vs_r1_bits": mean_of(gain),
    "quantities.cost.scores.absolute_error": mean_of(
        lambda unit: int(abs((unit.observed or 0) - unit.points["native"]) * 10**12)
    ),
    "ablations.evidence.lifts.0": mean_of(gain),
    # Nothing was resolved when they sealed, so that the past rate said one half.
    WATCHED: mean_of(lambda unit: brier(unit.said["native"]) - brier(Fraction(1, 2))),
}


def drawn_again(
    inference: dict[str, Any], units: list[Unit], sums: Sums
) -> tuple[str, str]:
    """Return the ends of an interval, as rows write them."""
    names = sorted({unit.cluster for unit in units}, key=str.encode)
    assert inference["K"] == len(names)
    totals = {name: [0, 0] for name in names}
    for unit in units:
        for at, part in enumerate(sums(unit)):
            totals[unit.cluster][at] += part
    cohort = sha256(b"sealed-ledger/cohort/v1\n" + b"".join(u.line for u in units))
    assert inference["cohort_hash"] == cohort.hexdigest()
    root = bytes.fromhex(inference["root_seed"])
    seed = sha256(b"forecast-ledger/row-seed/1\0" + root + cohort.digest()).digest()
    assert inference["row_seed"] == seed.hex()
    label, resamples = inference["label"].encode(), inference["B"]
    head = b"forecast-ledger/rng/1\0" + seed + b"\0" + label
    words = shake_256(head).digest(8 * resamples * len(names))
    drawn = [
        int.from_bytes(words[at : at + 8], "little") % len(names)
        for at in range(0, len(words), 8)
    ]
    found = []
    for first in range(0, len(drawn), len(names)):
        chosen = [totals[names[at]] for at in drawn[first : first + len(names)]]
        found.append(Fraction(sum(a for a, _ in chosen), sum(b for _, b in chosen)))
    found.sort()
    tail = Fraction(inference["alpha"]) / 2
    lo, hi = (found[ceil(resamples * share) - 1] for share in (tail, 1 - tail))
    return text(lo), text(hi)


def text(value: Fraction) -> str:
    units = round(value * 10**12)
    whole, rest = divmod(abs(units), 10**12)
    return f"{'-' if units < 0 else ''}{whole}.{rest:012}"


def at(found: Any, path: str) -> Any:
    for key in path.split("."):
        found = found[int(key) if key.isdigit() else key]
    return found


@pytest.fixture(scope="module")
def history() -> History:
    return told()


@pytest.fixture(scope="module")
def published(history: History) -> Row:
    """Return a row as others get it: its JSON."""
    found: Row = json.loads(json.dumps(row(history)))
    return found


@pytest.fixture(scope="module")
def matched() -> History:
    return told(of_rival=CLUSTERS)


ON = {
    "scores.brier": CLUSTERS,
    "quantities.cost.scores.absolute_error": OF_NUMBERS,
    WATCHED: OF_REPO,
}


@pytest.mark.parametrize("path", STATISTICS)
def test_an_interval_is_drawn_again_from_the_row_and_the_log_alone(
    path: str, history: History, published: Row, matched: History
) -> None:
    is_watched = path == WATCHED
    log, found = (matched, row(matched)) if is_watched else (history, published)
    shown = at(found, path)
    own = {"cohort_hash": found["cohort_hash"], **shown.get("drawn", {})}
    inference = {**found["inference"], **own}
    clusters = ON.get(path, OF_RIVAL)
    units = [unit for unit in units_of(log) if unit.cluster < f"c-{clusters:02}"]
    assert shown["n"] == len(units) == 2 * clusters
    assert (shown["lo"], shown["hi"]) == drawn_again(inference, units, STATISTICS[path])


def intervals_in(found: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield whatever has ends, or a reason for none, with where it stands."""
    if isinstance(found, dict):
        if "ci_reason" in found or ("lo" in found and "n" in found):
            yield path, found
        for name, inner in found.items():
            yield from intervals_in(inner, f"{path}.{name}")
    elif isinstance(found, list):
        for number, inner in enumerate(found):
            yield from intervals_in(inner, f"{path}.{number}")


DRAWN_IN = ("scores", "utility", "quantities", "ablations", "gates")


def drawn_of(found: Row) -> dict[str, Any]:
    """Return what each interval of a row says of its own cohort, by where it stands."""
    return {
        path: shown.get("drawn")
        for block in DRAWN_IN
        for path, shown in intervals_in(found.get(block, {}), block)
    }


def test_what_is_over_other_units_than_its_row_says_so_and_nothing_else_does(
    published: Row, matched: History
) -> None:
    apart: set[str] = set()
    for found in (published, row(matched)):
        units = found["counts"]["scored"]
        for block in DRAWN_IN:
            for path, shown in intervals_in(found.get(block, {}), block):
                assert ("drawn" in shown) is (shown["n"] != units), path
        apart |= {path for path, drawn in drawn_of(found).items() if drawn}
    assert apart >= {path for path in STATISTICS if path != "scores.brier"}


def test_where_everybody_is_on_all_units_no_interval_has_to_say_of_what_it_is() -> None:
    found = row(told(of_rival=CLUSTERS, of_numbers=CLUSTERS, of_repo=CLUSTERS))
    assert set(STATISTICS) <= set(drawn_of(found))
    assert set(drawn_of(found).values()) == {None}


@pytest.mark.parametrize(("few", "is_few"), [(OF_RIVAL, False), (OF_RIVAL + 1, True)])
def test_a_score_on_few_clusters_says_so_in_a_row_that_has_enough(
    *, few: int, is_few: bool
) -> None:
    found = row(told(statistics__few_clusters=few))
    assert "few_clusters" not in found["labels"]
    drawn = found["scores"]["skill_vs_r1_bits"]["drawn"]
    assert drawn.get("few_clusters", False) is is_few


def test_a_score_without_enough_clusters_says_how_many_it_has() -> None:
    scores = row(told(of_rival=9))["scores"]
    assert scores["bss_frozen"]["ci_reason"] == "clusters_lt_min"
    assert scores["bss_frozen"]["drawn"]["K"] == 9
    assert scores["brier"]["lo"] is not None


def test_a_point_that_leaves_its_row_takes_along_of_what_it_was_drawn(
    published: Row,
) -> None:
    found = {each["path"]: each for each in points(published)}
    assert found["self/bss"]["drawn"] == published["scores"]["bss_frozen"]["drawn"]
    assert "drawn" not in found["self/brier"]


def test_an_explanation_shows_the_inference_of_the_score_and_not_of_its_row(
    published: Row,
) -> None:
    for score, clusters in (("skill_vs_r1_bits", OF_RIVAL), ("brier", CLUSTERS)):
        (shown,) = explained(score, [published], {})["rows"]
        drawn = published["scores"][score].get("drawn", {})
        assert shown["inference"] == {**published["inference"], **drawn}
        assert shown["inference"]["K"] == clusters
        assert shown["cohort_hash"] == published["cohort_hash"]
        assert ("counts.clusters" in shown["inputs"]) is not bool(drawn)


def test_people_see_the_clusters_that_a_score_was_drawn_from_and_not_its_row_s(
    capsys: pytest.CaptureFixture[str], published: Row
) -> None:
    print_explained(explained("bss_frozen", [published], {}))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    told_of = {" ".join(words[:-1]): words[-1] for words in lines if words}
    drawn = published["scores"]["bss_frozen"]["drawn"]
    assert (told_of["K"], told_of["few_clusters"]) == ("12", "True")
    assert told_of["row_seed"] == drawn["row_seed"]
    assert told_of["cohort_hash"] == drawn["cohort_hash"]
    assert told_of["row's cohort_hash"] == published["cohort_hash"]
    print_explained(explained("brier", [published], {}))
    shown = capsys.readouterr().out
    assert "row's cohort_hash" not in shown
    assert published["cohort_hash"] in shown


def test_an_interval_that_is_drawn_from_nothing_shows_no_resamples(
    published: Row,
) -> None:
    (shown,) = explained("calibration_slope", [published], {})["rows"]
    assert shown["lo"] is not None
    assert shown["inference"] is None
