"""What a runtime says of a run that was let start: that it began, or how it ended.

An end is left as an observation for the resolver, whose key alone records an outcome.
On the hook's start-up path.
"""

from ledger.daemon.hook_forecast import instant
from ledger.daemon.hook_journal import observe
from ledger.daemon.hook_payload import Delivery
from ledger.daemon.hook_request import run_of
from ledger.daemon.hook_unit import Desk

FORMAT = "observation/1"


def see_begun(desk: Desk, delivery: Delivery) -> None:
    """Remember which agent does a run that goes on in the background."""
    found = desk.journal.run_of(delivery)
    if found is not None:
        desk.journal.bind(delivery, found[0])


def see_end(desk: Desk, delivery: Delivery) -> None:
    """Leave an observation of how a run ended; of one that nobody let start, none."""
    found = desk.journal.run_of(delivery)
    if found is None:
        return
    place, run, inferred = found
    seen = {
        "format": FORMAT,
        "observed_at": instant(desk.now_ns),
        "run": run_of(delivery, inferred),
        "unit": run["unit"],
        "what": delivery.moment,
    }
    observe(desk.settings.observed, seen, [run["unit"], place, delivery.moment])
    # What was sent is needed no more; that it was this run's still is.
    kept = {name: value for name, value in run.items() if name != "request"}
    desk.journal.write(place, {**kept, "over": True})
