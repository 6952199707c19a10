"""What the types of a manifest are called, and what somebody probably meant."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import msgspec
from msgspec import inspect

from ledger.grammar import DECIMAL_PATTERN, HEX_PATTERN, KEY_PATTERN, DecimalText
from ledger.suite_table import listed, suggestion

_SHOWN_MAX = 60
# A decimal longer than the grammar's is no slip of the pen to be spelled anew.
_PLACES = Context(prec=60)
_EXPONENT_MAX = 25
_PATTERN_WORDS = {
    DECIMAL_PATTERN: 'a decimal number in quotes, such as "0.05"',
    HEX_PATTERN: "64 lower-case hexadecimal digits (a SHA-256)",
    KEY_PATTERN: "an ASCII name of at most 128 characters, such as pass",
}
_PLAIN_WORDS: dict[type[inspect.Type], str] = {
    inspect.IntType: "an integer without quotes, from 0 to 2^53 - 1",
    inspect.BoolType: "true or false",
    inspect.DateTimeType: "an instant in UTC, such as 2026-11-01T00:00:00Z",
    inspect.StructType: "a table",
}


def words(kind: inspect.Type) -> str:
    """Return what a value of this type looks like, in words."""
    match kind:
        case inspect.Metadata():
            told = (kind.extra_json_schema or {}).get("description")
            return str(told) if told else words(kind.type)
        case inspect.UnionType():
            return words(unwrapped(kind))
        case inspect.StrType():
            return _PATTERN_WORDS.get(kind.pattern or "", "text")
        case inspect.LiteralType():
            return listed(f'"{value}"' for value in kind.values)
        case inspect.VarTupleType() | inspect.TupleType() | inspect.DictType():
            return _words_of_many(kind)
        case _:
            return _PLAIN_WORDS[type(kind)]


def _words_of_many(
    kind: inspect.VarTupleType | inspect.TupleType | inspect.DictType,
) -> str:
    match kind:
        case inspect.VarTupleType():
            least = f" with at least {kind.min_length}" if kind.min_length else ""
            return f"a list{least}, each {words(kind.item_type)}"
        case inspect.TupleType():
            return f"a list of two, each {words(kind.item_types[0])}"
        case inspect.DictType():
            return f"a table of names, each with {words(kind.value_type)}"


def unwrapped(kind: inspect.Type) -> inspect.Type:
    """Return the type without its `| None`, and without its description."""
    match kind:
        case inspect.Metadata():
            return unwrapped(kind.type)
        case inspect.UnionType():
            some = (each for each in kind.types if type(each) is not inspect.NoneType)
            return unwrapped(next(some))
        case _:
            return kind


def remedy_for(given: object, kind: inspect.Type) -> str:
    """Return what to write instead of `given`, which is no value of this type."""
    match unwrapped(kind):
        case inspect.StrType(pattern=pattern) if pattern == DECIMAL_PATTERN:
            spelled = _decimal_text(given)
            if spelled is not None:
                return f'write "{spelled}", in quotes and without trailing zeros'
        case inspect.LiteralType(values=values) if isinstance(given, str):
            if hint := suggestion(given, map(str, values)):
                return f"{hint} It is {words(kind)}"
        case inspect.BoolType() | inspect.IntType() if isinstance(given, str):
            bare = given.strip()
            if bare in {"true", "false"} or (bare.isascii() and bare.isdigit()):
                return f"write {bare} without quotes"
    return f"write {words(kind)}"


def _decimal_text(given: object) -> str | None:
    """Return the one spelling of the number that somebody meant, or None."""
    if isinstance(given, bool):
        return None
    try:
        number = Decimal(str(given).strip())
        if not number.is_finite() or abs(number.adjusted()) > _EXPONENT_MAX:
            return None
        spelled = format(number.normalize(_PLACES), "f") if number else "0"
        return msgspec.convert(spelled, DecimalText)
    except (InvalidOperation, msgspec.ValidationError):
        return None


def shown(given: Any) -> str:  # noqa: ANN401 - whatever a TOML can hold
    """Return a value as its author wrote it, shortened."""
    match given:
        case None:
            text = "null"
        case bool():
            text = str(given).lower()
        case str():
            text = json.dumps(given, ensure_ascii=False)
        case Mapping():
            text = "a table"
        case list() | tuple():
            text = "a list"
        case datetime():
            text = f"the time {given.isoformat()}"
        case float():
            text = f"{given!r}, a number with a point"
        case _:
            text = str(given)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
