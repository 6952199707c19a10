"""What came of a run, as a record for its resolver: an exit status is the evidence."""

from fractions import Fraction

from ledger.clock import instant_text
from ledger.daemon.running_child import (
    EXITED,
    INTERRUPTED,
    LOST,
    NOT_STARTED,
    TERMINATED,
    TIMED_OUT,
    Ended,
)
from ledger.daemon.running_seal import RUNTIME, Fields, Order, Sealed, declared
from ledger.errors import LedgerError
from ledger.suite import SuiteManifest

FORMAT = "observation/1"
_SOURCE = "exit status"
_STATUS = {
    TIMED_OUT: "CENSORED",
    INTERRUPTED: "CANCELED",
    TERMINATED: "CANCELED",
    NOT_STARTED: "CANCELED",
    LOST: "CANCELED",
}
# As hooks say what they saw of a run.
_WHAT = {
    TIMED_OUT: "timed-out",
    INTERRUPTED: "canceled",
    TERMINATED: "canceled",
    NOT_STARTED: "failed",
    LOST: "canceled",
}
_MICROS_OF = {
    "ms": 1_000,
    "s": 1_000_000, "second": 1_000_000, "seconds": 1_000_000,
    "min": 60_000_000, "minute": 60_000_000, "minutes": 60_000_000,
    "h": 3_600_000_000, "hour": 3_600_000_000, "hours": 3_600_000_000,
}  # fmt: skip
_PLACES = 6


def outcome(order: Order, sealed: Sealed, ended: Ended) -> Fields:
    """Return the record of how a run ended, as a draft that names no author."""
    suite, template, id_, horizon = sealed.name
    answers, positive = sealed.meant.template.answers, sealed.meant.template.positive
    other = next(each for each in answers if each != positive)
    is_outcome = ended.how == EXITED
    said = {
        "outcome": (positive if ended.code == 0 else other) if is_outcome else None,
        "reason_code": None if is_outcome else ended.how,
        "started_at": None
        if ended.how == NOT_STARTED
        else instant_text(ended.started_at),
        "occurred_at": instant_text(ended.ended_at) if is_outcome else None,
        "published_at": instant_text(ended.ended_at) if is_outcome else None,
        "acceptance_hash": _bar(order, sealed),
        "values": _values(sealed.meant.manifest, ended) if is_outcome else None,
    }
    return {
        "type": "ResolutionRecorded",
        "suite": suite,
        "template": template,
        "id": id_,
        "horizon": horizon,
        "status": _STATUS.get(ended.how, "RESOLVED"),
        "source": _SOURCE,
        "run": {"runtime": RUNTIME, "key": sealed.receipt.event_id},
        **{name: value for name, value in said.items() if value},
    }


def _bar(order: Order, sealed: Sealed) -> str | None:
    """Return the bar that was applied: what its file holds now that the run is over."""
    try:
        return order.bar() or sealed.acceptance_hash
    except LedgerError:
        return None  # Its file is gone: nobody can say by what was judged.


def observation(sealed: Sealed, ended: Ended, record: Fields) -> Fields:
    """Return what was seen of a run, with the record that it would be: the draft."""
    what = "finished" if ended.code == 0 else "failed"
    return {
        "format": FORMAT,
        "observed_at": instant_text(ended.ended_at),
        "run": record["run"],
        "unit": list(sealed.name),
        "what": _WHAT.get(ended.how, what),
        "exit_status": ended.code,
        "duration_us": ended.duration_us,
        "draft": record,
    }


def _values(manifest: SuiteManifest, ended: Ended) -> dict[str, str]:
    """Return what was measured: how long it took, in the unit that the suite declares."""
    name = declared(manifest, "duration")
    micros = None if name is None else _MICROS_OF.get(manifest.quantities[name].unit)
    if name is None or micros is None:
        return {}
    scaled = round(Fraction(ended.duration_us * 10**_PLACES, micros))
    whole, rest = divmod(scaled, 10**_PLACES)
    places = f"{rest:0{_PLACES}d}".rstrip("0")
    return {name: f"{whole}.{places}" if places else f"{whole}"}


def in_words(record: Fields) -> str:
    """Return a record as a note says it."""
    return str(record.get("outcome") or f"{record['status']} ({record['reason_code']})")
