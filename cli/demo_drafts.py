"""The demo's drafts: tasks that are opened, forecast, revised and resolved."""

from datetime import datetime, timedelta
from typing import Any

from ledger.cli.demo_tasks import HORIZON, SUITE, TEMPLATE, Task
from ledger.clock import instant_text
from ledger.draft_vector import probability_text
from ledger.ids import sha256_hex
from ledger.spelling import PPM, ppm

Draft = dict[str, Any]


def opened(task: Task, now: datetime, cutoff: datetime) -> Draft:
    """Return the issuer's announcement of a task, with the hash of its program."""
    return {
        "type": "ResolutionRecorded",
        "author": "issuer",
        "suite": SUITE,
        "status": "PENDING",
        "source": "task list",
        "question": {
            "template": TEMPLATE,
            "id": task.name,
            "opened_at": instant_text(now),
            "cutoff_at": instant_text(cutoff),
            "resolve_by": instant_text(cutoff + timedelta(minutes=1)),
            "horizon": HORIZON,
            "acceptance_hash": acceptance_hash(task),
            "tags": {"task_type": task.task_type},
        },
    }


def sealed(task: Task) -> Draft:
    """Return a first forecast."""
    assert task.passes is not None, "an unasked task has no forecast"
    return {"type": "ForecastSealed", **_vector(task, task.passes)}


def updated(task: Task) -> list[Draft]:
    """Return the later forecasts of a task, each with what made it change."""
    return [
        {"type": "ForecastUpdated", **_vector(task, passes), "reason": reason}
        for passes, reason in task.revised
    ]


def _vector(task: Task, passes: str) -> Draft:
    return {
        "author": "forecaster",
        "forecaster": "native",
        **unit(task),
        "probabilities": {
            "pass": passes,
            "fail": probability_text(PPM - ppm(passes)),
        },
    }


def unit(task: Task) -> Draft:
    """Return what names the unit of a task."""
    return {"suite": SUITE, "template": TEMPLATE, "id": task.name, "horizon": HORIZON}


def acceptance_hash(task: Task) -> str:
    """Return the hash of a task's program, which is its own test."""
    return sha256_hex(task.program.encode())
