"""What may come into force: the next version of the charter, or of a suite."""

from collections.abc import Sequence

from ledger.charters import compromised_keys, key_at, log_keys_ever
from ledger.checkpoint import open_checkpoint, parse_checkpoint, split_note
from ledger.errors import (
    CorruptLogError,
    RefusedError,
    UncheckableError,
    UsageError,
)
from ledger.events import Question, SuiteFrozen
from ledger.ids import CHARTER, parse_version
from ledger.keys.roster import Roster
from ledger.keys.signing import ED25519, is_sound_key, parse_verifier
from ledger.rules_question import check_bounds
from ledger.spelling import require_question
from ledger.state import State
from ledger.suite import CharterManifest, SuiteManifest, Template
from ledger.suite_check import gaps


def check_frozen(state: State, event: SuiteFrozen, seq: int) -> None:
    """Raise `RefusedError` unless `event` may come into force at position `seq`."""
    try:
        name, number = parse_version(event.suite)
    except ValueError as error:
        raise RefusedError("suite-unfit", str(error)) from None
    if isinstance(event.manifest, CharterManifest):
        _check_next_charter(state, event, name, number)
        _check_charter(state, event.manifest, seq)
    else:
        _check_suite(state, event, name, number, event.manifest)


def adopted(roster: Roster, manifest: CharterManifest) -> Roster:
    """Return the roster with a charter in force; refuse one that is unfit."""
    try:
        roster.adopt(manifest.principals, manifest.log_keys)
        keys = [parse_verifier(key) for key in manifest.log_keys]
    except UsageError as error:
        raise RefusedError("charter-unfit", str(error)) from None
    for key in keys:
        if key.name != manifest.origin or key.kind != ED25519:
            msg = f"the log's key is named {key.name}, and the log {manifest.origin}: use a key under that name"
            raise RefusedError("log-key-unfit", msg)
        if not is_sound_key(key.public):
            msg = "a key of the log is of small order: anything verifies under it"
            raise RefusedError("log-key-unfit", msg)
    return roster


def _check_version(event: SuiteFrozen, name: str, number: int, latest: int) -> None:
    if number <= latest:
        msg = (
            f"{event.suite} was frozen before: the next version is {name}@v{latest + 1}"
        )
        raise RefusedError("frozen-before", msg)
    expected = f"{name}@v{latest}" if latest else None
    if number != latest + 1 or event.supersedes != expected:
        msg = (
            f"{event.suite} supersedes {event.supersedes or 'nothing'}; the next version "
            f"is {name}@v{latest + 1} and supersedes {expected or 'nothing'}"
        )
        raise RefusedError("supersedes-wrong", msg)


def _check_next_charter(
    state: State, event: SuiteFrozen, name: str, number: int
) -> None:
    if name != CHARTER:
        msg = f"a charter is frozen as {CHARTER}@vN, not as {event.suite}"
        raise RefusedError("charter-unfit", msg)
    _check_version(event, name, number, state.charter_version)


def _check_charter(state: State, manifest: CharterManifest, seq: int) -> None:
    in_force = state.charter
    assert in_force is not None  # `rules.check` lets nothing else be the first
    if manifest.origin != in_force.origin:
        msg = f"the origin is {in_force.origin} for ever, not {manifest.origin}"
        raise RefusedError("charter-unfit", msg)
    adopted(state.roster.copy(), manifest)
    _check_compromised(state, in_force, manifest, seq)
    if manifest.continues is not None:
        _check_continues(state, manifest, manifest.continues, seq)


def _check_compromised(
    state: State, in_force: CharterManifest, manifest: CharterManifest, seq: int
) -> None:
    """Refuse what speaks of no key, of what is not yet, or takes back what was said."""
    for name, since in manifest.compromised_since.items():
        if since > seq:
            msg = f"the key of {name} is said to be compromised since entry {since}, and the log has {seq}: the last position to name is {seq}, from this charter on"
            raise RefusedError("compromised-ahead", msg)
        key = key_at(state.charters, name, since)
        if key is None:
            msg = f"at entry {since} no charter listed {name}: name a position at which it had the key that was compromised"
            raise RefusedError("compromised-unknown", msg)
        stated = compromised_keys(state.charters).get(key, since)
        if since > stated:
            msg = f"the key that {name} had at entry {since} is compromised since entry {stated}, which no charter can take back: say {stated} or less"
            raise RefusedError("compromised-cleared", msg)
    for name, since in in_force.compromised_since.items():
        if name not in manifest.compromised_since:
            msg = f"a key of {name} is compromised since entry {since}, which no charter can take back: keep it in compromised_since"
            raise RefusedError("compromised-cleared", msg)


