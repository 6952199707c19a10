"""Rows as a TargetSpace leaderboard, valid against that protocol's own JSON Schema.

The schema wants JSON numbers: they are the rows' decimal text as it stands, so that no
float is on the way here either. Its columns do not agree in their units (the log score
is in nats, skill in bits, Brier the sum over all answers), so that the file says which
unit each has. A row of one horizon or of all, over everything; slices have no place.

A rank is a claim, and is among rows of one tier of evidence and one horizon: only rows
that a leaderboard would take, and that passed what the definition subjects them to, have
one. The others stand below them, and their notes say why.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ledger.projections.exact import dec12
from ledger.projections.labels import in_the_way
from ledger.projections.rows import Row
from ledger.suite import Competitor, SuiteManifest
from ledger.unseen import json_text

PROTOCOL = "PWM-0.1"
UNITS = {
    "n_participants": "different targets among the scored units",
    "n_forecasts": "scored units: updates of one are not counted again",
    "personal_skill_vs_r1_bits": "bits, mean gain in clipped log score over R1",
    "personal_skill_vs_r2_bits": "bits, mean gain in clipped log score over R2",
    "log_score": "nats, mean of the clipped log score",
    "brier_score": "squared distance summed over all answers, 0 to 2",
    "ece": "probability, by the suite's declared bins",
    "permutation_skill_bits": "bits, mean skill over R1 on the wrong target",
}
_WARNING = "Synthetic demo only. Not empirical results."
_SOTA = (
    "Highest skill vs R2, subject to calibration {passed} and permutation pass, within an "
    "evidence tier, task set and horizon."
)
_PASS, _WARN = "pass", "warn"
_WARN_ALLOWED = "pass (or warn, as this suite allows)"
_RANKED = (
    "Rows that a leaderboard takes: neither a baseline nor an oracle, with calibration "
    "{passed}, permutation pass and a skill vs R2 over all scored units, of one horizon, where "
    "R1 has them all and R2 a past of its own, and without a label that makes them "
    "unofficial. Ranks are among rows of one tier and horizon; "
    "equal skills share one. Notes say which layer a system is, and why it has no rank."
)
_TIERS = tuple(f"L{number}" for number in range(6))
# What the gates say, in the schema's words; anything else is not applicable.
_CALIBRATION = {_PASS: _PASS, _WARN: _WARN, "fail": "fail"}
_COLLAPSES = "collapses"
_PERMUTATION = {_COLLAPSES: _PASS, "survives": "fail"}
_NOT_APPLICABLE = "n/a"
# What credit needs besides its bars, a rank needs as well; and what to say without it.
_NEEDED = {
    "is_one_cohort": "R1 and R2 are not on all scored units",
    "is_one_horizon": "it is over several horizons",
    "routine_has_past": "R2 has no past of its own",
}
_REFERENCE = ("baseline", "oracle")


class Leaderboard(NamedTuple):
    """A leaderboard as JSON, and what has no place in it, with why."""

    text: bytes
    left_out: list[str]


class _Place(NamedTuple):
    """A row with its tier of evidence, and what keeps it from a rank."""

    row: Row
    tier: str
    unranked: list[str]

    @property
    def peers(self) -> tuple[str, str]:
        """Return what it shares with the rows that it is ranked among."""
        return self.row["horizon"] or "", self.tier


def leaderboard(manifest: SuiteManifest, rows: Sequence[Row]) -> Leaderboard:
    """Return the rows of one suite version: ranked ones first, the best of each tier."""
    whole = [row for row in rows if row["slice"] is None]
    tiers = {each.name: _tier(manifest, each) for each in manifest.competitors}
    shown = [
        _Place(row, tier, list(_unranked(manifest, row)))
        for row in whole
        if (tier := tiers[row["forecaster"]]) is not None
    ]
    shown.sort(key=_order)
    entries = [_entry(manifest, each, _rank(shown, each)) for each in shown]
    content = {"meta": _meta(manifest, whole), "rows": entries}
    text = msgspec.json.format(json_text(content).encode())
    return Leaderboard(text, list(_left_out(rows, tiers)))


def _left_out(rows: Sequence[Row], tiers: dict[str, str | None]) -> Iterator[str]:
    for name in dict.fromkeys(row["forecaster"] for row in rows):
        if tiers[name] is None:
            yield f"{name} has no evidence tier from L0 to L5"
    sliced = sum(row["slice"] is not None for row in rows)
    if sliced:
        named = "1 row of a slice" if sliced == 1 else f"{sliced:,} rows of slices"
        yield f"{named}: its schema has no column that says of which"


def _meta(manifest: SuiteManifest, rows: Sequence[Row]) -> dict[str, Any]:
    as_of = max((row["as_of"] for row in rows), default="")
    warning = {"warning": _WARNING} if manifest.status == "synthetic_demo" else {}
    roles = {each.role: each.name for each in manifest.competitors if each.role}
    passed = _WARN_ALLOWED if _allows_warn(manifest) else _PASS
    return {
        "benchmark_name": "TargetSpace",
        "protocol_version": PROTOCOL,
        "track": manifest.track,
        "status": manifest.status,
        "verification_level": _verification(manifest),
        "generated": as_of[:10],
        "generated_at": as_of,
        **warning,
        "reference_systems": {role.upper(): roles[role] for role in sorted(roles)},
        "sota_definition": _SOTA.format(passed=passed),
        "ranked": _RANKED.format(passed=passed),
        "suite": manifest.suite,
        "suite_hash": next((row["suite_hash"] for row in rows), ""),
        "scorer": next((row["scorer"] for row in rows), ""),
        "units": UNITS,
    }


def _verification(manifest: SuiteManifest) -> str:
    """Return how far the rows were verified: by nobody but whoever computed them."""
    is_synthetic = manifest.status == "synthetic_demo"
    return "synthetic_demo" if is_synthetic else "self_reported"


def _tier(manifest: SuiteManifest, competitor: Competitor) -> str | None:
    """Return the highest tier of evidence that a competitor uses; None without one.

    What is recalibrated uses that of its source, and a baseline that is computed from
    outcomes alone the lowest there is.
    """
    stated = competitor.evidence_tier
    if stated is None and competitor.of is not None:
        source = manifest.competitor(competitor.of)
        return None if source is None else _tier(manifest, source)
    if stated is None:
        return _TIERS[0] if competitor.layer == "baseline" else None
    used = [tier for tier in stated.split("+") if tier in _TIERS]
    return max(used, default=None)


def _allows_warn(manifest: SuiteManifest) -> bool:
    return manifest.gates.four_bar.allow_calibration_warn


def _unranked(manifest: SuiteManifest, row: Row) -> Iterator[str]:
    """Yield why a row has no rank, in words; nothing for one that has."""
    if row["layer"] in _REFERENCE:
        yield f"layer is {row['layer']}"
    elif row["role"] is not None:
        yield f"role is {row['role']}"
    skill, scored = row["scores"]["skill_vs_r2_bits"], row["counts"]["scored"]
    if skill["value"] is None:
        yield f"skill vs R2 is {skill['reason']}"
    elif skill["n"] != scored:
        yield f"skill vs R2 is over {skill['n']} of {scored} units"
    calibration = row["gates"]["calibration"]["status"]
    if calibration != _PASS and not (calibration == _WARN and _allows_warn(manifest)):
        yield f"calibration is {calibration}"
    permutation = row["gates"]["permutation"]["status"]
    if permutation != _COLLAPSES:
        yield f"permutation is {permutation}"
    for need, why in _NEEDED.items():
        if row["gates"]["credit_needs"][need] is False:
            yield why
    for label in in_the_way(row["labels"]):
        yield f"it is {label}"


def _skill(row: Row) -> Fraction | None:
    value = row["scores"]["skill_vs_r2_bits"]["value"]
    return None if value is None else Fraction(value)


def _order(place: _Place) -> tuple[bool, str, str, bool, Fraction, str]:
    skill = _skill(place.row)
    by_skill = (skill is None, -(skill or Fraction(0)), place.row["forecaster"])
    return bool(place.unranked), *place.peers, *by_skill


def _rank(shown: list[_Place], place: _Place) -> int | None:
    """Return how many of a row's tier and horizon are better, and 1; None for others."""
    if place.unranked:
        return None
    peers = [
        _skill(each.row)
        for each in shown
        if not each.unranked and each.peers == place.peers
    ]
    own = _skill(place.row) or Fraction(0)
    return 1 + sum(each is not None and each > own for each in peers)


