"""The two manifests, frozen: what a suite and a charter may fix, and nothing else.

`suite/1` and `charter/1` have the keys that these structs have; a new key is a
new format. A suite has no defaults: a scalar that it needs is always written,
so that no reader's assumption can change a number. An empty collection is
absent from the payload. What one key demands of another (a method its
parameters, an observable template its rule) is checked in `suite_check`.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta

from ledger.grammar import Count, DecimalText, Fact, Hex, Instant, Key, Text
from ledger.keys.roster import Principal
from ledger.suite_grammar import (
    Binning,
    Division,
    Grouping,
    Interval,
    Line,
    RootSeed,
    Segment,
    Slice,
    Slot,
    Stratum,
    SuiteName,
    Written,
)

FORMATS: Final = frozenset({"suite/1", "charter/1"})


class Pool(Fact, frozen=True, kw_only=True):
    """Whose resolved units count as the past of a computed competitor."""

    suites: Annotated[tuple[SuiteName, ...], Meta(min_length=1)]
    templates: Annotated[tuple[Line, ...], Meta(min_length=1)]


class Coverage(Fact, frozen=True, kw_only=True):
    """The share of the declared units that an official row must cover."""

    minimum: DecimalText


class Template(Fact, frozen=True, kw_only=True):
    """A kind of question: its answers, who decides them, by which rule.

    Only an `observable` template is scored; it has everything down to
    `min_lead_hours`, save `answers` and `positive` where each question brings
    its own. Any other kind is frozen so that all see that it is not scored.
    """

    id: Line
    question: Text
    kind: Literal[
        "observable",
        "affect",
        "attention",
        "inferred_goal",
        "causal",
        "self_report",
    ]
    answers: tuple[Key, ...] = ()
    positive: Key | None = None
    resolution_rule: Text | None = None
    sources: tuple[Line, ...] = ()
    adjudicator: Line | None = None
    ambiguity: Literal["void", "adjudicate"] | None = None
    horizons: tuple[Line, ...] = ()
    question_owner: Literal["evaluator", "issuer", "forecaster"] | None = None
    questions: Key | None = None
    requires_acceptance: bool | None = None
    intervention_sensitive: bool | None = None
    allowed_tags: tuple[Key, ...] = ()
    max_open_hours: Count | None = None
    min_lead_hours: Count | None = None
    label_streams: tuple[Line, ...] = ()
    card: dict[Key, Text] = {}

    @property
    def is_observable(self) -> bool:
        """Whether outcomes of this template can be scored at all."""
        return self.kind == "observable"


class Competitor(Fact, frozen=True, kw_only=True):
    """Who forecasts: a principal that seals, or a method that is computed."""

    name: Line
    layer: Literal[
        "native",
        "retrieval",
        "calibrated",
        "fitted",
        "baseline",
        "market",
        "policy",
        "oracle",
    ]
    principal: Line | None = None
    method: Literal["past_rate", "platt", "isotonic"] | None = None
    role: Literal["r1", "r2"] | None = None
    by: tuple[Segment, ...] = ()
    prior_count: DecimalText | None = None
    prior_weight: DecimalText | None = None
    exclude_own_target: bool | None = None
    half_life_days: Count | None = None
    of: Line | None = None
    refit: Literal["doubling"] | None = None
    min_past: Count | None = None
    streams: tuple[Line, ...] = ()
    inputs: tuple[Line, ...] = ()
    evidence_tier: Line | None = None
    identity_hash: Hex | None = None
    predecessor: Line | None = None
    sham: Line | None = None


class Ablation(Fact, frozen=True, kw_only=True):
    """Competitors in the order in which evidence is added, or left out."""

    name: Line
    kind: Literal["cumulative", "leave_one_out"]
    order: Annotated[tuple[Line, ...], Meta(min_length=1)]


class Scoring(Fact, frozen=True, kw_only=True):
    """How a vector becomes a score."""

    reference: Line
    primary: Literal["brier", "log_score"]
    clip: DecimalText
    decisive: Interval
    ece: Binning
    min_bin: Count
    average_ovr: bool
    baseline_fill: bool


class Split(Fact, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Questions by their cut-off: from the first instant until before the last."""

    name: Line
    from_: Instant
    until: Instant
    purpose: Literal["train", "tune", "holdout"]


class Statistics(Fact, frozen=True, kw_only=True):
    """Intervals, seeds, minimum samples, and when the results are looked at."""

    level: DecimalText
    resamples: Count
    root_seed: RootSeed
    permutations: Count
    min_clusters: Count
    few_clusters: Count
    min_class: Count
    min_class_gate: Count
    min_curve: Count
    min_slice: Count
    max_undefined: DecimalText
    looks: Annotated[tuple[Count, ...], Written] = ()
    min_training: Count
    splits: tuple[Split, ...] = ()


