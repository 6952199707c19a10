"""Which keys a manifest has, and whether each value is one: all faults at once.

The structs of `suite` are the only list of keys: they are walked beside the
manifest, so that a key added there is asked for here. msgspec would stop at
the first fault.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC
from functools import cache
from typing import Final

import msgspec
from msgspec import inspect

from ledger.grammar import Instant
from ledger.suite import SuiteManifest
from ledger.suite_table import Gap, Table, listed, repeated, suggestion
from ledger.suite_words import remedy_for, shown, unwrapped, words

_UNSOUND: Final = object()


def examine(
    manifest: Mapping[str, object],
    *,
    is_written: bool,
) -> tuple[Table, list[Gap]]:
    """Return what of `manifest` is sound, and a gap for everything that is not.

    `is_written` says that people wrote it: then a collection that they must
    think of has to stand there, be it empty. In a payload it is absent.
    """
    examination = _Examination(is_written=is_written)
    table = examination.table(manifest, _suite_type(), "")
    return table, examination.gaps


@cache
def _suite_type() -> inspect.StructType:
    kind = inspect.type_info(SuiteManifest)
    assert isinstance(kind, inspect.StructType)
    return kind


class _Examination:
    """A walk over a manifest beside its type; the gaps grow as it goes."""

    def __init__(self, *, is_written: bool) -> None:
        self.gaps: list[Gap] = []
        self._is_written = is_written

    def _refuse(self, where: str, what: str, remedy: str) -> object:
        self.gaps.append(Gap(where=where, what=what, remedy=remedy))
        return _UNSOUND

    def table(
        self,
        given: Mapping[str, object],
        kind: inspect.StructType,
        where: str,
    ) -> Table:
        """Return the table's sound part; note what it lacks and what it invents."""
        table = Table(where, given)
        if kind.tag_field:
            self._require_format(table, kind.tag_field, kind.tag)
        for field in kind.fields:
            value = self._field(table, field)
            if value is not _UNSOUND:
                table.sound[field.encode_name] = value
        self._refuse_unknown(table, kind)
        return table

    def _require_format(self, table: Table, key: str, known: str | int | None) -> None:
        found = table.given.get(key)
        if found is None:
            self._refuse(key, "is missing", f'write "{known}"')
        elif found != known:
            what = f"is {shown(found)}, which this program does not know"
            self._refuse(key, what, f'write "{known}", or use a newer program')

    def _field(self, table: Table, field: inspect.Field) -> object:
        key, where = field.encode_name, table.at(field.encode_name)
        if table.given.get(key) is not None:
            return self._value(table.given[key], field.type, where)
        must_be_written = self._is_written and _must_be_written(field.type)
        if not field.required and not must_be_written:
            if key in table.given:
                self._refuse(where, "is null", "leave the key out")
            return _UNSOUND
        kind = unwrapped(field.type)
        if isinstance(kind, inspect.StructType):
            # Of a table that is not there at all, each key is missing: name them all.
            return self.table({}, kind, where)
        empty = ", or [] for none" if must_be_written else ""
        return self._refuse(where, "is missing", f"write {words(field.type)}{empty}")

    def _refuse_unknown(self, table: Table, kind: inspect.StructType) -> None:
        known = {field.encode_name for field in kind.fields}
        for key in table.given:
            if key in known or key == kind.tag_field:
                continue
            hint, homes = suggestion(key, known), _homes().get(key, ())
            if homes:
                remedy = f"it belongs {listed(homes)}"
            elif hint:
                remedy = hint
            else:
                remedy = "leave it out: only the documented keys can be frozen"
            self._refuse(table.at(key), "is no key of a suite", remedy)

    def _value(self, given: object, kind: inspect.Type, where: str) -> object:
        match unwrapped(kind):
            case inspect.StructType() as struct if isinstance(given, Mapping):
                return self.table(given, struct, where)
            case inspect.DictType() as names if isinstance(given, Mapping):
                return self._map(given, names, where)
            case inspect.VarTupleType() as many if isinstance(given, list | tuple):
                return self._list(given, many, where)
            case inspect.TupleType() as pair if isinstance(given, list | tuple):
                return self._pair(given, pair, where)
            case leaf if _is_sound(given, leaf):
                return given
        return self._refuse(where, f"is {shown(given)}", remedy_for(given, kind))

    def _map(
        self,
        given: Mapping[str, object],
        kind: inspect.DictType,
        where: str,
    ) -> dict[str, object]:
        sound = {}
        for name, item in given.items():
            place = f"{where}.{name}"
            if self._value(name, kind.key_type, place) is _UNSOUND:
                continue
            value = self._value(item, kind.value_type, place)
            if value is not _UNSOUND:
                sound[name] = value
        return sound

    def _list(
        self,
        given: list[object] | tuple[object, ...],
        kind: inspect.VarTupleType,
        where: str,
    ) -> tuple[object, ...]:
        if len(given) < (kind.min_length or 0):
            self._refuse(where, "is empty", f"write {words(kind)}")
        places = [f"{where}[{_label(item, at)}]" for at, item in enumerate(given, 1)]
        for place in repeated(places):
            self._refuse(place, "stands there twice", "give each a name of its own")
        examined = [
            self._value(item, kind.item_type, place)
            for item, place in zip(given, places, strict=True)
        ]
        for text in repeated(item for item in examined if isinstance(item, str)):
            self._refuse(where, f"says {shown(text)} twice", "say each thing once")
        return tuple(item for item in examined if item is not _UNSOUND)

    def _pair(
        self,
        given: list[object] | tuple[object, ...],
        kind: inspect.TupleType,
        where: str,
    ) -> object:
        if len(given) != len(kind.item_types):
            return self._refuse(
                where,
                f"has {len(given)} items",
                f"write {words(kind)}",
            )
        pairs = enumerate(zip(given, kind.item_types, strict=True), 1)
        examined = tuple(
            self._value(item, wanted, f"{where}[#{at}]") for at, (item, wanted) in pairs
        )
        return _UNSOUND if _UNSOUND in examined else examined


