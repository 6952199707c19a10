"""What a template needs so that its questions can be asked, judged and scored."""

from collections.abc import Iterator
from fractions import Fraction

from ledger.suite_table import Gap, Table, listed
from ledger.suite_view import Suite, unknown

_NEEDED = {
    "resolution_rule": "say which observation makes which answer true",
    "sources": "name at least one, in order of trust",
    "adjudicator": "name the resolver who decides what the rule leaves open",
    "ambiguity": "write void or adjudicate",
    "horizons": "write at least one label, such as 24h",
    "question_owner": "write evaluator, issuer or forecaster",
    "requires_acceptance": "write true or false",
    "intervention_sensitive": "write true if a forecaster can act on the outcome",
    "max_open_hours": "write how many hours may lie between opening and resolution",
    "min_lead_hours": "write how many hours lie between cut-off and resolution, or 0",
}
# Without these no honest label can ever be given, whatever else is repaired.
_UNSCORABLE_WITHOUT = frozenset(
    {"resolution_rule", "sources", "ambiguity", "horizons", "max_open_hours"},
)
_BINARY = 2


def templates_unfinished(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each key that an observable template lacks."""
    for template in suite.observable:
        for key, remedy in _NEEDED.items():
            if not template.gives(key):
                yield template.gap(
                    key,
                    "is missing, and an observable template needs it",
                    remedy,
                    is_unscorable=key in _UNSCORABLE_WITHOUT,
                )


def answers_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for answers that are no choice, and for a positive that is none."""
    for template in suite.observable:
        answers, positive = template.texts("answers"), template.text("positive")
        if not template.gives("answers"):
            if template.gives("positive"):
                remedy = "leave it out, or fix the answers"
                yield template.gap(
                    "positive",
                    "is fixed, and the answers are not",
                    remedy,
                )
        elif len(answers) == 1:
            remedy = "write two or more, or leave them to the questions"
            yield template.gap("answers", "has one answer only", remedy)
        elif positive is not None and positive not in answers:
            yield unknown(template, "positive", positive, "answer", answers)
        elif len(answers) == _BINARY and not template.gives("positive"):
            remedy = f"write {listed(answers)}: what a high probability means"
            yield template.gap("positive", "is missing", remedy)


def question_lists_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap where an evaluator's list of questions is not pinned, or is idle."""
    pins = suite.top.sound.get("pins", {})
    for template in suite.observable:
        owner, questions = template.text("question_owner"), template.text("questions")
        if owner == "evaluator" and not template.gives("questions"):
            remedy = "name the pin of a JSONL file of questions"
            yield template.gap(
                "questions",
                "is missing, and the evaluator asks",
                remedy,
            )
        if owner in {"issuer", "forecaster"} and template.gives("questions"):
            what = f"is given, and the {owner} brings the questions"
            remedy = 'leave it out, or write question_owner = "evaluator"'
            yield template.gap("questions", what, remedy)
        elif questions is not None and questions not in pins:
            yield unknown(template, "questions", questions, "pin", pins)


def judges_unfit(suite: Suite) -> Iterator[Gap]:
    """Yield a gap where those who forecast would judge, or make the rules.

    A template is circular if its adjudicator or a source of it is a competitor,
    or seals for one.
    """
    circle = suite.forecasting | suite.competitor_names
    remedy = "name one who does not forecast here"
    for template in suite.observable:
        for key in ("adjudicator", "sources"):
            named = template.text(key) if key == "adjudicator" else None
            for name in template.texts(key) if named is None else (named,):
                if name in circle:
                    what = f"is circular: {name} forecasts in this suite"
                    yield template.gap(key, what, remedy, is_unscorable=True)
    for name in suite.top.texts("resolvers"):
        if name in suite.forecasting:
            what = f"names {name}, who forecasts in this suite"
            yield suite.top.gap("resolvers", what, remedy, is_unscorable=True)
    owner = suite.top.text("owner")
    if owner in suite.forecasting:
        what = f"is {owner}, who forecasts in this suite"
        yield suite.top.gap("owner", what, remedy)


def adjudicators_who_cannot_resolve(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each adjudicator whose verdict could not be recorded."""
    resolvers = suite.top.texts("resolvers")
    for template in suite.observable:
        name = template.text("adjudicator")
        if name is not None and name not in resolvers and name not in suite.forecasting:
            what = f"is {name}, who is not among `resolvers`"
            yield template.gap("adjudicator", what, "add the name there, or name one")


def labels_that_are_inputs(suite: Suite) -> Iterator[Gap]:
    """Yield a gap for each label that a competitor reads before it forecasts it."""
    for template in suite.observable:
        for name, stream in contaminations(template, suite.competitors):
            what = f"has {stream}, which {name} takes as input: the label is invalid"
            yield template.gap(
                "label_streams",
                what,
                "resolve from a stream that nobody reads",
            )


def contaminations(
    template: Table,
    competitors: tuple[Table, ...],
) -> Iterator[tuple[str, str]]:
    """Yield each competitor that reads a label stream of `template`, and which."""
    labels = set(template.texts("label_streams"))
    for competitor in competitors:
        for stream in competitor.texts("streams"):
            if stream in labels:
                yield competitor.text("name") or "a competitor", stream


def clip_too_wide(suite: Suite) -> Iterator[Gap]:
    """Yield a gap if the clip would raise the uniform forecast: 0 < clip < 1/K."""
    scoring = suite.top.table("scoring")
    clip = scoring.number("clip")
    if clip is None:
        return
    for template in suite.observable:
        count = len(template.texts("answers"))
        if count > _BINARY and Fraction(clip) * count >= 1:
            what = f"is {clip}, and {template.text('id')} has {count} answers"
            yield scoring.gap("clip", what, f"write a number below 1/{count}")


def utility_event_unknown(suite: Suite) -> Iterator[Gap]:
    """Yield a gap if no template has the answer that triggers the action."""
    utility, answers = suite.top.table("utility"), suite.answers
    event = utility.text("event")
    if event is not None and answers is not None and event not in answers:
        yield unknown(utility, "event", event, "answer", answers)


def nothing_to_score(suite: Suite) -> Iterator[Gap]:
    """Yield a gap if a suite has templates, and none that can be scored."""
    kinds = [template.text("kind") for template in suite.templates]
    if kinds and None not in kinds and not suite.observable:
        remedy = "add an observable template: anything else is evidence only"
        yield suite.top.gap("templates", "has none that can be scored", remedy)
