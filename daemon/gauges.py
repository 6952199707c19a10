"""A daemon's status as Prometheus reads it: text exposition format 0.0.4."""

from collections.abc import Iterator
from typing import Any

_PREFIX = "sealed_ledger"
_COUNTED = {
    "appended": "Events in the log that were asked for, repetitions included.",
    "refused": "Events that the door refused.",
    "commits": "Transactions that were made durable.",
    "faults": "Requests that a fault of this program cost; the journal has its trace.",
    "busy": "Requests that were sent away because the queue was full.",
}


def exposition(status: dict[str, Any]) -> str:
    """Return what the method `status` answered, as lines for Prometheus.

    >>> print(exposition({"entries": 2, "queue": {"events": 0, "bytes": 0, "reads": 0},
    ...     "connections": {"agent": 1}, "counts": {}, "suites": [],
    ...     "inbox": {"waiting": 0}, "pinned_files_changed": [],
    ...     "journal_lines_lost": 0}).splitlines()[2])
    sealed_ledger_entries 2
    """
    return "".join(f"{line}\n" for line in _lines(status))


def _lines(status: dict[str, Any]) -> Iterator[str]:
    yield from _metric(
        "entries", "gauge", "Entries in the log.", {"": status["entries"]}
    )
    queue = status["queue"]
    yield from _metric(
        "queue_events",
        "gauge",
        "Events that wait for the writer.",
        {"": queue["events"]},
    )
    yield from _metric(
        "queue_bytes", "gauge", "Bytes that wait for the writer.", {"": queue["bytes"]}
    )
    yield from _metric(
        "reads", "gauge", "Reads that are under way.", {"": queue["reads"]}
    )
    sides = {
        f'{{side="{side}"}}': count for side, count in status["connections"].items()
    }
    yield from _metric("connections", "gauge", "Clients connected.", sides)
    for name, count in status["counts"].items():
        yield from _metric(f"{name}_total", "counter", _COUNTED[name], {"": count})
    waiting, changed = status["inbox"]["waiting"], len(status["pinned_files_changed"])
    what = "Dropped files that are not taken yet."
    yield from _metric("inbox_files", "gauge", what, {"": waiting})
    what = "Suites that take no forecasts, since a file that they pin has changed."
    yield from _metric("pinned_files_changed", "gauge", what, {"": changed})
    lost = status["journal_lines_lost"]
    what = "Lines that the journal could not be given."
    yield from _metric("journal_lines_lost_total", "counter", what, {"": lost})


def _metric(name: str, kind: str, what: str, values: dict[str, int]) -> Iterator[str]:
    yield f"# HELP {_PREFIX}_{name} {what}"
    yield f"# TYPE {_PREFIX}_{name} {kind}"
    for labels, value in values.items():
        yield f"{_PREFIX}_{name}{labels} {value}"
