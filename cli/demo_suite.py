"""The demo's suite as TOML: what is fixed before the first of its tasks runs."""

from string import Template

from ledger.cli.demo_tasks import HORIZON, SUITE, TASKS, TEMPLATE
from ledger.cli.demo_work import program_path
from ledger.cli.standard_rules import RULES
from ledger.ids import sha256_hex

_TOML = Template("""\
format      = "suite/1"
metrics     = "metrics/1"
suite       = "$suite"
title       = "A dozen small programs: will they pass their own tests?"
track       = "self"
run_class   = "preregistered"
run_purpose = "score"
tier        = "live"
chronology  = "received"
status      = "synthetic_demo"
owner       = "evaluator"
resolvers   = ["resolver"]
estimator   = "mean"
headline    = "initial"          # the first forecast counts, whatever follows
max_spread_seconds = 3600
reveal_by_hours    = 1

[coverage]
minimum   = "0.95"

[baseline_pool]
suites    = ["$suite"]
templates = ["$template"]

[[templates]]
id       = "$template"
kind     = "observable"
question = "Will the program {id} pass its own test?"
answers  = ["pass", "fail"]
positive = "pass"
resolution_rule = "The exit status: 0 is pass, 77 says that the test could not run, any other is fail."
sources     = ["exit status"]
adjudicator = "resolver"
ambiguity   = "void"
horizons    = ["$horizon"]
question_owner = "issuer"
requires_acceptance    = true    # each question names the hash of its program
intervention_sensitive = false
allowed_tags   = ["task_type"]
max_open_hours = 1
min_lead_hours = 0

[[competitors]]
name      = "native"
layer     = "native"
principal = "forecaster"

[[competitors]]
name   = "past-rate"             # the share that passed before; 1/2 where nothing did
layer  = "baseline"
method = "past_rate"
role   = "r1"
prior_count        = "0.5"
prior_weight       = "0"
exclude_own_target = true
half_life_days     = 0

$rules
[pins]                           # the programs, fixed byte by byte before they run
$pins
""")


def suite_toml() -> str:
    """Return the suite, with the hash of every task's program."""
    pins = (
        f'"{program_path(task)}" = "{sha256_hex(task.program.encode())}"'
        for task in TASKS
    )
    return _TOML.substitute(
        suite=SUITE,
        template=TEMPLATE,
        horizon=HORIZON,
        rules=RULES.substitute(reference='"past-rate"', looks="[10]"),
        pins="\n".join(pins),
    )