def _label(item: object, at: int) -> str:
    """Return what a reader calls an item of a list: its id, its name, its place."""
    if isinstance(item, Mapping):
        for key in ("id", "name"):
            called = item.get(key)
            if isinstance(called, str) and called:
                return called
    return f"#{at}"


def _must_be_written(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.Metadata) and "written" in (kind.extra or {})


def _is_sound(given: object, kind: inspect.Type) -> bool:
    match kind:
        case inspect.StrType() if isinstance(given, str):
            fits = kind.pattern is None or re.search(kind.pattern, given) is not None
            return fits and len(given) >= (kind.min_length or 0)
        case inspect.IntType(ge=int(least), le=int(most)) if isinstance(given, int):
            return not isinstance(given, bool) and least <= given <= most
        case inspect.BoolType():
            return isinstance(given, bool)
        case inspect.LiteralType(values=values):
            return given in values
        case inspect.DateTimeType():
            return _is_instant(given)
        case _:
            return False


def _is_instant(given: object) -> bool:
    try:
        return msgspec.convert(given, Instant).tzinfo is UTC
    except msgspec.ValidationError:
        return False


@cache
def _homes() -> dict[str, tuple[str, ...]]:
    """Return, for each key, the places where it may stand."""
    homes: dict[str, tuple[str, ...]] = {}
    for key, home in _placed(_suite_type(), ""):
        homes[key] = (*homes.get(key, ()), home)
    return homes


def _placed(kind: inspect.StructType, where: str) -> Iterator[tuple[str, str]]:
    for field in kind.fields:
        key, inner = field.encode_name, unwrapped(field.type)
        yield key, f"under [{where}]" if where else "at the top, before any [table]"
        path = f"{where}.{key}" if where else key
        match inner:
            case inspect.StructType():
                yield from _placed(inner, path)
            case inspect.VarTupleType(item_type=inspect.StructType() as item):
                yield from _placed(item, f"[{path}]")
            case inspect.DictType(value_type=inspect.StructType() as item):
                yield from _placed(item, f"{path}.<name>")
