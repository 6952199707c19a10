"""Suites for history that others made: one template, some forecasters, one baseline."""

from collections.abc import Sequence
from json import dumps

from ledger.cli.standard_rules import RULES


def imported_suite(
    suite: str,
    *,
    template: str,
    answers: Sequence[str],
    positive: str | None,
    horizon: str,
    forecasters: Sequence[str],
    report_by: Sequence[str] = (),
) -> str:
    """Return the TOML of a claimed, exploratory suite."""
    competitors = "".join(
        f"[[competitors]]\nname = {dumps(name)}\n"
        'layer = "native"\nprincipal = "forecaster"\n\n'
        for name in forecasters
    )
    stated = "" if positive is None else f"positive = {dumps(positive)}\n"
    return f"""\
format = "suite/1"
metrics = "metrics/1"
suite = {dumps(suite)}
title = "Forecasts of others, imported"
track = "world"
run_class = "exploratory"
run_purpose = "score"
tier = "public_dev"
chronology = "claimed"
status = "pre_pilot"
owner = "evaluator"
resolvers = ["resolver"]
estimator = "mean"
headline = "initial"
report_by = {dumps(list(report_by))}
max_spread_seconds = 3600
reveal_by_hours = 1

[coverage]
minimum = "0.95"

[baseline_pool]
suites = [{dumps(suite)}]
templates = [{dumps(template)}]

[[templates]]
id = {dumps(template)}
kind = "observable"
question = "Which answer will {{id}} have?"
answers = {dumps(list(answers))}
{stated}resolution_rule = "What the published data say."
sources = ["the published data"]
adjudicator = "resolver"
ambiguity = "void"
horizons = [{dumps(horizon)}]
question_owner = "issuer"
requires_acceptance = false
intervention_sensitive = false
allowed_tags = ["source"]
max_open_hours = 100000
min_lead_hours = 0

{competitors}[[competitors]]
name = "past-rate"
layer = "baseline"
method = "past_rate"
role = "r1"
prior_count = "0.5"
prior_weight = "0"
exclude_own_target = true
half_life_days = 0

{RULES.substitute(reference='"past-rate"', looks="[]")}"""
