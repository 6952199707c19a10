"""A fresh suite to edit: every key, its default, and what it means in a line."""

# The lines of the TOML are as long as a reader of the TOML can bear, which is more.

from string import Template
from typing import Literal

from ledger.errors import UsageError
from ledger.ids import parse_version
from ledger.suite_table import listed, suggestion

Track = Literal["self", "world", "target"]
TRACKS: tuple[Track, ...] = ("self", "world", "target")
# Where comments start, so that the values stand out.
_COLUMN = 34

_HEAD = """\
# A suite: every choice that could change a number or a verdict, made before the
# first outcome exists. Then: ledger suite check FILE, and ledger suite freeze FILE.
# Keys that are commented out are optional. Decimal numbers stand in quotes.

format      = "suite/1"
metrics     = "metrics/1"        # which definitions the numbers follow
suite       = "$suite"
title       = "$title"
track       = "$track"             # self | world | target
run_class   = "preregistered"    # preregistered | exploratory (never on a leaderboard)
run_purpose = "score"            # score | power | debug
tier        = "live"             # public_dev | blind_archive | live
chronology  = "received"         # received | claimed (imported history; exploratory)
status      = "pre_pilot"        # synthetic_demo | pre_pilot | pilot | production
owner       = "evaluator"        # the only principal that may freeze the next version
resolvers   = ["resolver"]       # who may say what happened
estimator   = "mean"             # mean | iqm (iqm always beside the mean)
headline    = "initial"          # initial | final | at_lead:<hours> | time_weighted
# horizon, tag:<name>, evidence_tier, adaptation_budget, target
report_by   = ["horizon"]        # rows beside the one over everything
slices      = []                 # such as "tag:domain"; all others are exploratory
canaries    = []                 # SHA-256 of markers that no forecast's text may hold
max_spread_seconds = 3600        # compared seals further apart are flagged
reveal_by_hours    = 168         # after resolve_by: until then a hidden seal may be opened
# adaptation_budgets = ["zero-shot", "few-shot"]   # ordered, from the least adapted
# incumbent = "native"          # whom a promotion must beat too, beside the baselines

[coverage]
minimum   = "0.95"               # share of the units that an official row covers

[baseline_pool]                  # whose outcomes count as the past
suites    = ["$suite"]
templates = ["$template"]

"""

_TEMPLATE = """\
[[templates]]
id       = "$template"
# observable | affect | attention | inferred_goal | causal | self_report
kind     = "observable"          # only this kind is scored
question = "$question"
# Credit needs two answers: calibration is of two. More can be scored all the same.
answers  = $answers              # without it, each question brings its own
$positive                        # what a high probability means
resolution_rule = "$rule"
sources     = ["$source"]        # in order of trust
adjudicator = "resolver"         # decides what the rule leaves open
ambiguity   = "void"             # void | adjudicate
horizons    = $horizons          # labels; never computed with
# evaluator: a pinned list; issuer: its PENDING record; forecaster: never official
question_owner = "issuer"
requires_acceptance    = $acceptance   # questions name the hash of their acceptance tests
intervention_sensitive = $sensitive   # the forecaster can act on what it forecasts
allowed_tags   = ["domain"]      # tags that a question may have; others are refused
max_open_hours = 168             # resolve_by at most this long after opened_at
min_lead_hours = 0               # cutoff_at at least this long before resolve_by
label_streams  = []              # what outcomes are read from; no competitor's input
# questions    = "questions.jsonl"   # with question_owner = "evaluator": a pin
# [templates.card]               # task card: the operating conditions, in words
# covariates_known    = "calendar"
# covariates_forecast = "none"
# covariates_delayed  = "none"
# revision_aware      = "no"
# latency_budget      = "10 s"
# memory_budget       = "1 GB"
# deployment_metric   = "avoided loss"

"""

