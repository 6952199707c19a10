"""Where a field comes from: a column, a constant, or a text with columns in it.

question_id          the column (or, in JSON, the dotted path) of that name
=world-cup           that text, the same in every row
{date}/{team}        a text in which columns are filled in
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from ledger.cli.import_report import UnfitError
from ledger.errors import UsageError

_PART = re.compile(r"(\{\{|\}\})|\{([^{}]+)\}")
_CONSTANT = "="
# What people write where they have nothing to write.
BLANKS = frozenset({"", "-", "na", "n/a", "nan", "nil", "none", "null"})


class Row(NamedTuple):
    """One row, and where it stands, for messages."""

    place: str
    values: Mapping[str, Any]


class Source(msgspec.Struct, frozen=True):
    """Texts and columns in turn; one column alone is taken as it is."""

    parts: tuple[tuple[str, str | None], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(column for _, column in self.parts if column is not None)

    @property
    def constant(self) -> str | None:
        """The text, where it is the same in every row."""
        return None if self.columns else "".join(text for text, _ in self.parts)

    def read(self, row: Row) -> str | None:
        """Return the text for a row; None where a column has nothing to say.

        Raises `UnfitError` for a list, an object, or what is no Unicode text.
        """
        if len(self.parts) == 1:
            ((text, column),) = self.parts
            if column is None:
                return text or None
            if not text:
                return cell(row, column) or None
        made = []
        for text, column in self.parts:
            made.append(text)
            if column is not None:
                value = cell(row, column)
                if not value:
                    return None
                made.append(value)
        return "".join(made) or None

    def read_some(self, row: Row) -> str | None:
        """Return the text for a row as far as it goes, without the empty columns.

        Where all columns speak, it is exactly what they say, white space included.
        """
        values = {column: cell(row, column) or "" for column in self.columns}
        if values and not any(values.values()):
            return None
        text = "".join(
            literal + (values[column] if column else "")
            for literal, column in self.parts
        )
        return (text if all(values.values()) else text.strip()) or None

    def read_value(self, row: Row) -> str | None:
        """Return a number, a time or an outcome; None for all that people call nothing."""
        text = self.read(row)
        stripped = None if text is None else text.strip()
        return None if stripped is None or stripped.lower() in BLANKS else stripped


def constant(text: str) -> Source:
    """Return the source of a text that is the same in every row."""
    return Source(((text, None),))


def parse_source(text: str) -> Source:
    """Return the source that somebody wrote; raise `UsageError` for an empty one."""
    if text.startswith(_CONSTANT):
        return constant(text.removeprefix(_CONSTANT))
    if not text:
        msg = "a source is empty: name a column, or write =TEXT for a constant"
        raise UsageError(msg)
    if "{" not in text and "}" not in text:
        return Source((("", text),))
    return Source(tuple(_parts(text)))


def _parts(text: str) -> Iterator[tuple[str, str | None]]:
    literal, end = "", 0
    for found in _PART.finditer(text):
        literal += text[end : found.start()]
        end = found.end()
        if found[1]:
            literal += found[1][0]
        else:
            yield literal, found[2]
            literal = ""
    rest = literal + text[end:]
    if set("{}") & set(_PART.sub("", text)):
        msg = f"{text!r} has a brace that does not close: write {{{{ or }}}} for a brace itself"
        raise UsageError(msg)
    if rest:
        yield rest, None


def cell(row: Row, column: str) -> str | None:
    """Return what a row has in a column, as text; None where it has nothing.

    Raises `UnfitError` for a list, an object, or what is no Unicode text.
    """
    value = _found(row.values, column)
    match value:
        case None | str():
            text = value
        case bool():
            text = "true" if value else "false"
        case int():
            text = str(value)
        case Decimal():
            text = format(value, "f")
        case list():
            raise UnfitError("not-one-value", f"{column} is a list")
        case _:
            raise UnfitError("not-one-value", f"{column} is an object")
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise UnfitError("not-unicode", column) from None
    return text


def _found(values: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the value at a dotted path; a key that has dots itself is found first."""
    if isinstance(values, Mapping):
        if path in values:
            return values[path]
        first, dot, rest = path.partition(".")
        return _found(values.get(first), rest) if dot else None
    if isinstance(values, list):
        first, dot, rest = path.partition(".")
        if first.isdecimal() and int(first) < len(values):
            found = values[int(first)]
            return _found(found, rest) if dot else found
    return None
