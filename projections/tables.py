"""The rows of the tables that are folded event by event: one struct, one table.

A struct's fields are the table's columns. Instants are whole microseconds since
1970 began (`_us`), probabilities parts per million, scores integers of 1e-12.
A unit is numbered by the position of its first event, so that the number is the
same whenever the log is read.
"""

import msgspec


class QuestionRow(msgspec.Struct):
    """One unit: its canonical question, and how it stands now.

    `is_spoken` is 0 where only compromised keys ever opened it, and nobody else said
    what became of it: no row counts it.
    `started_us` and `published_us` are those that bound its forecasts. `own_seq`
    is where a computed competitor forecasts it: the first PENDING record, else the
    first vector; `own_us` is that moment under the suite's chronology.
    """

    unit: int
    identity: str
    suite: str
    template: str
    id: str
    horizon: str
    target: str
    cluster: str
    slot: str | None
    tags: str | None
    answers: str
    question_hash: str
    opened_us: int
    cutoff_us: int
    resolve_by_us: int
    is_spoken: int
    status: str
    outcome: str | None
    resolved_seq: int | None
    started_us: int | None
    published_us: int | None
    reviews: int
    vectors: int
    own_seq: int | None
    own_us: int | None
    own_eligible: int


class ForecastRow(msgspec.Struct):
    """One vector, or one reveal of a hidden vector, where it stands in its chain.

    `parent` is the position of what it updates. `reason` is the first rule that
    keeps a vector from counting, `hidden` that of one that was never opened. The
    scores are there once an eligible vector's unit is resolved; `picobits` is null
    for minus infinity.
    """

    seq: int
    unit: int
    forecaster: str
    kind: str
    parent: int | None
    created_us: int
    received_us: int
    eligible: int
    reason: str | None
    is_hidden: int
    opened_seq: int | None
    probabilities_ppm: str | None
    adaptation_budget: str | None
    leaks_tested: int
    leaks_found: int
    brier_sum: int | None
    picobits: int | None
    picobits_clipped: int | None
    piconats_clipped: int | None


class ResolutionRow(msgspec.Struct):
    """One record of what happened to a unit.

    `counts` is 0 for a review, which changes nothing, and for a record whose key
    was compromised.
    """

    seq: int
    unit: int
    status: str
    outcome: str | None
    reason_code: str | None
    counts: int
    is_review: int
    created_us: int
    received_us: int
    started_us: int | None
    published_us: int | None


class QuantityRow(msgspec.Struct):
    """What one vector says of a number: a point, quantiles by level, or samples.

    Numbers are decimals as the event spells them, in canonical JSON. What a hidden
    vector says is there once a reveal has shown it.
    """

    seq: int
    quantity: str
    unit: int
    point: str | None
    quantiles: str | None
    samples: str | None


class ObservationRow(msgspec.Struct):
    """The value of a number that one record states, as it spells it."""

    seq: int
    quantity: str
    unit: int
    value: str


class CostRow(msgspec.Struct):
    """What one vector says that one of its costs was, as it spells it."""

    seq: int
    cost: str
    unit: int
    stated: str


class FindingRow(msgspec.Struct):
    """One thing that the record shows about an event (DESIGN §7).

    `unit` is null where it is about the log itself, as what its clock did is.
    """

    seq: int
    rule: str
    unit: int | None
    subject: str
    message: str


class AliasRow(msgspec.Struct):
    """Another question that was brought for a unit: not the canonical one."""

    question_hash: str
    suite: str
    unit: int


class SuiteRow(msgspec.Struct):
    """A version of a suite or charter: where it was frozen, and its last entry.

    `last_us` is the `as_of` of the suite's rows: when the ledger received the last
    event that speaks of it. No clock is ever read for them.
    """

    suite: str
    seq: int
    last_seq: int
    last_us: int


class BaselineRow(msgspec.Struct):
    """What a computed competitor says at the place of a vector, or at its own."""

    competitor: str
    seq: int
    unit: int
    is_own: int
    probabilities_ppm: str


class ReportRow(msgspec.Struct):
    """One reporting row as canonical JSON; `place` is where a suite lists it."""

    suite: str
    place: int
    forecaster: str
    slot: str
    horizon: str | None
    slice: str | None
    row: str


class FreshnessRow(msgspec.Struct):
    """Up to which event the baselines and rows of a suite are computed."""

    suite: str
    through_seq: int