_COMPETITOR = """\
[[competitors]]
name      = "native"
# native | retrieval | calibrated | fitted | baseline | market | policy | oracle
layer     = "native"
principal = "forecaster"         # who seals it; or a method that computes it
streams   = ["$stream"]          # the evidence that it reads
# inputs        = ["features", "native"]   # of a fitted one: features, native, retrieval
# evidence_tier = "L0"           # for an ablation
# identity_hash = "$zeros"
# predecessor   = "past-rate"    # what it was made from: see ledger compare
# sham          = "past-rate"    # a control of the same cost: see ledger compare

[[competitors]]
name     = "native-calibrated"
layer    = "calibrated"
method   = "platt"               # past_rate | platt | isotonic: computed past-only
of       = "native"             # whose probabilities are mapped
refit    = "doubling"            # when the past has min_past * 2^k outcomes
min_past = 50
"""

_BASELINES = """\

[[competitors]]
name   = "past-rate"
layer  = "baseline"
method = "past_rate"             # past_rate | platt | isotonic: computed past-only
role   = "r1"                    # the population prior: all targets but one's own
prior_count        = "0.5"       # added to each answer's count (Jeffreys)
prior_weight       = "0"         # weight of the R1 rate; "0" without `by`
exclude_own_target = true
half_life_days     = 0           # 0: old outcomes count in full

[[competitors]]
name   = "own-routine"
layer  = "baseline"
method = "past_rate"
role   = "r2"                    # the target's own routine
by     = ["target"]              # the rate within equal keys; also tag:<name>
prior_count        = "0.5"
prior_weight       = "2"
exclude_own_target = false
half_life_days     = 0
"""

_TAIL = """\

# [[ablations]]                  # what each tier of evidence buys, in this order
# name  = "evidence"
# kind  = "cumulative"           # cumulative | leave_one_out
# order = ["native", "native-l1"]

[scoring]
reference     = "past-rate"      # the frozen baseline of bss_frozen
primary       = "brier"          # brier | log_score
clip          = "0.001"          # of the clipped log score; below 1/answers
decisive      = ["0.1", "0.9"]   # at or beyond these a probability is decisive
ece           = "equal_width_left_closed/10"   # or equal_mass/<bins>
min_bin       = 20               # smaller bins are flagged
average_ovr   = false            # average one-vs-rest AUROC over the answers
baseline_fill = false            # score the time before the first vector at all

[statistics]
level          = "0.95"          # of all intervals
resamples      = 2000            # cluster bootstrap
root_seed      = "manifest"      # from the manifest without this key; or 64 hex digits
permutations   = 9999
min_clusters   = 10              # fewer: no interval
few_clusters   = 30              # fewer: the interval is flagged
min_class      = 10              # of each class, to print slope, intercept and AUROC
min_class_gate = 100             # of each class, for the calibration bar
min_curve      = 200             # of each class, for a flexible calibration curve
min_slice      = 30              # units; smaller slices are exploratory
max_undefined  = "0.01"          # share of undefined replicates that is borne
# The stop rule: at how many resolved units it is looked. Credit is of one horizon: the
# last look leaves each of them 1000 units, of which a rare answer has its
# min_class_gate if it comes once in ten.
looks          = $looks
min_training   = 0               # units before the first scored one
# [[statistics.splits]]          # by cutoff_at; a holdout that is used otherwise is spent
# name    = "holdout"
# from    = 2027-01-01T00:00:00Z
# until   = 2027-07-01T00:00:00Z
# purpose = "holdout"            # train | tune | holdout

[gates.calibration]              # fail: an interval that is wholly outside
slope     = ["0.7", "1.4"]
intercept = ["-0.4", "0.4"]

[gates.permutation]              # skill must collapse on the wrong target
alpha    = "0.05"
retained = "0.5"                 # share of the skill that the wrong target may keep
strata   = ["template", "horizon", "slot"]   # targets are exchanged within these

[gates.four_bar]
allow_calibration_warn = true

[gates.promotion]                # over the strongest past_rate, or a stronger incumbent
trivial_gain = "0.005"           # Brier gain that is not worth a change
loss_margin  = "0.01"            # loss that may be given up, in all and in each slice
slices       = ["horizon"]       # what divides units into slices, none of which may lose

[prequential]                    # drift: diagnosis only
fading    = "0.99"
window    = 100                  # units
ph_delta  = "0.05"               # Page-Hinkley: the change that is tolerated
ph_lambda = "0.5"                # Page-Hinkley: the alarm
recovery  = "0.01"               # back within this margin is recovered

# What acting on the forecast is worth. Nobody is promoted without it: a forecast that
# changes no decision is of no use. Put your own costs here before the first outcome.
[utility]
event          = "$event"        # the answer whose probability triggers the action
action         = "$action"
action_cost    = "1"             # in any unit, the same for both
avoidable_loss = "5"             # what the action spares: act from a probability of 1/5
thresholds     = ["0.1", "0.2", "0.3", "0.5"]   # where the decision curve is drawn

# [quantities.duration_minutes]  # a number forecast beside the answers
# unit        = "min"
# levels      = ["0.1", "0.5", "0.9"]   # of quantiles; [] for points only
# interpolate = false            # between levels, where the costs ask for another
# scale       = "1"              # divides the losses
# underage    = "1"              # cost of one unit too few
# overage     = "1"              # cost of one unit too many

# [pins]                         # files that are fixed with the suite, by SHA-256
# "acceptance/run.sh" = "$zeros"
"""


