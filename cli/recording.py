"""One event from a command's options, a draft on stdin, or both: signed and appended."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ledger.cli import render
from ledger.cli.advice import (
    advised,
    cutoff_of,
    warning_of_duplicate,
    warning_of_time,
)
from ledger.cli.context import (
    KeyRing,
    clock,
    find_ledger,
    keys_folder,
    read_input,
    writing,
)
from ledger.cli.draft_text import read_draft, refusing
from ledger.cli.drafting import Fields, fields_of, spread
from ledger.cli.meaning import Meaning
from ledger.cli.submitting import print_receipt, submit
from ledger.drafts import Drafts
from ledger.errors import RefusedError, UsageError
from ledger.state import FrozenSuite, State
from ledger.unit import unit_name
from ledger.unseen import whole

_STDIN = "-"


def record(
    kind: str,
    stated: Mapping[str, object],
    who: Callable[[Meaning, FrozenSuite], None],
) -> None:
    """Append one event of a `kind` as a command's parameters state it; print its receipt.

    A parameter bears the name of the field that it fills; `who` fills in whose it is.
    """
    place = {name: stated[name] for name in ("keys_at", "ledger", "as_json")}
    options = {name: value for name, value in stated.items() if name not in place}
    draft, probabilities = options.pop("draft"), options.pop("probabilities", None)
    said, question = fields_of(options)
    fields = {**_draft(kind, draft), **said, "type": kind}
    folder = find_ledger(_text(place["ledger"]))
    ring = KeyRing(keys_folder(folder, _text(place["keys_at"])))
    with writing(folder) as writer:
        state = writer.state
        opens = bool(question) or fields.get("status") == "PENDING"
        meaning = Meaning(fields, state, ring, opens=opens)
        frozen = meaning.suite()
        meaning.unit(frozen)
        who(meaning, frozen)
        if question:
            _bring(fields, question, frozen, state)
        if isinstance(probabilities, list) and probabilities:
            answers, positive = _answers(fields, frozen, state)
            fields["probabilities"] = spread(probabilities, answers, positive)
        with _advising(fields, state):
            with refusing():
                event = Drafts(folder.blobs.get, _no_file).event(
                    fields, state, clock()()
                )
            meaning.tell()
            # Once it is in the log, its unit has a chain in any case.
            duplicate = warning_of_duplicate(event, state)
            cutoff = cutoff_of(event, state, folder)
            receipt = submit(event, ring, writer)
        _note(duplicate)
        _note(warning_of_time(event, receipt, cutoff, state))
    print_receipt(receipt, as_json=bool(place["as_json"]))


@contextmanager
def _advising(fields: Fields, state: State) -> Iterator[None]:
    """Have a refusal name the options of this command that answer it."""
    try:
        yield
    except RefusedError as refusal:
        raise advised(refusal, fields, state) from refusal


def _note(warning: str | None) -> None:
    if warning is not None:
        render.note(warning)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _draft(kind: str, draft: object) -> Fields:
    """Return the draft on stdin, if there is to be one."""
    if draft is None:
        return {}
    if draft != _STDIN:
        msg = f"{draft} is not -: a draft is read from stdin"
        raise UsageError(msg)
    fields = read_draft(read_input(_STDIN))
    if fields.get("type") not in (None, kind):
        msg = f"the draft is a {fields['type']}, and this command makes a {kind}"
        raise RefusedError("draft-unfit", msg)
    return fields


def _bring(fields: Fields, question: Fields, frozen: FrozenSuite, state: State) -> None:
    """Put a new question into the draft, under the names that the draft has for it."""
    names = [str(fields.pop(key, "")) for key in ("template", "id", "horizon")]
    unit = state.units.named(unit_name(frozen.manifest.suite, *names))
    if unit is not None:
        msg = (
            f"{'/'.join(names)} is open already, and its question stands: leave out "
            "--cutoff, --resolve-by and the like"
        )
        raise UsageError(msg)
    template_id, instance, horizon = names
    said: Fields = {"template": template_id, "id": instance, "horizon": horizon}
    fields["question"] = {**question, **said}


def _answers(
    fields: Fields, frozen: FrozenSuite, state: State
) -> tuple[tuple[str, ...], str | None]:
    """Return the answers of the question that a draft is about, and the positive one."""
    question = fields.get("question")
    named = question if isinstance(question, dict) else fields
    template = frozen.templates.get(str(named.get("template")))
    if template is not None and template.answers:
        return template.answers, template.positive
    suite = frozen.manifest.suite
    names = [whole(str(named.get(key, ""))) for key in ("template", "id", "horizon")]
    unit = state.unit_of(suite, whole(str(fields.get("question_hash"))))
    unit = unit or state.units.named(unit_name(suite, *names))
    if unit is not None:
        return unit.question(state.lost).answers, None
    own = named.get("answers")
    return tuple(map(str, own)) if isinstance(own, list) else (), None


def _no_file(name: str) -> bytes:
    msg = f"this command reads no file {name}: use `ledger suite freeze`"
    raise UsageError(msg)
