"""The suite that imported ForecastBench rounds go into, as TOML to read and freeze."""

import json
from string import Template

from ledger.cli.forecastbench import (
    DATASETS,
    HORIZON_DAYS,
    MARKET_DAYS,
    MARKET_HORIZON,
    MARKETS,
)
from ledger.cli.forecastbench_plan import Plan
from ledger.cli.standard_rules import RULES

_REFERENCE = "past-rate"

_TOML = Template("""\
# ForecastBench on imported history. The times are the authors' own claims and were
# never witnessed by this ledger, so the suite is exploratory and no row of it can
# reach a leaderboard.

format      = "suite/1"
metrics     = "metrics/1"
suite       = $suite
title       = "ForecastBench: binary questions of data sets and markets, imported"
track       = "world"
run_class   = "exploratory"      # nothing of it was fixed before its outcomes
run_purpose = "score"
tier        = "public_dev"       # the questions and their outcomes are public
chronology  = "claimed"          # lateness goes by created_at, the past by published_at
status      = "pre_pilot"
owner       = $owner
resolvers   = [$resolver]
estimator   = "mean"
headline    = "initial"
report_by   = ["tag:kind"]       # the boards have one number for data sets, one for markets
slices      = ["tag:kind", "tag:source"]
max_spread_seconds = 86400       # a round takes forecasts for one day
reveal_by_hours    = 1

[coverage]
minimum   = "0.95"

[baseline_pool]
suites    = [$suite]
templates = ["dataset", $market]

[[templates]]
id       = "dataset"
kind     = "observable"
question = "Will the series that {target} asks about have moved as asked by {resolve_by}?"
answers  = ["yes", "no"]
positive = "yes"
resolution_rule = "The value that ForecastBench's resolution set gives on the resolution date: 1 is yes, 0 is no."
sources     = [$datasets]
adjudicator = $resolver
ambiguity   = "void"             # a value strictly between 0 and 1 is neither answer
horizons    = [$horizons]
question_owner = "issuer"
requires_acceptance    = false
intervention_sensitive = false
allowed_tags   = ["kind", "round", "source"]
max_open_hours = $hours
min_lead_hours = 0

[[templates]]
id       = $market
kind     = "observable"
question = "Will the market {target} resolve to yes?"
answers  = ["yes", "no"]
positive = "yes"
resolution_rule = "The market's own resolution: 1 is yes, 0 is no. The price of an open market is no outcome."
sources     = [$markets]
adjudicator = $resolver
ambiguity   = "void"
horizons    = [$market]
question_owner = "issuer"
requires_acceptance    = false
intervention_sensitive = false
allowed_tags   = ["kind", "round", "source"]
max_open_hours = $hours
min_lead_hours = 0

$competitors[[competitors]]
name   = $reference
layer  = "baseline"
method = "past_rate"             # of all outcomes that were published before
role   = "r1"
prior_count        = "0.5"
prior_weight       = "0"
exclude_own_target = true        # a question of an earlier round does not forecast itself
half_life_days     = 0

$rules""")

_COMPETITOR = Template("""\
[[competitors]]
name      = $name
layer     = $layer
principal = $principal

""")


def toml_of(plan: Plan, owner: str) -> str:
    """Return a suite that takes what `plan` imports, owned by an evaluator."""
    return _TOML.substitute(
        suite=_quoted(plan.suite),
        owner=_quoted(owner),
        resolver=_quoted(plan.resolver),
        market=_quoted(MARKET_HORIZON),
        datasets=_listed(DATASETS),
        markets=_listed(MARKETS),
        horizons=_listed(tuple(f"{days}d" for days in HORIZON_DAYS)),
        hours=(MARKET_DAYS + 1) * 24,
        competitors="".join(
            _COMPETITOR.substitute(
                name=_quoted(each.name),
                layer=_quoted("native" if each.constant is None else "baseline"),
                principal=_quoted(plan.forecaster),
            )
            for each in plan.forecasters
        ),
        reference=_quoted(_REFERENCE),
        rules=RULES.substitute(reference=_quoted(_REFERENCE), looks="[]"),
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(text: str) -> str:
    """Return a TOML basic string, which spells as JSON does."""
    return json.dumps(text)