def _entry(manifest: SuiteManifest, place: _Place, rank: int | None) -> dict[str, Any]:
    row = place.row
    scores, gates = row["scores"], row["gates"]
    permutation = gates["permutation"]
    return {
        "rank": rank,
        "system_id": row["forecaster"],
        "system_name": _name(row),
        "evidence_tier": place.tier,
        "task_set": manifest.suite,
        "horizon": row["horizon"] or _horizons(manifest),
        "n_participants": row["counts"]["targets"],
        "n_forecasts": row["counts"]["scored"],
        "personal_skill_vs_r1_bits": _number(scores["skill_vs_r1_bits"]["value"]),
        "personal_skill_vs_r2_bits": _number(scores["skill_vs_r2_bits"]["value"]),
        "log_score": _number(_negated(scores["log_loss"]["value"])),
        "brier_score": _number(_summed(scores)),
        "calibration_status": _CALIBRATION.get(
            gates["calibration"]["status"], _NOT_APPLICABLE
        ),
        "ece": _number(scores["ece"]["value"]),
        "permutation_status": _PERMUTATION.get(permutation["status"], _NOT_APPLICABLE),
        "permutation_skill_bits": _number(permutation["wrong_target_bits"]),
        "status": manifest.status,
        "verification_level": _verification(manifest),
        "date": row["as_of"][:10],
        "notes": _notes(place),
    }


def _notes(place: _Place) -> str:
    """Return what no column says: the layer, so that nothing fitted passes for native."""
    row = place.row
    said = [f"layer={row['layer']}", f"slot={row['slot']}"]
    said += [f"credit={row['gates']['credit']}", *row["labels"]]
    why = f"; no rank: {', '.join(place.unranked)}" if place.unranked else ""
    return f"{' '.join(said)}{why}"


def _name(row: Row) -> str:
    """Return what a system is called: what recalibrates another one is no skill of its own."""
    name, source = row["forecaster"], row["source"]
    return name if source is None else f"{name} (recalibrates {source})"


def _horizons(manifest: SuiteManifest) -> str:
    named = (label for each in manifest.observable for label in each.horizons)
    return "/".join(dict.fromkeys(named))


def _negated(value: str | None) -> str | None:
    return None if value is None else dec12(-Fraction(value))


def _summed(scores: Row) -> str | None:
    """Return the Brier score as the protocol sums it; the binary form is half of it."""
    summed: dict[str, str | None] | None = scores.get("brier_sum")
    if summed is not None:
        return summed["value"]
    value = scores["brier"]["value"]
    return None if value is None else dec12(2 * Fraction(value))


def _number(text: str | None) -> msgspec.Raw | None:
    """Return decimal text as the JSON number that it spells; none is infinite."""
    return None if text is None else msgspec.Raw(text.encode())
