"""The fields of a draft as an event has them: people's spellings made payloads'.

The structs of `events` are the only list of fields. Instants may be relative to
now, numbers may be bare, and what is empty or says the default is left out; a field
that no event has is refused by its name.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import cache

import msgspec
from msgspec import inspect

from ledger.clock import parse_draft_instant
from ledger.errors import RefusedError
from ledger.events import Question
from ledger.grammar import (
    DecimalText,
    EventDecimal,
    EventHex,
    EventKey,
    Hex,
    Key,
)
from ledger.suite_table import listed, suggestion
from ledger.suite_words import shown, unwrapped, words

# Takes a value, where it stands, and the present instant.
Speller = Callable[[object, str, datetime], object]

# `spelling` checks the alphabets of an event at once; a draft's are checked value by
# value, so that the refusal can say which one.
_ALPHABETS = tuple(
    (inspect.type_info(loose), inspect.type_info(strict), strict)
    for loose, strict in ((EventKey, Key), (EventHex, Hex), (EventDecimal, DecimalText))
)
_EXACT = Context(prec=60)
_EXPONENT_MAX = 25
_EMPTY: tuple[object, ...] = (None, "", (), [], {})


def unfit(where: str, what: str, remedy: str) -> RefusedError:
    """Return the refusal of a draft: where, what is wrong, and the way out."""
    return RefusedError("draft-unfit", f"{where} {what}: {remedy}")


def spelled_fields(
    draft: Mapping[str, object], cls: type[msgspec.Struct], now: datetime
) -> dict[str, object]:
    """Return the fields of `draft` as `cls` holds them, the empty ones left out.

    That a field is missing is not judged here. Raises `RefusedError` (`draft-unfit`)
    that names the first unknown field or unfit value.
    """
    kind = struct_type(cls)
    require_known(draft, [each.name for each in kind.fields], f"a {cls.__name__}")
    return _spelled(_spellers(cls), draft, "", now)


def require_known(given: Mapping[str, object], known: list[str], what: str) -> None:
    """Refuse the first key of `given` that is none of `known`."""
    for key in given:
        if key not in known:
            remedy = suggestion(key, known) or f"it has {listed(known)}"
            raise unfit(shown(key), f"is no field of {what}", remedy)


@cache
def struct_type(cls: type[msgspec.Struct]) -> inspect.StructType:
    """Return the fields of a struct, and what each may hold."""
    kind = inspect.type_info(cls)
    assert isinstance(kind, inspect.StructType)
    return kind


def words_for(kind: inspect.Type) -> str:
    """Return what a draft may say where an event has a value of this type."""
    match unwrapped(kind):
        case inspect.DateTimeType():
            return "an instant in UTC with Z, such as 2026-11-01T00:00:00Z, or now, +90m or -2h"
        case inspect.StructType():
            return "an object"
        case leaf:
            strict = next(
                (each for loose, each, _ in _ALPHABETS if loose == leaf), leaf
            )
            return words(strict)


@cache
def _spellers(cls: type[msgspec.Struct]) -> dict[str, Speller]:
    return {field.name: _speller(field.type) for field in struct_type(cls).fields}


def _spelled(
    spellers: dict[str, Speller], given: Mapping[str, object], where: str, now: datetime
) -> dict[str, object]:
    fields = {}
    for name, value in given.items():
        if value not in _EMPTY:
            place = f"{where}.{name}" if where else name
            spelled = spellers[name](value, place, now)
            if spelled not in _EMPTY:
                fields[name] = spelled
    return fields


def _speller(kind: inspect.Type) -> Speller:
    match unwrapped(kind):
        case inspect.StructType(cls=cls):
            return _struct_speller(cls)
        case inspect.DictType() as names:
            return _map_speller(names)
        case inspect.VarTupleType(item_type=item_type):
            return _list_speller(item_type)
        case inspect.DateTimeType():
            return _instant
        case inspect.StrType() as leaf:
            return _text_speller(leaf)
        case other:
            return _other_speller(other)


def _struct_speller(cls: type[msgspec.Struct]) -> Speller:
    kind = struct_type(cls)
    known = [field.name for field in kind.fields]
    spellers = _spellers(cls)

    def spell(value: object, where: str, now: datetime) -> object:
        if not isinstance(value, Mapping):
            raise unfit(where, f"is {shown(value)}", "write an object")
        require_known(value, known, where)
        fields = _spelled(spellers, value, where, now)
        for field in kind.fields:
            if field.required and field.name not in fields:
                remedy = f"write {words_for(field.type)}"
                raise unfit(f"{where}.{field.name}", "is missing", remedy)
        if cls is Question:
            _drop_defaults(fields)
        return fields

    return spell


def _drop_defaults(question: dict[str, object]) -> None:
    """Leave out a target that is the id, and a cluster that is the target."""
    target = question.get("target", question["id"])
    if target == question["id"]:
        question.pop("target", None)
    if question.get("cluster") == target:
        question.pop("cluster")


def _map_speller(kind: inspect.DictType) -> Speller:
    spell_key, spell_value = _speller(kind.key_type), _speller(kind.value_type)

    # What stands inside a map is no field: an empty text there says something.
    def spell(value: object, where: str, now: datetime) -> object:
        if not isinstance(value, Mapping):
            raise unfit(where, f"is {shown(value)}", f"write {words_for(kind)}")
        return {
            spell_key(name, f"the name {shown(name)} in {where}", now): spell_value(
                item, f"{where}.{name}", now
            )
            for name, item in value.items()
        }

    return spell


def _list_speller(item_type: inspect.Type) -> Speller:
    spell_item = _speller(item_type)

    def spell(value: object, where: str, now: datetime) -> object:
        if not isinstance(value, list | tuple):
            remedy = f"write a list, each {words_for(item_type)}"
            raise unfit(where, f"is {shown(value)}", remedy)
        return [
            spell_item(item, f"{where}[{at}]", now) for at, item in enumerate(value, 1)
        ]

    return spell


def _instant(value: object, where: str, now: datetime) -> object:
    if isinstance(value, datetime) and value.utcoffset() == timedelta(0):
        return value.astimezone(UTC)
    try:
        if isinstance(value, str):
            return parse_draft_instant(value, now)
    except (ValueError, OverflowError):
        pass  # Said below, in the same words as for what is no text.
    remedy = f"write {words_for(inspect.DateTimeType())}"
    raise unfit(where, f"is {shown(value)}", remedy) from None


def _text_speller(kind: inspect.StrType) -> Speller:
    alphabet = next((each for loose, _, each in _ALPHABETS if loose == kind), None)
    if alphabet is DecimalText:
        return _decimal

    def spell(value: object, where: str, _: datetime) -> object:
        if not isinstance(value, str):
            said = "is a number" if isinstance(value, int | float | Decimal) else None
            what = said or f"is {shown(value)}"
            raise unfit(where, what, f"write {words_for(kind)}, in quotes")
        try:
            value.encode()
            return value if alphabet is None else msgspec.convert(value, alphabet)
        except UnicodeEncodeError:
            remedy = "write whole characters, no halves of surrogate pairs"
            raise unfit(where, "is no Unicode text", remedy) from None
        except msgspec.ValidationError:
            remedy = f"write {words_for(kind)}"
            raise unfit(where, f"is {shown(value)}", remedy) from None

    return spell


def _decimal(value: object, where: str, _: datetime) -> object:
    spelled = _one_spelling(value)
    try:
        return msgspec.convert(spelled, DecimalText)
    except msgspec.ValidationError:
        remedy = "write a decimal number, with at most 25 digits before the point and 24 after"
        raise unfit(where, f"is {shown(value)}", remedy) from None


def _one_spelling(value: object) -> str | None:
    """Return a number's text without exponent or idle zeros, never a rounded one."""
    if isinstance(value, bool):
        return None
    try:
        # A float is the number that its shortest text says: 0.1 is a tenth.
        number = Decimal(repr(value) if isinstance(value, float) else str(value))
        if not number.is_finite() or abs(number.adjusted()) > _EXPONENT_MAX:
            return None
    except InvalidOperation:
        return None
    shortest = number.normalize(_EXACT) if number else Decimal(0)
    return format(shortest, "f") if shortest == number else None


def _other_speller(kind: inspect.Type) -> Speller:
    """Spell what only `spelled_fields`' callers can judge: a choice, a manifest."""

    def spell(value: object, where: str, _: datetime) -> object:
        if isinstance(kind, inspect.LiteralType) and value not in kind.values:
            text = value if isinstance(value, str) else ""
            hint = suggestion(text, map(str, kind.values))
            remedy = f"{hint} It is" if hint else "write"
            raise unfit(where, f"is {shown(value)}", f"{remedy} {words_for(kind)}")
        return value

    return spell