# What differs between the tracks.
_EXAMPLES: dict[Track, dict[str, str]] = {
    "self": {
        "title": "Dispatches: will they pass their acceptance tests?",
        "template": "dispatch-pass",
        "question": "Will dispatch {target} pass its frozen tests by {resolve_by}?",
        "answers": '["pass", "fail"]',
        "positive": 'positive = "pass"',
        "rule": "Exit status of the acceptance command: 0 is pass, other is fail.",
        "source": "acceptance log",
        "horizons": '["24h"]',
        "looks": "[250, 500, 1000]",
        "acceptance": "true",
        "sensitive": "true",
        "stream": "ticket",
        "event": "fail",
        "action": "verify the dispatch by hand before delivery",
    },
    "world": {
        "title": "Dated public events",
        "template": "dated-event",
        "question": "Will the event of the question's text have happened by {resolve_by}?",
        "answers": '["yes", "no"]',
        "positive": 'positive = "yes"',
        "rule": "yes if a source reports it as happened by resolve_by, else no.",
        "source": "wire report",
        "horizons": '["24h", "7d"]',
        "looks": "[500, 1000, 2000]",
        "acceptance": "false",
        "sensitive": "false",
        "stream": "news",
        "event": "yes",
        "action": "prepare for the event",
    },
    "target": {
        "title": "Commitments: will they be kept?",
        "template": "commitment",
        "question": "Will {target} have kept the commitment by {resolve_by}?",
        "answers": '["kept", "dropped"]',
        "positive": 'positive = "kept"',
        "rule": "The calendar at resolve_by: kept if it says complete, else dropped.",
        "source": "calendar",
        "horizons": '["24h", "7d"]',
        "looks": "[500, 1000, 2000]",
        "acceptance": "false",
        "sensitive": "false",
        "stream": "notes",
        "event": "dropped",
        "action": "ask again before the day",
    },
}


def new_suite(name: str, track: str) -> str:
    """Return the TOML of a complete suite called `name`, an example of its track.

    `name` may leave its version out: it is then the first. Raises `UsageError`
    for a name that no suite can have, and for an unknown track.
    """
    suite = name if "@" in name else f"{name}@v1"
    try:
        parse_version(suite)
    except ValueError as error:
        msg = f"{error}: write small letters, digits and hyphens, then @v and a number"
        raise UsageError(msg) from None
    for known in TRACKS:
        if known == track:
            return _filled(suite, known)
    remedies = filter(None, (suggestion(track, TRACKS), f"Write {listed(TRACKS)}"))
    msg = f"{track!r} is no track: {' '.join(remedies)}"
    raise UsageError(msg)


def _filled(suite: str, track: Track) -> str:
    words = {**_EXAMPLES[track], "suite": suite, "track": track, "zeros": "0" * 64}
    parts = (_HEAD, _TEMPLATE, _COMPETITOR, _BASELINES, _TAIL)
    text = Template("".join(parts)).substitute(words)
    return "".join(f"{_aligned(line)}\n" for line in text.splitlines())


def _aligned(line: str) -> str:
    """Return a line of TOML with its comment in the column of all comments."""
    said, mark, comment = line.partition("  # ")
    return f"{said.rstrip():<{_COLUMN - 2}}  # {comment.strip()}" if mark else line
