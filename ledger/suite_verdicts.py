"""Which templates are scored, and why the others are not: the TargetSpace table."""

from collections.abc import Mapping

import msgspec

from ledger.suite import SuiteManifest
from ledger.suite_check import as_mapping
from ledger.suite_rules_template import contaminations
from ledger.suite_shape import examine
from ledger.suite_table import Table, listed

SCORED = "Scored"
EVIDENCE_ONLY = "Evidence only"
OUT_OF_SCOPE = "Out of scope"
INVALID_LABEL = "Invalid label"

# TargetSpace protocol, section 5: candidate kind, its category, verdict and why.
_UNSCORED = {
    "affect": (
        "Affect",
        EVIDENCE_ONLY,
        (
            "An affective state with no pre-registered observable resolution rule. "
            "Usable as evidence, never as a scored state."
        ),
    ),
    "attention": (
        "Attention",
        EVIDENCE_ONLY,
        "Attention is evidence, never a scored state.",
    ),
    "inferred_goal": (
        "Inferred goal",
        EVIDENCE_ONLY,
        "Inferred goals are evidence, never scored states.",
    ),
    "causal": (
        "Causal claim",
        OUT_OF_SCOPE,
        "A causal claim requires intervention and is outside the default benchmark.",
    ),
    "self_report": (
        "Self-report",
        EVIDENCE_ONLY,
        "Self-report may be evidence, never a scored state.",
    ),
}
_RULE = ("resolution_rule", "sources", "ambiguity", "horizons")
_INPUT_TOO = {
    "self_report": (
        "Self-report may be evidence, but it is never the outcome label when it is "
        "also a model input."
    ),
    "observable": "The outcome label is never a stream that is also a model input.",
}
_BINARY = 2


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a template is scored, and the reason in a sentence."""

    template: str
    kind: str
    category: str
    verdict: str
    why: str


def verdicts(manifest: Mapping[str, object] | SuiteManifest) -> list[Verdict]:
    """Return a verdict for each template, in order, of a complete suite or of a draft.

    A template whose id or kind is not sound is left out: `gaps` names it.
    """
    top, _ = examine(as_mapping(manifest), is_written=False)
    competitors = top.tables("competitors")
    return [
        _verdict(template, competitors)
        for template in top.tables("templates")
        if template.text("id") and template.text("kind")
    ]


def _verdict(template: Table, competitors: tuple[Table, ...]) -> Verdict:
    kind = template.text("kind") or ""
    if kind in _INPUT_TOO and any(contaminations(template, competitors)):
        category, verdict, why = "Contaminated label", INVALID_LABEL, _INPUT_TOO[kind]
    elif kind == "observable":
        category, verdict, why = "Observable outcome", *_observable(template)
    else:
        category, verdict, why = _UNSCORED[kind]
    return Verdict(
        template=template.text("id") or "",
        kind=kind,
        category=category,
        verdict=verdict,
        why=why,
    )


def _observable(template: Table) -> tuple[str, str]:
    lacking = [key for key in _RULE if not template.gives(key)]
    if lacking:
        missing = listed(lacking, last="and")
        return EVIDENCE_ONLY, f"No pre-registered observable rule: {missing} missing."
    if len(template.texts("answers")) > _BINARY:
        why = "Discrete answer space; each outcome is externally observable"
        return SCORED, f"{why} at resolve_by."
    source = next(iter(template.texts("sources")), "its source")
    why = f"A deterministic observable rule reads {source} at resolve_by"
    return SCORED, f"{why} and assigns the outcome."
