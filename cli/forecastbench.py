"""ForecastBench as drafts: each question in a round, its forecasts, its outcome.

What counts is what the published boards count:

* a question of a data set is one unit a resolution date, a market's is one a round;
* the same question in two rounds is two units of one target, so of one cluster;
* a market that is not resolved carries its price, which is no outcome: it is PENDING;
* an outcome strictly between 0 and 1 is neither answer: it is VOID;
* combinations of questions are left out, and so are rounds too young for a board.

The files have no times of day. ForecastBench hands questions out when the due date
begins and takes forecasts until it ends (UTC), so these stand for `opened_at` and for
`cutoff_at` and `created_at` of each forecast; an outcome counts as published when its
resolution date ends.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Any

from ledger.cli.forecastbench_files import (
    Forecasts,
    Row,
    read_forecasts,
)
from ledger.cli.forecastbench_plan import (
    BOARD_AGE,
    Forecaster,
    Plan,
    Report,
    probability,
)
from ledger.cli.import_report import count
from ledger.clock import instant_text
from ledger.draft_vector import probability_text
from ledger.errors import UsageError
from ledger.spelling import PPM

DATASETS = ("acled", "dbnomics", "fred", "wikipedia", "yfinance")
MARKETS = ("infer", "kalshi", "manifold", "metaculus", "polymarket")
HORIZON_DAYS = (7, 30, 90, 180, 365, 1095, 1825, 3650)
MARKET_HORIZON = "market"
# No market of a round may stay open longer than the longest horizon of a data set.
MARKET_DAYS = HORIZON_DAYS[-1]
Draft = dict[str, Any]
_LAST_SECOND = time(23, 59, 59)


def convert(rows: Iterable[Row], plan: Plan, report: Report) -> Iterator[Draft]:
    """Yield the drafts of a resolution file, unit by unit, and fill in `report`.

    Only one round is held at a time. Raises `UsageError` where the file contradicts
    itself or its rounds do not follow each other.
    """
    done: set[date] = set()
    for due, members in groupby(rows, key=lambda row: row.due):
        if due in done:
            msg = (
                f"round {due} starts a second time: sort the file by "
                "forecast_due_date, so that each round can be read as one"
            )
            raise UsageError(msg)
        done.add(due)
        units = _units(members, plan, report)
        given = {
            each.name: read_forecasts(each.files[due])
            for each in plan.forecasters
            if units and due in each.files
        }
        for row in units:
            count(report.rounds, due.isoformat())
            yield from _drafts(row, plan, given, report)


def _units(members: Iterable[Row], plan: Plan, report: Report) -> list[Row]:
    """Return one row for each unit of a round; the others are skipped, and said."""
    units: dict[tuple[str, str | None, date | None], Row] = {}
    for row in members:
        report.rows += 1
        reason = _unfit(row, plan)
        if reason is not None:
            report.skip(reason, row.place)
            continue
        key = (
            row.source,
            row.id,
            None if is_market(row.source) else row.resolution_date,
        )
        known = units.get(key)
        if known is None:
            units[key] = row
            continue
        _require_agreement(known, row)
        report.skip("repeated", row.place)
        if row.resolved and not known.resolved:
            units[key] = row
    return list(units.values())


def _unfit(row: Row, plan: Plan) -> str | None:
    if row.id is None:
        return "combination"
    if plan.as_of is not None and row.due > plan.as_of - BOARD_AGE:
        return "round-too-young"
    if row.source not in DATASETS and not is_market(row.source):
        return "unknown-source"
    if (
        not is_market(row.source)
        and (row.resolution_date - row.due).days not in HORIZON_DAYS
    ):
        return "unknown-horizon"
    if row.resolved and row.resolved_to is None:
        msg = f"{row.place}: {row.source} {row.id} is resolved, and to nothing"
        raise UsageError(msg)
    if row.resolved_to is not None:
        probability(row.resolved_to, f"{row.place}: resolved_to")
    return None


def is_market(source: str) -> bool:
    """Tell whether a source is a market, whose questions have one horizon."""
    return source in MARKETS


def _require_agreement(one: Row, other: Row) -> None:
    if one.resolved and other.resolved and one.resolved_to != other.resolved_to:
        msg = (
            f"{one.source} {one.id} of round {one.due} resolved to {one.resolved_to} "
            f"in {one.place}, and to {other.resolved_to} in {other.place}"
        )
        raise UsageError(msg)


def _drafts(
    row: Row, plan: Plan, given: dict[str, Forecasts], report: Report
) -> Iterator[Draft]:
    yield from opening(row, plan, given, report)
    if row.resolved:
        yield _resolution(row, plan, report)
    else:
        report.pending += 1


def opening(
    row: Row,
    plan: Plan,
    given: dict[str, Forecasts],
    report: Report,
    text: str | None = None,
) -> Iterator[Draft]:
    """Yield the draft that opens a row's unit, and those of the forecasts on it."""
    question = _question(row)
    if text is not None:
        question["text"] = text
    count(report.units, question["template"])
    count(report.drafts, "PENDING")
    yield {
        "type": "ResolutionRecorded",
        "author": plan.issuer,
        "created_at": question["opened_at"],
        "suite": plan.suite,
        "status": "PENDING",
        "source": row.source,
        "question": question,
    }
    for each in plan.forecasters:
        value = _forecast(row, each, given)
        if value is None:
            count(report.without_forecast, each.name)
            continue
        count(report.drafts, "ForecastSealed")
        yield {
            "type": "ForecastSealed",
            "author": plan.forecaster,
            "created_at": question["cutoff_at"],
            "suite": plan.suite,
            "forecaster": each.name,
            **_names(question),
            "probabilities": _vector(value, each.name, report),
        }