def _check_continues(
    state: State, manifest: CharterManifest, note: str, seq: int
) -> None:
    """Refuse a checkpoint that this log never was at, or has not lost."""
    try:
        checkpoint = parse_checkpoint(split_note(note)[0])
    except CorruptLogError as error:
        msg = f"`continues` is no checkpoint note: {error.reason}"
        raise RefusedError("charter-unfit", msg) from None
    if checkpoint.origin != manifest.origin:
        msg = f"`continues` is a checkpoint of {checkpoint.origin}, not of this log"
        raise RefusedError("charter-unfit", msg)
    # The log's key may have been rotated in the part that was lost: the new charter
    # lists it then.
    keys = log_keys_ever([*state.charters, (seq, manifest)])
    try:
        open_checkpoint(note, keys, manifest.origin)
    except CorruptLogError as error:
        msg = f"`continues` is not what this log signed: {error.reason}"
        raise RefusedError("continues-unsigned", msg) from None
    if checkpoint.size <= seq:
        msg = f"`continues` is a checkpoint of size {checkpoint.size}, and the log has {seq} entries: nothing was lost, leave it out"
        raise RefusedError("continues-nothing", msg)


def _check_suite(
    state: State,
    event: SuiteFrozen,
    name: str,
    number: int,
    manifest: SuiteManifest,
) -> None:
    if name == CHARTER or manifest.suite != event.suite:
        msg = f"the event freezes {event.suite}, and its manifest is {manifest.suite}"
        raise RefusedError("suite-unfit", msg)
    latest = state.latest.get(name, 0)
    _check_version(event, name, number, latest)
    owner = manifest.owner
    if latest:
        owner = state.suites[f"{name}@v{latest}"].manifest.owner
    if event.author != owner:
        msg = (
            f"{event.suite} may be frozen by its owner, {owner}, not by {event.author}"
        )
        raise RefusedError("not-the-owner", msg)
    # Checked once more in full: the client that froze it may not have done so.
    roles = {member.name: member.role for member in state.roster.members.values()}
    problems = gaps(manifest, roles, state.suites)
    if problems:
        unscorable = any(gap.is_unscorable for gap in problems)
        code = "unscorable-proposition" if unscorable else "suite-incomplete"
        raise RefusedError(code, f"{event.suite}: {'; '.join(map(str, problems))}")
    try:
        for template in manifest.templates:
            if template.questions is not None:
                listed = state.pinned_questions(manifest, template)
                _check_list(template, listed if template.is_observable else ())
    except UncheckableError as error:
        raise RefusedError("pin-missing", str(error)) from None
    except CorruptLogError as error:
        msg = f"{event.suite}: {error.reason}"
        raise RefusedError("question-list-unfit", msg) from None


def _check_list(template: Template, questions: Sequence[Question]) -> None:
    """Refuse a list with a question that nobody could ask, or that stands there twice.

    Of two versions of one question a forecaster could choose the easier one; one
    that the door refuses would be missing for everybody, for ever.
    """
    seen: set[tuple[str, str]] = set()
    for question in questions:
        try:
            require_question(question)
            check_bounds(question, template)
        except RefusedError as refusal:
            msg = f"{template.questions} lists {question.id}, which {template.id} cannot ask: {refusal.message}"
            raise RefusedError("question-list-unfit", msg) from None
        name = question.id, question.horizon
        if name in seen:
            msg = f"{template.questions} lists {question.id} ({question.horizon}) twice: leave one of them out"
            raise RefusedError("question-list-unfit", msg)
        seen.add(name)
