"""The views that take stored rows apart say what the rows say."""

import pytest

from tests.oracle import told
from tests.reporting import Row, report
from tests.simulator import History


@pytest.fixture(scope="module")
def shown() -> tuple[Row, list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Return `native`'s first row, its metrics, and its bins."""
    history = History()
    told(history, [300_000, 600_000, 950_000], [1, 0, 1])
    made = report(history)
    (first, *_) = made.rows(forecaster="native")
    named = "forecaster = 'native' AND horizon IS NULL AND slice IS NULL"
    connection = made.tables.connection
    metrics = connection.execute(
        f"SELECT metric, value, exact, lo, hi, n, reason, ci_reason FROM metrics WHERE {named}"
    ).fetchall()
    bins = connection.execute(
        f"SELECT bin, n, ones, mean_p, rate FROM calibration_bins WHERE {named}"
    ).fetchall()
    return first, metrics, bins


def test_each_score_of_a_row_is_a_line(
    shown: tuple[Row, list[tuple[object, ...]], list[tuple[object, ...]]],
) -> None:
    first, metrics, _ = shown
    keys = ("value", "exact", "lo", "hi", "n", "reason", "ci_reason")
    assert metrics == [
        (name, *(each.get(key) for key in keys))
        for name, each in sorted(first["scores"].items())
    ]


def test_each_bin_of_a_row_is_a_line(
    shown: tuple[Row, list[tuple[object, ...]], list[tuple[object, ...]]],
) -> None:
    first, _, bins = shown
    keys = ("bin", "n", "ones", "mean_p", "rate")
    told_of = first["reliability"]["bins"]
    assert bins == [tuple(each.get(key) for key in keys) for each in told_of]
