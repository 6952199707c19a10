"""The suite that an import's drafts go into, as TOML to read, change and freeze.

It is made from the drafts themselves: their templates, horizons, tags and forecasters.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from string import Template
from typing import Any

import msgspec

from ledger.cli.standard_rules import RULES

Draft = dict[str, Any]
_BINARY = 2
_SOURCES_MAX = 20
_HOUR = timedelta(hours=1)
_REFERENCE = "past-rate"

_TOML = Template("""\
# Forecasts of others, imported. The times are the authors' own claims and were never
# witnessed by this ledger, so the suite is exploratory and no row of it can reach a
# leaderboard. Say what you know of the questions before you freeze it.

format      = "suite/1"
metrics     = "metrics/1"
suite       = $suite
title       = "Forecasts of others, imported"
track       = $track
run_class   = "exploratory"      # nothing of it was fixed before its outcomes
run_purpose = "score"
tier        = "public_dev"       # the outcomes are known
chronology  = "claimed"          # lateness goes by created_at, the past by published_at
status      = "pre_pilot"
owner       = $owner
resolvers   = [$resolver]
estimator   = "mean"
headline    = "initial"
max_spread_seconds = 86400
reveal_by_hours    = 1

[coverage]
minimum   = "0.95"

[baseline_pool]
suites    = [$suite]
templates = [$templates]

$blocks$competitors[[competitors]]
name   = $reference
layer  = "baseline"
method = "past_rate"             # of all outcomes that were published before
role   = "r1"
prior_count        = "0.5"
prior_weight       = "0"
exclude_own_target = true
half_life_days     = 0

$rules""")

_TEMPLATE = Template("""\
[[templates]]
id       = $id
kind     = "observable"
question = "What will the imported outcome of {id} be?"
${answers}resolution_rule = "The outcome that the imported file gives."
sources     = [$sources]
adjudicator = $resolver
ambiguity   = "void"
horizons    = [$horizons]
question_owner = "issuer"
requires_acceptance    = false
intervention_sensitive = false
allowed_tags   = [$tags]
max_open_hours = $hours
min_lead_hours = 0

""")

_COMPETITOR = Template("""\
[[competitors]]
name      = $name
layer     = "native"             # or baseline, market, ...
principal = $principal
${tier}
""")


class _Asked(msgspec.Struct):
    """What the questions of one template have, all taken together."""

    horizons: dict[str, None] = {}
    tags: dict[str, None] = {}
    span: timedelta = _HOUR
    is_open: bool = False


class Shape(msgspec.Struct):
    """What a suite must have to take certain drafts; `answers` begin with the positive."""

    answers: tuple[str, ...]
    asked: dict[str, _Asked] = {}
    # With the tier of evidence that each has, or "" for none or several.
    forecasters: dict[str, str] = {}
    sources: dict[str, None] = {}

    def take(self, drafts: Iterable[Draft]) -> "Shape":
        """Return the shape with what `drafts` need."""
        for draft in drafts:
            if "question" in draft:
                self._ask(draft["question"])
            if "forecaster" in draft:
                tier = ",".join(draft.get("evidence", {}).get("tiers", ()))
                known = self.forecasters.setdefault(draft["forecaster"], tier)
                self.forecasters[draft["forecaster"]] = tier if tier == known else ""
            if "source" in draft and len(self.sources) < _SOURCES_MAX:
                self.sources[draft["source"]] = None
        return self

    def _ask(self, question: Draft) -> None:
        asked = self.asked.setdefault(question["template"], _Asked())
        asked.horizons[question["horizon"]] = None
        asked.tags |= dict.fromkeys(question.get("tags", ()))
        asked.is_open = asked.is_open or "answers" in question
        opened, by = (
            datetime.fromisoformat(question[key]) for key in ("opened_at", "resolve_by")
        )
        asked.span = max(asked.span, by - opened)


def toml_for(
    shape: Shape, *, suite: str, owner: str, resolver: str, principal: str, track: str
) -> str:
    """Return a suite that takes drafts of this shape, owned by an evaluator."""
    reference = _REFERENCE
    while reference in shape.forecasters:
        reference += "-computed"
    return _TOML.substitute(
        suite=_quoted(suite),
        track=_quoted(track),
        owner=_quoted(owner),
        resolver=_quoted(resolver),
        templates=_listed(shape.asked),
        reference=_quoted(reference),
        blocks="".join(
            _block(name, asked, shape, resolver) for name, asked in shape.asked.items()
        ),
        competitors="".join(
            _COMPETITOR.substitute(
                name=_quoted(name),
                principal=_quoted(principal),
                tier=f"evidence_tier = {_quoted(tier)}\n" if tier else "",
            )
            for name, tier in shape.forecasters.items()
        ),
        rules=RULES.substitute(reference=_quoted(reference), looks="[]"),
    )


def _block(name: str, asked: _Asked, shape: Shape, resolver: str) -> str:
    answers = ""
    if not asked.is_open:
        answers = f"answers  = [{_listed(shape.answers)}]\n"
        if len(shape.answers) == _BINARY:
            answers += f"positive = {_quoted(shape.answers[0])}\n"
    return _TEMPLATE.substitute(
        id=_quoted(name),
        answers=answers,
        sources=_listed(shape.sources or ("the imported file",)),
        resolver=_quoted(resolver),
        horizons=_listed(asked.horizons),
        tags=_listed(asked.tags),
        hours=-(-asked.span // _HOUR),
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(text: str) -> str:
    """Return a TOML basic string, which spells as JSON does."""
    return json.dumps(text)
