"""Between which bounds the numbers of a suite make sense, and in which order."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise

from ledger.suite_table import Gap, Table

# Each table of a manifest, and the range of each of its numbers: a bracket takes
# the bound in, a parenthesis leaves it out. A window, a bin or a sample of none
# would divide by nothing; a doubling from 0 would never end. A prior of more than
# a hundred outcomes drowns the past, and an interval that misses more often than it
# holds, or a test that chance passes more often than not, tells nothing.
_BOUNDS: dict[str, dict[str, str]] = {
    "coverage": {"minimum": "[0,1]"},
    "templates": {"max_open_hours": "[1,)"},
    "competitors": {
        "prior_count": "[0,100]",
        "prior_weight": "[0,100]",
        "min_past": "[1,)",
    },
    "scoring": {"clip": "(0,0.5)", "decisive": "[0,1]", "min_bin": "[1,)"},
    "statistics": {
        "level": "[0.5,1)",
        "resamples": "[100,)",
        "permutations": "[1,)",
        "min_clusters": "[2,)",
        "min_class": "[1,)",
        "min_curve": "[1,)",
        "min_slice": "[1,)",
        "max_undefined": "[0,1)",
        "looks": "[1,)",
    },
    "gates.permutation": {"alpha": "(0,0.5]", "retained": "(0,1]"},
    "gates.promotion": {"trivial_gain": "[0,)", "loss_margin": "[0,)"},
    "prequential": {
        "fading": "(0,1]",
        "window": "[1,)",
        "ph_delta": "[0,)",
        "ph_lambda": "(0,)",
        "recovery": "[0,)",
    },
    "utility": {
        "action_cost": "(0,)",
        "avoidable_loss": "(0,)",
        "thresholds": "(0,1)",
    },
    "quantities": {
        "levels": "(0,1)",
        "scale": "(0,)",
        "underage": "[0,)",
        "overage": "[0,)",
    },
}
# Lists that say a range or a schedule: each item is above the one before.
_ASCENDING: dict[str, tuple[str, ...]] = {
    "scoring": ("decisive",),
    "statistics": ("looks",),
    "gates.calibration": ("slope", "intercept"),
    "utility": ("thresholds",),
    "quantities": ("levels",),
}
# What a forecast without fault has, which its range must hold: else it would fail.
_FAULTLESS = {"slope": 1, "intercept": 0}
# Pairs of keys of one table of which the first may not be above the second.
_ORDERED: tuple[tuple[str, str, str], ...] = (
    ("statistics", "min_clusters", "few_clusters"),
    ("statistics", "min_class", "min_class_gate"),
    ("templates", "min_lead_hours", "max_open_hours"),
)
# Probabilities that scores are made with: parts per million, as all others.
_MILLIONTHS = {"scoring": ("clip", "decisive")}
_PLACES_MAX = 6


class Bound:
    """A range as `_BOUNDS` writes it, such as `(0,1]` or, without an end, `[1,)`."""

    def __init__(self, text: str) -> None:
        self._low, self._high = text[1:-1].split(",")
        self._takes_low, self._takes_high = text[0] == "[", text[-1] == "]"

    def takes(self, number: Fraction) -> bool:
        """Whether `number` lies in the range."""
        low = Fraction(self._low)
        if number < low or (number == low and not self._takes_low):
            return False
        if not self._high:
            return True
        high = Fraction(self._high)
        return number < high or (number == high and self._takes_high)

    def __str__(self) -> str:
        """Return the range in words."""
        least = f"{'at least' if self._takes_low else 'above'} {self._low}"
        if not self._high:
            return least
        return f"{least} and {'at most' if self._takes_high else 'below'} {self._high}"


def numbers_out_of_bounds(suite: Table) -> Iterator[Gap]:
    """Yield a gap for each number outside the range in which it means something."""
    for path, ranges in _BOUNDS.items():
        for table in _tables_at(suite, path):
            for key, text in ranges.items():
                allowed = Bound(text)
                for number in _numbers(table, key):
                    if not allowed.takes(Fraction(number)):
                        yield table.gap(
                            key,
                            f"is {number}",
                            f"write a number {allowed}",
                        )


def numbers_too_fine(suite: Table) -> Iterator[Gap]:
    """Yield a gap for each probability with more places than scores have."""
    for path, keys in _MILLIONTHS.items():
        for table in _tables_at(suite, path):
            for key in keys:
                for number in _numbers(table, key):
                    if len(str(number).partition(".")[2]) > _PLACES_MAX:
                        what = f"is {number}, finer than a millionth"
                        yield table.gap(key, what, "write at most six places")


def lists_out_of_order(suite: Table) -> Iterator[Gap]:
    """Yield a gap for each list of numbers that does not ascend."""
    for path, keys in _ASCENDING.items():
        for table in _tables_at(suite, path):
            for key in keys:
                numbers = _numbers(table, key)
                if any(Fraction(b) <= Fraction(a) for a, b in pairwise(numbers)):
                    written = ", ".join(map(str, numbers))
                    yield table.gap(
                        key,
                        f"is {written}",
                        "write each number above the one before",
                    )


def pairs_out_of_order(suite: Table) -> Iterator[Gap]:
    """Yield a gap for each pair of keys of which the smaller is the larger."""
    for path, small, large in _ORDERED:
        for table in _tables_at(suite, path):
            least, most = table.number(small), table.number(large)
            if least is None or most is None or Fraction(least) <= Fraction(most):
                continue
            what = f"is {least} and {large} is {most}"
            yield table.gap(small, what, f"it may not be above {large}")


def ranges_without_what_is_faultless(suite: Table) -> Iterator[Gap]:
    """Yield a gap for each range of calibration that a perfect forecast is outside of.

    Its slope is 1 and its intercept 0 (METRICS §9).
    """
    calibration = suite.table("gates").table("calibration")
    for key, faultless in _FAULTLESS.items():
        ends = [Fraction(number) for number in _numbers(calibration, key)]
        if ends and not min(ends) <= faultless <= max(ends):
            written = " to ".join(map(str, _numbers(calibration, key)))
            what = f"is {written}, and a perfect forecast has {faultless}"
            yield calibration.gap(key, what, "write a range that holds it")


def costs_without_a_choice(suite: Table) -> Iterator[Gap]:
    """Yield a gap for costs under which one action is always the best.

    Act if the probability is at least `action_cost / avoidable_loss`: a ratio of
    1 or more never acts, and a newsvendor's without costs has no best quantile.
    """
    utility = suite.table("utility")
    cost, loss = utility.number("action_cost"), utility.number("avoidable_loss")
    if cost is not None and loss is not None and Fraction(cost) >= Fraction(loss):
        what = f"is {cost}, and it avoids a loss of {loss}"
        yield utility.gap("action_cost", what, "an action that can pay costs less")
    for quantity in suite.tables("quantities"):
        under, over = quantity.number("underage"), quantity.number("overage")
        if (
            under is not None
            and over is not None
            and not Fraction(under) + Fraction(over)
        ):
            what = "is 0 and overage is 0"
            yield quantity.gap("underage", what, "one of them must cost something")


def splits_that_end_before_they_start(suite: Table) -> Iterator[Gap]:
    """Yield a gap for each split that holds no instant."""
    for split in suite.table("statistics").tables("splits"):
        start, end = split.instant("from"), split.instant("until")
        if start is not None and end is not None and end <= start:
            what = f"is {end:%Y-%m-%dT%H:%M:%SZ}, not after `from`"
            yield split.gap("until", what, "a split runs from the first to the last")


def _tables_at(suite: Table, path: str) -> Iterable[Table]:
    *outer, key = path.split(".")
    table = suite
    for name in outer:
        table = table.table(name)
    return table.tables(key)


def _numbers(table: Table, key: str) -> tuple[str | int, ...]:
    value = table.sound.get(key)
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
