from tests.reporting import row
from tests.simulator import History, suite


def told(*, last: str) -> History:
    """Return six targets on two days, of which the last one's second unit is `last`."""
    history = History(suite(coverage__minimum="0.5"))
    for day in range(2):
        asked = [
            history.question(f"d-{day}-{target}", target=f"t-{target}", slot=f"s-{day}")
            for target in range(6)
        ]
        for target, question in enumerate(asked):
            if last != "unforecast" or (day, target) != (1, 5):
                history.seal(question, "0.9" if target % 2 else "0.1")
        history.wait(hours=3)
        for target, question in enumerate(asked):
            if (day, target) != (1, 5):
                history.resolve(question, "pass" if target % 2 else "fail")
            elif last == "VOID":
                history.record(question, last)
        history.wait(hours=30)
    return history


def test_the_forecast_of_a_void_unit_can_stand_in_for_another_targets() -> None:
    found = row(told(last="VOID"))["gates"]["permutation"]
    assert (found["rows"], found["unpartnered"], found["targets"]) == (11, 0, 6)


def test_where_a_target_has_no_forecast_nobody_can_have_it() -> None:
    found = row(told(last="unforecast"))["gates"]["permutation"]
    assert (found["rows"], found["unpartnered"], found["targets"]) == (6, 5, 6)
