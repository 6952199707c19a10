"""What the door refuses: one row a rule, and the last thing that it lets in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from ledger import codec
from ledger.checkpoint import Checkpoint, sign_checkpoint
from ledger.errors import RefusedError
from ledger.events import Evidence, LedgerEvent, Quantity, Question
from ledger.index import Index
from ledger.keys.roster import Principal
from ledger.keys.signing import SignerKey, VerifierKey
from ledger.state import State
from ledger.suite import SuiteManifest
from tests.court import (
    BAR,
    LISTED,
    NOW,
    ORIGIN,
    PEOPLE,
    Court,
    hours,
    key_of,
    manifest,
)

Case = Callable[[Court], LedgerEvent]
OTHER = "f" * 64


def opened(court: Court) -> Question:
    """Open a question and return it."""
    question = court.question()
    court.hear(court.pending(question))
    return question


def sealed(court: Court) -> tuple[Question, str]:
    """Open a question, seal a forecast on it; return both."""
    question = opened(court)
    return question, court.hear(court.seal(question))


def resolved(court: Court) -> tuple[Question, str]:
    """Return a question and the id of its first outcome."""
    question = court.question()
    pending = court.hear(court.pending(question))
    return question, court.hear(court.resolve(question, supersedes=pending))


def on_open(build: Callable[[Court, Question], LedgerEvent]) -> Case:
    return lambda court: build(court, opened(court))


def on_sealed(build: Callable[[Court, Question, str], LedgerEvent]) -> Case:
    return lambda court: build(court, *sealed(court))


def on_resolved(build: Callable[[Court, Question, str], LedgerEvent]) -> Case:
    return lambda court: build(court, *resolved(court))


def on_charter(build: Case, **changes: Any) -> Case:
    """Build an event after a second charter; a callable change is given the court."""

    def case(court: Court) -> LedgerEvent:
        made = {
            name: change(court) if callable(change) else change
            for name, change in changes.items()
        }
        court.hear(court.charter(2, **made))
        return build(court)

    return case


def without(*names: str, **others: str) -> dict[str, str]:
    return {k: v for k, v in PEOPLE.items() if k not in names} | others


def with_newcomer() -> dict[str, str]:
    return {**PEOPLE, "newcomer": "forecaster"}


def log_key(name: str = ORIGIN, *, seed: str = ORIGIN) -> str:
    return str(VerifierKey(name=name, public=key_of(seed).verifier.public))


def fresh_key(name: str) -> str:
    return log_key(name, seed="fresh")


def neutral(name: str) -> VerifierKey:
    return VerifierKey(name=name, public=b"\x01" + bytes(31))


def remembered(size: int, origin: str = ORIGIN, *, signer: str | None = None) -> str:
    """Return the note of a checkpoint of a log that is not ours any more."""
    seed = key_of(signer or origin).seed
    key = SignerKey(name=origin, seed=seed)
    return sign_checkpoint(Checkpoint(origin=origin, size=size, root=bytes(32)), key)


def next_suite(court: Court, **changes: Any) -> LedgerEvent:
    return court.frozen(manifest(2), **{"supersedes": "court@v1", **changes})


def next_list(court: Court, *questions: Question) -> LedgerEvent:
    """Freeze a next version whose evaluator lists these questions."""
    content = b"".join(codec.encode(each) + b"\n" for each in questions)
    return pinning(court, content)


def pinning(court: Court, content: bytes) -> LedgerEvent:
    digest = sha256(content).hexdigest()
    court.blobs[digest] = content
    return next_suite(court, manifest=manifest(2, pins={"questions.jsonl": digest}))


def listed(court: Court, **changes: Any) -> Question:
    return court.question("listed", **{**LISTED_TIMES, "id": "listed-1", **changes})


def withheld(court: Court) -> tuple[Question, str, dict[str, Any]]:
    """Seal a hidden vector; return its question, its id, and what opens it."""
    question = opened(court)
    shown = {"probabilities": {"pass": "0.8", "fail": "0.2"}}
    draft = court.seal(question, **shown)
    committed = codec.commitment(draft, parent=None, salt=OTHER)
    hidden = court.hear(court.seal(question, probabilities={}, commitment=committed))
    return question, hidden, {**shown, "opens": hidden, "salt": OTHER}


def on_hidden(**changes: Any) -> Case:
    """Reveal a hidden vector, with some changes."""

    def case(court: Court) -> LedgerEvent:
        question, hidden, opening = withheld(court)
        return court.update(question, hidden, **{**opening, **changes})

    return case


def opened_twice(court: Court) -> LedgerEvent:
    question, hidden, opening = withheld(court)
    court.hear(court.update(question, hidden, **opening))
    return court.update(question, hidden, **{**opening, "reason": "once more"})


def opened_by_another(court: Court) -> LedgerEvent:
    question, _, opening = withheld(court)
    rival = {"author": "rival", "forecaster": "rival"}
    own = court.hear(court.seal(question, **rival))
    return court.update(question, own, **{**opening, **rival})


def superseded(court: Court) -> Court:
    court.hear(next_suite(court))
    return court


def blind(court: Court, **changes: Any) -> LedgerEvent:
    """Seal a forecast in a blind archive."""
    court.hear(next_suite(court, manifest=manifest(2, tier="blind_archive")))
    question = court.question("free")
    return court.bring(question, suite="court@v2", **changes)


def unsourced(court: Court, **changes: Any) -> LedgerEvent:
    """Freeze a next version whose first template lacks something."""
    made = manifest(2)
    first, *others = made.templates
    lacking = msgspec.structs.replace(first, **changes)
    return next_suite(
        court, manifest=msgspec.structs.replace(made, templates=(lacking, *others))
    )


def remembering(*suites: str) -> SuiteManifest:
    """Return the second version of the suite, whose past is of these."""
    made = manifest(2)
    pool = msgspec.structs.replace(made.baseline_pool, suites=suites)
    return msgspec.structs.replace(made, baseline_pool=pool)


def test_the_past_may_be_that_of_a_version_that_was_frozen() -> None:
    court = Court()
    second = remembering("court@v2", "court@v1")
    court.hear(next_suite(court, manifest=second))
    assert "court@v2" in court.state.suites


def demanding(court: Court, **changes: Any) -> LedgerEvent:
    """Ask a question of a template that wants two hours between cut-off and answer."""
    made = manifest(2)
    templates = tuple(
        msgspec.structs.replace(each, min_lead_hours=2) if each.id == "free" else each
        for each in made.templates
    )
    court.hear(
        next_suite(court, manifest=msgspec.structs.replace(made, templates=templates))
    )
    question = court.question("free", **changes)
    return court.bring(question, suite="court@v2")


LISTED_TIMES = {"cutoff_at": hours(24), "resolve_by": hours(48)}


def crossing() -> dict[str, Quantity]:
    return {"minutes": Quantity(quantiles={"0.1": "9", "0.9": "8.5"})}


REFUSED: dict[str, tuple[str, Case]] = {
    "an event of another ledger": (
        "wrong-ledger",
        on_open(lambda c, q: c.seal(q, ledger=OTHER)),
    ),
    "an event of no ledger": (
        "wrong-ledger",
        on_open(lambda c, q: c.seal(q, ledger=None)),
    ),
    "an author whom the charter does not list": (
        "unknown-author",
        on_open(lambda c, q: c.seal(q, author="nobody")),
    ),
    "a resolver who forecasts": (
        "wrong-role",
        on_open(lambda c, q: c.seal(q, author="resolver")),
    ),
    "a forecaster who resolves": (
        "wrong-role",
        on_open(lambda c, q: c.resolve(q, author="forecaster")),
    ),
    "an issuer who resolves": (
        "wrong-role",
        on_open(lambda c, q: c.resolve(q, author="issuer")),
    ),
    "an evaluator who freezes a charter": (
        "wrong-role",
        lambda c: c.frozen(manifest(2), manifest=c.charter(2).manifest),
    ),
    "a root who freezes a suite": (
        "wrong-role",
        lambda c: next_suite(c, author="root"),
    ),
    "created more than five minutes ahead": (
        "created-ahead",
        on_open(lambda c, q: c.seal(q, created_at=NOW + timedelta(seconds=301))),
    ),
    "a suite that nobody froze": (
        "unknown-suite",
        on_open(lambda c, q: c.seal(q, suite="other@v1")),
    ),
    "a template that the suite lacks": (
        "unknown-template",
        lambda c: c.pending(c.question("other")),
    ),
    "a template that is evidence only": (
        "not-observable",
        lambda c: c.pending(c.question("mood")),
    ),
    "a competitor that the suite lacks": (
        "unknown-competitor",
        on_open(lambda c, q: c.seal(q, forecaster="other")),
    ),
    "a competitor of somebody else": (
        "not-your-competitor",
        on_open(lambda c, q: c.seal(q, forecaster="rival")),
    ),
    "a competitor that is computed": (
        "not-your-competitor",
        on_open(lambda c, q: c.seal(q, forecaster="past-rate")),
    ),
    "a question that nobody opened, by its hash": (
        "unknown-question",
        lambda c: c.seal(c.question()),
    ),
    "a forecast without a question": (
        "question-missing",
        lambda c: c.seal(c.question(), question_hash=None),
    ),
    "a question whose hash is another's": (
        "question-hash-wrong",
        on_open(lambda c, q: c.seal(q, question=q, question_hash=OTHER)),
    ),
    "an issuer's question that a forecaster brings": (
        "not-the-question-owner",
        lambda c: c.bring(c.question()),
    ),
    "an issuer's question that a resolver opens": (
        "not-the-question-owner",
        lambda c: c.pending(c.question(), author="resolver"),
    ),
    "an evaluator's question that is not on its list": (
        "not-the-question-owner",
        lambda c: c.bring(c.question("listed", id="listed-2")),
    ),
    "a listed question with an easier deadline": (
        "not-the-question-owner",
        lambda c: c.bring(c.question("listed", id="listed-1", resolve_by=hours(50))),
    ),
    "a cut-off before the opening": (
        "times-out-of-order",
        lambda c: c.pending(c.question(cutoff_at=hours(-1))),
    ),
    "a deadline before the cut-off": (
        "times-out-of-order",
        lambda c: c.pending(c.question(resolve_by=hours(1))),
    ),
    "no bar where one is required": (
        "acceptance-hash-missing",
        lambda c: c.pending(c.question(acceptance_hash=None)),
    ),
    "a horizon that the template lacks": (
        "question-outside-template",
        lambda c: c.pending(c.question(horizon="25h")),
    ),
    "a tag that the template lacks": (
        "question-outside-template",
        lambda c: c.pending(c.question(tags={"colour": "red"})),
    ),
    "open longer than the template allows": (
        "question-outside-template",
        lambda c: c.pending(c.question(resolve_by=hours(168) + timedelta(seconds=1))),
    ),
    "answers beside those of the template": (
        "question-outside-template",
        lambda c: c.pending(c.question(answers=("pass", "fail"))),
    ),
    "no answers where the template has none": (
        "question-outside-template",
        lambda c: c.bring(c.question("open-answers")),
    ),
    "the same answer twice": (
        "question-outside-template",
        lambda c: c.bring(c.question("open-answers", answers=("a", "a"))),
    ),
    "a vector over other answers": (
        "answers-mismatch",
        on_open(lambda c, q: c.seal(q, probabilities={"pass": "0.8", "no": "0.2"})),
    ),
    "a vector over fewer answers": (
        "answers-mismatch",
        on_open(lambda c, q: c.seal(q, probabilities={"pass": "1"})),
    ),
    "neither a vector nor a commitment": (
        "vector-missing",
        on_open(lambda c, q: c.seal(q, probabilities={})),
    ),
    "a vector and a commitment": (
        "vector-missing",
        on_open(lambda c, q: c.seal(q, commitment=OTHER)),
    ),
    "an adaptation budget that is not declared": (
        "unknown-budget",
        on_open(lambda c, q: c.seal(q, adaptation_budget="few-shot")),
    ),
    "a quantity that is not declared": (
        "unknown-quantity",
        on_open(lambda c, q: c.seal(q, quantities={"cost": Quantity(point="1")})),
    ),
    "quantiles that cross": (
        "quantiles-cross",
        on_open(lambda c, q: c.seal(q, quantities=crossing())),
    ),
    "a quantile level of one": (
        "quantile-level-invalid",
        on_open(
            lambda c, q: c.seal(
                q, quantities={"minutes": Quantity(quantiles={"1": "9"})}
            )
        ),
    ),
    "an update without a seal": (
        "unknown-parent",
        on_open(lambda c, q: c.update(q, OTHER)),
    ),
    "an update of an event that is not the last": (
        "parent-not-last",
        on_sealed(lambda c, q, s: c.update(q, OTHER)),
    ),
    "an update of another forecaster's vector": (
        "foreign-parent",
        on_sealed(lambda c, q, s: c.update(q, s, author="rival", forecaster="rival")),
    ),
    "an update made before its parent": (
        "created-before-parent",
        on_sealed(lambda c, q, s: c.update(q, s, created_at=hours(-1))),
    ),
    "a cut-off later than its template allows": (
        "question-outside-template",
        lambda c: demanding(c, cutoff_at=hours(22) + timedelta(microseconds=1)),
    ),
    "a text beside the hash that stands for it": (
        "question-outside-template",
        lambda c: c.bring(c.question("free", text="Will it?", text_hash=OTHER)),
    ),
    "a forecast in a blind archive that hides when training ended": (
        "training-cutoff-missing",
        blind,
    ),
    "a reveal that is hidden itself": (
        "reveal-incomplete",
        on_hidden(probabilities={}, commitment=BAR),
    ),
    "a reveal of what was opened before": ("nothing-to-open", opened_twice),
    "a reveal of a rival's vector": ("nothing-to-open", opened_by_another),
    "a reveal without a salt": (
        "reveal-incomplete",
        on_sealed(lambda c, q, s: c.update(q, s, opens=s)),
    ),
    "a reveal of a vector that was never hidden": (
        "nothing-to-open",
        on_sealed(lambda c, q, s: c.update(q, s, opens=s, salt=OTHER)),
    ),
    "a resolver whom the suite does not name": (
        "not-a-resolver",
        on_open(lambda c, q: c.resolve(q, author="stranger")),
    ),
    "an outcome that is no answer": (
        "outcome-outside-answers",
        on_open(lambda c, q: c.resolve(q, outcome="maybe")),
    ),
    "resolved without an outcome": (
        "outcome-misplaced",
        on_open(lambda c, q: c.resolve(q, outcome=None)),
    ),
    "void with an outcome": (
        "outcome-misplaced",
        on_open(lambda c, q: c.resolve(q, status="VOID", reason_code="x")),
    ),
    "void without a reason": (
        "reason-missing",
        on_open(lambda c, q: c.resolve(q, status="VOID", outcome=None)),
    ),
    "an outcome that is published tomorrow": (
        "published-after-receipt",
        on_open(lambda c, q: c.resolve(q, published_at=hours(24))),
    ),
    "a value of a quantity that is not declared": (
        "unknown-quantity",
        on_open(lambda c, q: c.resolve(q, values={"cost": "1"})),
    ),
    "a resolution that does not name the PENDING record": (
        "supersedes-missing",
        on_open(lambda c, q: c.resolve(q)),
    ),
    "a second resolution that names nothing": (
        "supersedes-missing",
        on_resolved(lambda c, q, r: c.resolve(q, outcome="fail")),
    ),
    "a resolution that supersedes what is not there": (
        "supersedes-wrong",
        lambda c: c.pending(c.question(), supersedes=OTHER),
    ),
    "an issuer who opens again what is resolved": (
        "wrong-role",
        on_resolved(lambda c, q, r: c.pending(q, question=None, supersedes=r)),
    ),
    "a review of nothing": (
        "nothing-to-confirm",
        on_resolved(lambda c, q, r: c.resolve(q, author="reviewer", confirms=OTHER)),
    ),
    "a review of a PENDING record": (
        "nothing-to-confirm",
        on_open(lambda c, q: c.resolve(q, confirms=c.standing(q))),
    ),
    "a review of a review": (
        "nothing-to-confirm",
        on_resolved(
            lambda c, q, r: c.resolve(
                q, confirms=c.hear(c.resolve(q, author="reviewer", confirms=r))
            )
        ),
    ),
    "a review that supersedes": (
        "review-unfit",
        on_resolved(
            lambda c, q, r: c.resolve(q, author="reviewer", confirms=r, supersedes=r)
        ),
    ),
    "a review that says PENDING": (
        "review-unfit",
        on_resolved(
            lambda c, q, r: c.resolve(
                q, author="reviewer", confirms=r, status="PENDING", outcome=None
            )
        ),
    ),
    "a review of one's own record": (
        "own-review",
        on_resolved(lambda c, q, r: c.resolve(q, confirms=r)),
    ),
    "a version that was frozen before": (
        "frozen-before",
        lambda c: c.frozen(manifest(1)),
    ),
    "a version that skips one": (
        "supersedes-wrong",
        lambda c: c.frozen(manifest(3), supersedes="court@v2"),
    ),
    "a next version that supersedes nothing": (
        "supersedes-wrong",
        lambda c: c.frozen(manifest(2)),
    ),
    "a next version by another evaluator": (
        "not-the-owner",
        lambda c: next_suite(c, author="examiner"),
    ),
    "a manifest of another suite": (
        "suite-unfit",
        lambda c: c.frozen(manifest(2), suite="court@v3", supersedes="court@v2"),
    ),
    "a past of a suite that is not frozen": (
        "suite-incomplete",
        lambda c: next_suite(c, manifest=remembering("court@v2", "ghost@v1")),
    ),
    "a past of a version that does not yet exist": (
        "suite-incomplete",
        lambda c: next_suite(c, manifest=remembering("court@v2", "court@v3")),
    ),
    "a past without the suite itself": (
        "suite-incomplete",
        lambda c: next_suite(
            c, manifest=msgspec.structs.replace(manifest(1), suite="court@v2")
        ),
    ),
    "a suite with questions that are not at hand": (
        "pin-missing",
        lambda c: next_suite(c, manifest=manifest(2, pins={"questions.jsonl": OTHER})),
    ),
    "a list that holds no questions": (
        "question-list-unfit",
        lambda c: pinning(c, b"listed-1\n"),
    ),
    "a list with two versions of one question": (
        "question-list-unfit",
        lambda c: next_list(c, listed(c), listed(c, resolve_by=hours(49))),
    ),
    "a list with a question that its template cannot ask": (
        "question-list-unfit",
        lambda c: next_list(c, listed(c, horizon="25h")),
    ),
    "a list with a question that no event could spell": (
        "question-list-unfit",
        lambda c: next_list(c, listed(c, target="listed-1")),
    ),
    "a forecast on a listed question that a superseded suite never opened": (
        "superseded-suite",
        lambda c: superseded(c).bring(listed(c)),
    ),
    "a suite whose outcomes nobody could look up": (
        "unscorable-proposition",
        lambda c: unsourced(c, resolution_rule=None),
    ),
    "a suite that does not say who asks": (
        "suite-incomplete",
        lambda c: unsourced(c, question_owner=None),
    ),
    "a suite that is called charter": (
        "suite-unfit",
        lambda c: c.frozen(manifest(), suite="charter@v2"),
    ),
    "a suite without a version": (
        "suite-unfit",
        lambda c: c.frozen(manifest(), suite="court"),
    ),
    "a charter under a suite's name": (
        "charter-unfit",
        lambda c: c.frozen(
            manifest(), suite="other@v1", author="root", manifest=c.charter(2).manifest
        ),
    ),
    "a charter that moves a name to another role": (
        "charter-unfit",
        lambda c: c.charter(2, people={**PEOPLE, "issuer": "resolver"}),
    ),
    "a charter without a root": (
        "charter-unfit",
        lambda c: c.charter(2, people={k: v for k, v in PEOPLE.items() if v != "root"}),
    ),
    "a charter of another origin": (
        "charter-unfit",
        lambda c: c.charter(2, origin="example.org/other"),
    ),
    "a charter that continues no checkpoint": (
        "charter-unfit",
        lambda c: c.charter(2, continues="nothing"),
    ),
    "a charter that continues a checkpoint of another log": (
        "charter-unfit",
        lambda c: c.charter(2, continues=remembered(3, "example.org/other")),
    ),
    "a charter that continues what the log did not sign": (
        "continues-unsigned",
        lambda c: c.charter(2, continues=remembered(3, signer="root")),
    ),
    "a charter that continues a checkpoint of which nothing is lost": (
        "continues-nothing",
        lambda c: c.charter(2, continues=remembered(2)),
    ),
    "a charter that lists a name which was revoked": (
        "name-reused",
        on_charter(lambda c: c.charter(3), people=without("rival")),
    ),
    "a charter that calls a stranger compromised": (
        "compromised-unknown",
        lambda c: c.charter(2, compromised_since={"nobody": 0}),
    ),
    "a charter that calls a newcomer compromised": (
        "compromised-unknown",
        lambda c: c.charter(
            2, people=with_newcomer(), compromised_since={"newcomer": 2}
        ),
    ),
    "a key that is compromised since before it was listed": (
        "compromised-unknown",
        on_charter(
            lambda c: c.charter(
                3, people=with_newcomer(), compromised_since={"newcomer": 2}
            ),
            people=with_newcomer(),
        ),
    ),
    "a key that is compromised since after the charter": (
        "compromised-ahead",
        lambda c: c.charter(2, compromised_since={"forecaster": 3}),
    ),
    "a charter that keeps silent about a compromised key": (
        "compromised-cleared",
        on_charter(lambda c: c.charter(3), compromised_since={"forecaster": 1}),
    ),
    "a charter that calls a compromised key sound for longer": (
        "compromised-cleared",
        on_charter(
            lambda c: c.charter(3, compromised_since={"forecaster": 2}),
            compromised_since={"forecaster": 1},
        ),
    ),
    "a charter whose log key goes by another name": (
        "log-key-unfit",
        lambda c: c.charter(2, log_keys=(log_key(), log_key("example.org/other"))),
    ),
    "a charter whose log key is of small order": (
        "log-key-unfit",
        lambda c: c.charter(2, log_keys=(log_key(), str(neutral(ORIGIN)))),
    ),
}


@pytest.mark.parametrize(("code", "build"), REFUSED.values(), ids=REFUSED)
def test_the_door_refuses(code: str, build: Case) -> None:
    court = Court()
    event = build(court)
    with pytest.raises(RefusedError) as refused:
        court.hear(event)

    assert refused.value.code == code
    assert refused.value.message


LET_IN: dict[str, Case] = {
    "created exactly five minutes ahead": on_open(
        lambda c, q: c.seal(q, created_at=NOW + timedelta(seconds=300))
    ),
    "a question that is open for exactly as long as allowed": lambda c: c.pending(
        c.question(resolve_by=hours(168))
    ),
    "a question whose three times are one": lambda c: c.pending(
        c.question(cutoff_at=hours(0), resolve_by=hours(0))
    ),
    "a forecaster's own question where the template allows it": lambda c: c.bring(
        c.question("free")
    ),
    "a listed question, by anybody": lambda c: c.bring(
        c.question("listed", **{**LISTED_TIMES, "id": LISTED["id"]})
    ),
    "a question with its own answers": lambda c: c.bring(
        c.question("open-answers", answers=("a", "b", "c")),
        probabilities={"a": "0.2", "b": "0.3", "c": "0.5"},
    ),
    "a second seal of one unit: flagged, not refused": on_sealed(
        lambda c, q, s: c.seal(q, probabilities={"pass": "0.1", "fail": "0.9"})
    ),
    "another version of an open question: flagged, not refused": on_sealed(
        lambda c, q, s: c.bring(c.question(cutoff_at=hours(3)))
    ),
    "a cut-off as late as its template allows": lambda c: demanding(
        c, cutoff_at=hours(22)
    ),
    "a forecast in a blind archive that states when training ended": lambda c: blind(
        c, evidence=Evidence(training_cutoff_at=NOW)
    ),
    "a reveal of what was hidden": on_hidden(),
    "a reveal of another vector: flagged, not refused": on_hidden(
        probabilities={"pass": "0.9", "fail": "0.1"}
    ),
    "a list of two questions": lambda c: next_list(
        c, listed(c), listed(c, id="listed-2")
    ),
    "a list whose other questions are another template's": lambda c: next_list(
        c, listed(c), c.question("elsewhere", horizon="25h")
    ),
    "what became of a listed question that a superseded suite never opened": lambda c: (
        superseded(c).resolve(listed(c), question=listed(c))
    ),
    "a rival on the same unit": on_sealed(
        lambda c, q, s: c.seal(q, author="rival", forecaster="rival")
    ),
    "an update created at its parent's instant": on_sealed(
        lambda c, q, s: c.update(q, s)
    ),
    "a forecast after the outcome: flagged, not refused": on_resolved(
        lambda c, q, r: c.seal(q)
    ),
    "a resolution by another bar: flagged, not refused": on_open(
        lambda c, q: c.resolve(q, acceptance_hash=OTHER, supersedes=c.standing(q))
    ),
    "an amendment that names what it supersedes": on_resolved(
        lambda c, q, r: c.resolve(q, outcome="fail", supersedes=r)
    ),
    "a review by a second resolver": on_resolved(
        lambda c, q, r: c.resolve(q, author="reviewer", confirms=r)
    ),
    "a void with its reason": on_resolved(
        lambda c, q, r: c.resolve(
            q, status="VOID", outcome=None, reason_code="flaky", supersedes=r
        )
    ),
    "quantiles that touch": on_open(
        lambda c, q: c.seal(
            q, quantities={"minutes": Quantity(quantiles={"0.1": "8", "0.9": "8"})}
        )
    ),
    "an outcome published now": on_open(
        lambda c, q: c.resolve(q, published_at=NOW, supersedes=c.standing(q))
    ),
    "the next version by its owner": next_suite,
    "a charter that adds a principal": lambda c: c.charter(2, people=with_newcomer()),
    "a charter that revokes a principal": lambda c: c.charter(
        2, people=without("rival")
    ),
    "a charter that continues a checkpoint of one entry more": lambda c: c.charter(
        2, continues=remembered(3)
    ),
    "a charter that continues what a former key of the log signed": on_charter(
        lambda c: c.charter(
            3,
            log_keys=(log_key(seed="fresh"),),
            continues=remembered(4),
        ),
        log_keys=(log_key(), log_key(seed="fresh")),
    ),
    "a charter that continues what a key signed that it lists itself": lambda c: (
        c.charter(
            2,
            log_keys=(log_key(), log_key(seed="fresh")),
            continues=remembered(3, signer="fresh"),
        )
    ),
    "a key that is compromised from the charter on": lambda c: c.charter(
        2, compromised_since={"forecaster": 2}
    ),
    "a key that was always compromised": lambda c: c.charter(
        2, compromised_since={"forecaster": 0}
    ),
    "a key that is compromised since it was listed": on_charter(
        lambda c: c.charter(
            3, people=with_newcomer(), compromised_since={"newcomer": 3}
        ),
        people=with_newcomer(),
    ),
    "a key whose owner was revoked, called compromised later": on_charter(
        lambda c: c.charter(3, people=without("rival"), compromised_since={"rival": 1}),
        people=without("rival"),
    ),
    "a compromised key that is said once more": on_charter(
        lambda c: c.charter(3, compromised_since={"forecaster": 1}),
        compromised_since={"forecaster": 1},
    ),
    "a compromised key that turns out to be so for longer": on_charter(
        lambda c: c.charter(3, compromised_since={"forecaster": 0}),
        compromised_since={"forecaster": 1},
    ),
    "a second key of one name that is compromised": on_charter(
        lambda c: c.charter(
            3,
            principals=principals(c, forecaster=fresh_key("forecaster")),
            compromised_since={"forecaster": 3},
        ),
        principals=lambda c: principals(c, forecaster=fresh_key("forecaster")),
        compromised_since={"forecaster": 1},
    ),
    "a root that leaves another behind": on_charter(
        lambda c: c.charter(3, people=without("root", deputy="root"), author="deputy"),
        people={**PEOPLE, "deputy": "root"},
    ),
}


@pytest.mark.parametrize("build", LET_IN.values(), ids=LET_IN)
def test_the_door_lets_in(build: Case) -> None:
    court = Court()
    event = build(court)
    size = court.size
    court.hear(event)

    assert court.size == size + 1


def test_a_superseded_suite_opens_nothing_and_runs_out() -> None:
    court = Court()
    question, seal = sealed(court)
    court.hear(next_suite(court))

    court.hear(court.update(question, seal))
    with pytest.raises(RefusedError, match="superseded-suite"):
        court.hear(court.pending(court.question(id="d-2")))


def principals(court: Court, **keys: str) -> tuple[Principal, ...]:
    """Return everybody, with other keys under the names that are given."""
    return tuple(
        Principal(key=keys.get(each.name, each.key), name=each.name, role=each.role)
        for each in court.charter().manifest.principals
    )


def test_a_key_that_was_rotated_out_signs_nothing_more() -> None:
    court = Court()
    question = opened(court)
    moved = VerifierKey(name="forecaster", public=key_of("fresh").verifier.public)
    court.hear(court.charter(2, principals=principals(court, forecaster=str(moved))))

    with pytest.raises(RefusedError, match="bad-signature"):
        court.hear(court.seal(question))
    court.hear(court.seal(question), key="fresh")
    back = court.charter(3, principals=principals(court, rival=str(moved)))
    with pytest.raises(RefusedError, match="charter-unfit"):
        court.hear(back)


def test_a_key_of_small_order_is_refused_in_a_charter() -> None:
    court = Court()
    unsound = principals(court, rival=str(neutral("rival")))
    with pytest.raises(RefusedError, match="small order"):
        court.hear(court.charter(2, principals=unsound))


def test_a_hidden_vector_is_opened_until_its_time_has_passed() -> None:
    court = Court()
    question, hidden, opening = withheld(court)
    reveal = court.update(question, hidden, **opening)
    last = question.resolve_by + timedelta(hours=168)

    with pytest.raises(RefusedError, match="reveal-too-late"):
        court.hear(reveal, at=last + timedelta(microseconds=1))
    court.hear(reveal, at=last)


def test_a_wrong_reveal_does_not_keep_the_right_one_from_coming() -> None:
    court = Court()
    question, hidden, opening = withheld(court)
    wrong = {**opening, "salt": BAR}

    court.hear(court.update(question, hidden, **wrong))
    court.hear(court.update(question, hidden, **opening))
    with pytest.raises(RefusedError, match="nothing-to-open"):
        court.hear(court.update(question, hidden, **wrong))


def test_a_later_hidden_vector_is_opened_under_its_own_parent() -> None:
    court = Court()
    question, first = sealed(court)
    shown = {"probabilities": {"pass": "0.6", "fail": "0.4"}}
    draft = court.update(question, first, **shown)
    committed = codec.commitment(draft, parent=first, salt=OTHER)
    hidden = court.hear(
        court.update(question, first, probabilities={}, commitment=committed)
    )
    reveal = court.update(question, hidden, **shown, opens=hidden, salt=OTHER)

    court.hear(reveal)
    with pytest.raises(RefusedError, match="nothing-to-open"):
        court.hear(reveal)


def test_a_log_begins_with_a_charter() -> None:
    court = Court()
    court.state, court.size = State(Index(None), {}.get), 0

    with pytest.raises(RefusedError, match="no-charter"):
        court.hear(court.frozen(manifest()))


def test_limits_without_an_end_let_the_farthest_times_in() -> None:
    court = Court()
    endless = 2**53 - 1
    court.hear(
        court.charter(2, created_ahead_seconds=endless, backdated_seconds=endless)
    )
    templates = [
        msgspec.structs.replace(each, max_open_hours=endless)
        if each.max_open_hours is not None
        else each
        for each in manifest(2).templates
    ]
    wide = manifest(2, reveal_by_hours=endless)
    wide = msgspec.structs.replace(wide, templates=tuple(templates))
    court.hear(court.frozen(wide, supersedes="court@v1"))
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    question = court.question(cutoff_at=last, resolve_by=last)
    court.hear(court.pending(question, suite="court@v2"))
    hashed = codec.suite_hash(wide)
    hidden = court.hear(
        court.seal(
            question,
            suite="court@v2",
            suite_hash=hashed,
            created_at=last,
            probabilities={},
            commitment=BAR,
        )
    )
    court.hear(
        court.update(
            question,
            hidden,
            suite="court@v2",
            suite_hash=hashed,
            created_at=last,
            opens=hidden,
            salt=OTHER,
        ),
        at=last,
    )