class CalibrationGate(Fact, frozen=True, kw_only=True):
    """Between which bounds a slope and an intercept count as calibrated."""

    slope: Interval
    intercept: Interval


class PermutationGate(Fact, frozen=True, kw_only=True):
    """When skill is said to collapse on the wrong target."""

    alpha: DecimalText
    retained: DecimalText
    strata: Annotated[tuple[Stratum, ...], Written] = ()


class FourBarGate(Fact, frozen=True, kw_only=True):
    """What the four-bar rule lets pass."""

    allow_calibration_warn: bool


class PromotionGate(Fact, frozen=True, kw_only=True):
    """By how much a candidate must gain, and where it may not lose."""

    trivial_gain: DecimalText
    loss_margin: DecimalText
    slices: Annotated[tuple[Division, ...], Written] = ()


class Gates(Fact, frozen=True, kw_only=True):
    """The decision rules."""

    calibration: CalibrationGate
    permutation: PermutationGate
    four_bar: FourBarGate
    promotion: PromotionGate


class Prequential(Fact, frozen=True, kw_only=True):
    """How drift is watched: fading, window, Page-Hinkley, recovery margin."""

    fading: DecimalText
    window: Count
    ph_delta: DecimalText
    ph_lambda: DecimalText
    recovery: DecimalText


class Utility(Fact, frozen=True, kw_only=True):
    """Which action a probability triggers, what it costs and what it avoids."""

    event: Key
    action: Text
    action_cost: DecimalText
    avoidable_loss: DecimalText
    thresholds: Annotated[tuple[DecimalText, ...], Meta(min_length=1)]


class QuantityRule(Fact, frozen=True, kw_only=True):
    """How a forecast of a number is scored; costs as in a newsvendor's choice."""

    unit: Line
    levels: Annotated[tuple[DecimalText, ...], Written] = ()
    interpolate: bool
    scale: DecimalText
    underage: DecimalText
    overage: DecimalText


class SuiteManifest(Fact, frozen=True, kw_only=True, tag_field="format", tag="suite/1"):
    """Everything that could change a number or a verdict, before any outcome."""

    metrics: Literal["metrics/1"]
    suite: SuiteName
    title: Line
    track: Literal["self", "world", "target"]
    run_class: Literal["preregistered", "exploratory"]
    run_purpose: Literal["score", "power", "debug"]
    tier: Literal["public_dev", "blind_archive", "live"]
    chronology: Literal["received", "claimed"]
    status: Literal["synthetic_demo", "pre_pilot", "pilot", "production"]
    owner: Line
    resolvers: Annotated[tuple[Line, ...], Meta(min_length=1)]
    estimator: Literal["mean", "iqm"]
    headline: Slot
    report_by: tuple[Grouping, ...] = ()
    slices: tuple[Slice, ...] = ()
    canaries: tuple[Hex, ...] = ()
    max_spread_seconds: Count
    reveal_by_hours: Count
    adaptation_budgets: tuple[Line, ...] = ()
    incumbent: Line | None = None
    pins: dict[Key, Hex] = {}
    coverage: Coverage
    baseline_pool: Pool
    templates: Annotated[tuple[Template, ...], Meta(min_length=1)]
    competitors: Annotated[tuple[Competitor, ...], Meta(min_length=1)]
    ablations: tuple[Ablation, ...] = ()
    scoring: Scoring
    statistics: Statistics
    gates: Gates
    prequential: Prequential
    utility: Utility | None = None
    quantities: dict[Key, QuantityRule] = {}

    def template(self, id: str) -> Template | None:  # noqa: A002 - the key's name
        """Return the template called `id`, or None."""
        return next((each for each in self.templates if each.id == id), None)

    def competitor(self, name: str) -> Competitor | None:
        """Return the competitor called `name`, or None."""
        return next((each for each in self.competitors if each.name == name), None)

    @property
    def observable(self) -> tuple[Template, ...]:
        """The templates that can be scored, in the order of the manifest."""
        return tuple(each for each in self.templates if each.is_observable)


class CharterManifest(
    Fact,
    frozen=True,
    kw_only=True,
    tag_field="format",
    tag="charter/1",
):
    """Who may sign what in this log, under which name and limits of the clock."""

    origin: Line
    log_keys: Annotated[tuple[Line, ...], Meta(min_length=1)]
    custody: Literal["shared", "separate"]
    created_ahead_seconds: Count
    backdated_seconds: Count
    clock_jump_seconds: Count
    principals: Annotated[tuple[Principal, ...], Meta(min_length=1)]
    compromised_since: dict[Key, Count] = {}
    continues: Text | None = None


Manifest = SuiteManifest | CharterManifest
