"""Rows as a TargetSpace leaderboard, valid against that protocol's own JSON Schema.

The schema wants JSON numbers: they are the rows' decimal text as it stands, so that no
float is on the way here either. Its columns do not agree in their units (the log score
is in nats, skill in bits, Brier the sum over all answers), so that the file says which
unit each has. A row of one horizon or of all, over everything; slices have no place.

A rank is a claim: only rows that a leaderboard would take have one. The others stand
below them, their labels in the notes.
"""

from collections.abc import Sequence
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
    "Highest skill vs R2, subject to calibration pass and permutation pass, within an "
    "evidence tier, task set and horizon."
)
_RANKED = (
    "Rows that a leaderboard takes: neither a baseline nor an oracle, with a skill vs R2, "
    "and without a label that makes them unofficial."
)
_TIERS = tuple(f"L{number}" for number in range(6))
# What the gates say, in the schema's words; anything else is not applicable.
_CALIBRATION = {"pass": "pass", "warn": "warn", "fail": "fail"}
_PERMUTATION = {"collapses": "pass", "survives": "fail"}
_NOT_APPLICABLE = "n/a"
_REFERENCE = ("baseline", "oracle")


class Leaderboard(NamedTuple):
    """A leaderboard as JSON, and the competitors that have no place in it, with why."""

    text: bytes
    left_out: list[str]


def leaderboard(manifest: SuiteManifest, rows: Sequence[Row]) -> Leaderboard:
    """Return the rows of one suite version, the best skill against R2 first."""
    whole = [row for row in rows if row["slice"] is None]
    tiers = {each.name: _tier(manifest, each) for each in manifest.competitors}
    shown = [row for row in whole if tiers[row["forecaster"]]]
    shown.sort(key=_by_skill)
    ranked = [row for row in shown if _is_ranked(row)]
    entries = [
        _entry(manifest, row, tiers[row["forecaster"]] or "", _rank(ranked, row))
        for row in shown
    ]
    left_out = [
        f"{name} has no evidence tier from L0 to L5"
        for name in dict.fromkeys(row["forecaster"] for row in whole)
        if tiers[name] is None
    ]
    content = {"meta": _meta(manifest, whole), "rows": entries}
    return Leaderboard(msgspec.json.format(json_text(content).encode()), left_out)


def _meta(manifest: SuiteManifest, rows: Sequence[Row]) -> dict[str, Any]:
    as_of = max((row["as_of"] for row in rows), default="")
    warning = {"warning": _WARNING} if manifest.status == "synthetic_demo" else {}
    roles = {each.role: each.name for each in manifest.competitors if each.role}
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
        "sota_definition": _SOTA,
        "ranked": _RANKED,
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


def _is_ranked(row: Row) -> bool:
    is_anchor = row["layer"] in _REFERENCE or row["role"] is not None
    return not is_anchor and _skill(row) is not None and not in_the_way(row["labels"])


def _skill(row: Row) -> Fraction | None:
    value = row["scores"]["skill_vs_r2_bits"]["value"]
    return None if value is None else Fraction(value)


def _by_skill(row: Row) -> tuple[bool, bool, Fraction, str, str]:
    skill = _skill(row)
    named = (row["forecaster"], row["horizon"] or "")
    return not _is_ranked(row), skill is None, -(skill or Fraction(0)), *named


def _rank(ranked: list[Row], row: Row) -> int | None:
    """Return a row's place among the ranked ones of its horizon; None for others."""
    peers = [each for each in ranked if each["horizon"] == row["horizon"]]
    places = (at for at, each in enumerate(peers, start=1) if each is row)
    return next(places, None)


def _entry(
    manifest: SuiteManifest, row: Row, tier: str, rank: int | None
) -> dict[str, Any]:
    scores, gates = row["scores"], row["gates"]
    permutation = gates["permutation"]
    competitor = manifest.competitor(row["forecaster"])
    assert competitor is not None, "a row is of a competitor of its suite"
    return {
        "rank": rank,
        "system_id": row["forecaster"],
        "system_name": _name(row),
        "evidence_tier": tier,
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
        "notes": " ".join([f"credit={gates['credit']}", *row["labels"]]),
    }


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