def naming(row: Row) -> dict[str, str]:
    """Return the three names of a row's unit."""
    return _names(_question(row))


def _names(question: Draft) -> dict[str, str]:
    return {key: question[key] for key in ("template", "id", "horizon")}


def _question(row: Row) -> dict[str, Any]:
    kind = MARKET_HORIZON if is_market(row.source) else "dataset"
    days = (
        MARKET_DAYS if is_market(row.source) else (row.resolution_date - row.due).days
    )
    return {
        "template": kind,
        "id": f"{row.due}/{row.source}/{row.id}",
        # Both rounds of one question forecast the same thing: one target, one cluster.
        "target": f"{row.source}/{row.id}",
        "opened_at": _start(row.due),
        "cutoff_at": _end(row.due),
        "resolve_by": _end(row.due + timedelta(days=days)),
        "horizon": MARKET_HORIZON if is_market(row.source) else f"{days}d",
        "tags": {"kind": kind, "round": row.due.isoformat(), "source": row.source},
    }


def _forecast(
    row: Row, forecaster: Forecaster, given: dict[str, Forecasts]
) -> Decimal | None:
    if forecaster.constant is not None:
        return forecaster.constant
    assert row.id is not None, "combinations were skipped"
    when = None if is_market(row.source) else row.resolution_date
    value = given.get(forecaster.name, {}).get((row.source, row.id, when))
    where = f"{forecaster.name} on {row.source} {row.id} of round {row.due}"
    return None if value is None else probability(value, where)


def _vector(value: Decimal, forecaster: str, report: Report) -> dict[str, str]:
    """Return the vector in millionths, half-even; a rounded one is counted."""
    millionths = value * PPM
    yes = int(millionths.to_integral_value(ROUND_HALF_EVEN))
    if yes != millionths:
        count(report.rounded, forecaster)
    return {"yes": probability_text(yes), "no": probability_text(PPM - yes)}


def _resolution(row: Row, plan: Plan, report: Report) -> Draft:
    assert row.resolved_to is not None, "what is resolved has a value"
    known_at = _end(row.resolution_date)
    record: Draft = {
        "type": "ResolutionRecorded",
        "author": plan.resolver,
        "created_at": known_at,
        "suite": plan.suite,
        **naming(row),
        "published_at": known_at,
        "source": row.source,
        **outcome(row.source, row.resolved_to),
    }
    count(report.drafts, record["status"])
    return record


def outcome(source: str, value: Decimal) -> dict[str, str]:
    """Return what a resolution to `value` says; between the answers it is VOID."""
    if value in (0, 1):
        return {"status": "RESOLVED", "outcome": "yes" if value else "no"}
    note = f"{source} resolved it to {value}, which is neither answer"
    return {"status": "VOID", "reason_code": "not-binary", "note": note}


def _start(day: date) -> str:
    return instant_text(datetime.combine(day, time(), UTC))


def _end(day: date) -> str:
    return instant_text(datetime.combine(day, _LAST_SECOND, UTC))