class StateRow(msgspec.Struct):
    """How many events are folded in, and which was the last."""

    one: int
    position: int
    event_id: str


RowStruct = (
    QuestionRow
    | ForecastRow
    | ResolutionRow
    | QuantityRow
    | ObservationRow
    | CostRow
    | FindingRow
    | AliasRow
    | SuiteRow
    | BaselineRow
    | ReportRow
    | FreshnessRow
    | StateRow
)


class Table(msgspec.Struct, frozen=True):
    """A table: its name, what its rows are, their key, and what is looked up."""

    name: str
    row: type[RowStruct]
    key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()


TABLES = (
    Table("questions", QuestionRow, ("unit",), (("identity",), ("question_hash",))),
    Table("forecasts", ForecastRow, ("seq",), (("unit",),)),
    Table("resolutions", ResolutionRow, ("seq",), (("unit",),)),
    Table("quantities", QuantityRow, ("seq", "quantity"), (("unit",),)),
    Table("observations", ObservationRow, ("seq", "quantity"), (("unit",),)),
    Table("costs", CostRow, ("seq", "cost"), (("unit",),)),
    Table("findings", FindingRow, ("seq", "rule"), (("unit",),)),
    Table("aliases", AliasRow, ("question_hash", "suite")),
    Table("suites", SuiteRow, ("suite",)),
    Table("baselines", BaselineRow, ("competitor", "seq"), (("unit",),)),
    Table("rows", ReportRow, ("suite", "place")),
    Table("freshness", FreshnessRow, ("suite",)),
    Table("state", StateRow, ("one",)),
)

# So that what was not forecast or not opened is found without looking at the rest.
PARTIAL_INDEXES = {
    "questions_unforecast": "questions (suite, cutoff_us) WHERE vectors = 0",
    "forecasts_closed": "forecasts (unit) WHERE is_hidden = 1 AND opened_seq IS NULL",
}

# What can be said of other tables is no table of its own, so that it cannot differ.
VIEWS = {
    "lineage": """
        SELECT f.unit, q.suite, q.template, q.id, q.horizon, f.forecaster, f.seq,
            f.parent, f.kind,
            strftime('%Y-%m-%dT%H:%M:%SZ', f.received_us / 1000000, 'unixepoch')
                AS received_at,
            strftime('%Y-%m-%dT%H:%M:%SZ', f.created_us / 1000000, 'unixepoch')
                AS created_at,
            (q.resolve_by_us - f.received_us) / 1000000 AS lead_seconds,
            f.probabilities_ppm, f.eligible, f.reason, f.opened_seq
        FROM forecasts f JOIN questions q USING (unit)
        ORDER BY f.unit, f.forecaster, f.seq""",
    "scores": """
        SELECT f.unit, f.seq, f.forecaster, f.kind,
            CASE json_array_length(q.answers) WHEN 2 THEN f.brier_sum / 2 END AS brier,
            f.brier_sum, f.picobits, f.picobits_clipped, f.piconats_clipped
        FROM forecasts f JOIN questions q USING (unit)
        WHERE f.brier_sum IS NOT NULL""",
    "metrics": """
        SELECT r.suite, r.forecaster, r.slot, r.horizon, r.slice, s.key AS metric,
            json_extract(s.value, '$.value') AS value,
            json_extract(s.value, '$.exact') AS exact,
            json_extract(s.value, '$.lo') AS lo, json_extract(s.value, '$.hi') AS hi,
            json_extract(s.value, '$.n') AS n,
            json_extract(s.value, '$.reason') AS reason,
            json_extract(s.value, '$.ci_reason') AS ci_reason
        FROM rows r, json_each(r.row, '$.scores') s
        ORDER BY r.suite, r.place, s.key""",
    "calibration_bins": """
        SELECT r.suite, r.forecaster, r.slot, r.horizon, r.slice,
            json_extract(r.row, '$.reliability.binning') AS binning,
            json_extract(b.value, '$.bin') AS bin, json_extract(b.value, '$.n') AS n,
            json_extract(b.value, '$.ones') AS ones,
            json_extract(b.value, '$.mean_p') AS mean_p,
            json_extract(b.value, '$.rate') AS rate,
            json_extract(b.value, '$.lo') AS lo, json_extract(b.value, '$.hi') AS hi,
            json_extract(b.value, '$.is_small') AS is_small
        FROM rows r, json_each(r.row, '$.reliability.bins') b
        ORDER BY r.suite, r.place, bin""",
}
