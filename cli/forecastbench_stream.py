"""The history of a round's resolutions as drafts: nothing of it is ever rewritten.

Each question of the set is opened, a data set's once for each resolution date. Then
every change is a record, made and published when it was committed:

    RESOLVED, AMENDED      RESOLVED; an amendment supersedes what stood
    WITHDRAWN              VOID, `withdrawn`: it supersedes the outcome
    WITHDRAWN_UNRESOLVED   VOID, `withdrawn-unresolved`: the question went before it
                           had an outcome
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec

from ledger.cli.forecastbench import (
    DATASETS,
    HORIZON_DAYS,
    is_market,
    naming,
    opening,
    outcome,
)
from ledger.cli.forecastbench_files import Row, read_forecasts
from ledger.cli.forecastbench_history import Asked, Change, QuestionSet
from ledger.cli.forecastbench_plan import Plan, Report, probability
from ledger.cli.import_report import count
from ledger.clock import instant_text
from ledger.drafts import STANDING
from ledger.errors import UsageError

Draft = dict[str, Any]
# A unit of the round: its source, its id and, for a data set, its resolution date.
Key = tuple[str, str, date | None]

_WITHDRAWN = {
    "WITHDRAWN": "withdrawn",
    "WITHDRAWN_UNRESOLVED": "withdrawn-unresolved",
}
_EVENTS = ("RESOLVED", "AMENDED", *_WITHDRAWN)
# These start from no outcome. What an open market had was a price.
_FIRST = ("RESOLVED", "WITHDRAWN_UNRESOLVED")


class _Standing(msgspec.Struct):
    """What a unit of the round stands at: a value, or nothing, since a commit."""

    row: Row
    value: Decimal | None = None
    made_at: datetime | None = None


def convert_stream(
    changes: Iterable[Change], asked: QuestionSet, plan: Plan, report: Report
) -> Iterator[Draft]:
    """Yield the drafts of a round's questions, then those of every change in order.

    Only the round is held. Raises `UsageError` where the changes contradict each other.
    """
    units: dict[Key, _Standing] = {}
    given = {
        each.name: read_forecasts(each.files[asked.forecast_due_date])
        for each in plan.forecasters
        if asked.forecast_due_date in each.files
    }
    for row, text in _rows(asked, report):
        count(report.rounds, row.due.isoformat())
        key = (row.source, str(row.id), _horizon(row))
        units[key] = _Standing(row)
        yield from opening(row, plan, given, report, text)
    last: Change | None = None
    for change in changes:
        report.rows += 1
        if last is not None and change.made_at < last.made_at:
            msg = (
                f"{change.place} was committed before {last.place}: sort by commit_time"
            )
            raise UsageError(msg)
        last = change
        reason = _unfit(change, units, asked)
        if reason is None:
            yield _record(change, units[_key(change)], plan, report)
        else:
            report.skip(reason, change.place)
    report.pending = sum(unit.made_at is None for unit in units.values())


def _rows(asked: QuestionSet, report: Report) -> Iterator[tuple[Row, str]]:
    """Yield each unit that the round asks for, and the text of its question."""
    due = asked.forecast_due_date
    for number, question in enumerate(asked.questions, 1):
        report.questions += 1
        place = f"question {number}"
        reason = _unfit_question(question)
        if reason is not None:
            report.skip(reason, place)
            continue
        for day in [None] if is_market(question.source) else question.dates:
            if day is not None and (day - due).days not in HORIZON_DAYS:
                report.skip("unknown-horizon", f"{place}, {day}")
                continue
            row = Row(
                place=place,
                due=due,
                source=question.source,
                id=str(question.id),
                resolution_date=day or due,
                resolved_to=None,
                resolved=False,
            )
            yield row, question.text(due, day)


def _unfit_question(question: Asked) -> str | None:
    if not isinstance(question.id, str):
        return "combination"
    if is_market(question.source):
        return None
    if question.source not in DATASETS:
        return "unknown-source"
    return None if question.dates else "unknown-horizon"


def _horizon(row: Row) -> date | None:
    return None if is_market(row.source) else row.resolution_date


def _key(change: Change) -> Key:
    return change.source, change.id, change.horizon


def _unfit(
    change: Change, units: dict[Key, _Standing], asked: QuestionSet
) -> str | None:
    if change.due != asked.forecast_due_date:
        return "other-round"
    if change.event not in _EVENTS:
        return "unknown-event"
    return None if _key(change) in units else "unknown-question"


def _record(change: Change, unit: _Standing, plan: Plan, report: Report) -> Draft:
    _require_succession(change, unit)
    count(report.changes, change.event)
    made_at = instant_text(change.made_at)
    said = _said(change)
    count(report.drafts, said["status"])
    record: Draft = {
        "type": "ResolutionRecorded",
        "author": plan.resolver,
        "created_at": made_at,
        "suite": plan.suite,
        **naming(unit.row),
        **said,
        "published_at": made_at,
        "source": change.source,
        "extensions": {"forecastbench": _history(change)},
    }
    if unit.made_at is not None:
        record["supersedes"] = STANDING
    unit.value, unit.made_at = change.new, change.made_at
    return record


def _said(change: Change) -> dict[str, str]:
    if change.event in _WITHDRAWN:
        return {"status": "VOID", "reason_code": _WITHDRAWN[change.event]}
    assert change.new is not None, "what is resolved has a value"
    return outcome(change.source, change.new)


def _history(change: Change) -> dict[str, str]:
    """Return what else a line says: nothing of it is lost."""
    stated = {
        "commit": change.commit,
        "event": change.event,
        "resolution_date": change.resolution_date.isoformat(),
        "old": "" if change.old is None else format(change.old, "f"),
        "new": "" if change.new is None else format(change.new, "f"),
    }
    return {name: text for name, text in stated.items() if text}


def _require_succession(change: Change, unit: _Standing) -> None:
    """Refuse a change that does not start where the unit stands."""
    whose = f"{change.place}: {change.source} {change.id} is {change.event}"
    stood = None if change.event in _FIRST else change.old
    if unit.value != stood or (change.event not in _FIRST and stood is None):
        at = "nothing" if unit.value is None else unit.value
        msg = f"{whose} from {change.old}, and it stood at {at}: is a line missing?"
        raise UsageError(msg)
    if (change.event in _WITHDRAWN) != (change.new is None):
        msg = f"{whose}, and its new value is {change.new}"
        raise UsageError(msg)
    if change.new is not None:
        probability(change.new, f"{change.place}: new")
    if unit.made_at is not None and change.made_at <= unit.made_at:
        msg = f"{whose} in the commit in which it changed before: keep the last change"
        raise UsageError(msg)
