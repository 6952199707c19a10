"""A manifest as it was read: what it gives, what of that is sound, where it stands."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import msgspec


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a manifest lacks or gets wrong: where, what, and the way out.

    `is_unscorable` marks what no honest label could ever repair: a proposition
    without a source, without a deadline, or judged by those who forecast it.
    """

    where: str
    what: str
    remedy: str
    is_unscorable: bool = False

    def __str__(self) -> str:
        """Return the gap as a sentence without its full stop."""
        return f"{self.where} {self.what}: {self.remedy}"


class Table:
    """A table of a manifest, of which only the sound values can be read.

    A value that was given but is unsound reads as absent, while `gives` still
    says that it is there: no rule speaks a second time of what is already named.
    """

    def __init__(self, where: str, given: Mapping[str, object]) -> None:
        self.where = where
        self.given = given
        self.sound: dict[str, Any] = {}

    def gives(self, key: str) -> bool:
        """Whether the manifest says anything under `key`, sound or not."""
        return self.given.get(key) not in (None, [], {}, ())

    def text(self, key: str) -> str | None:
        """Return the text under `key`, or None."""
        value = self.sound.get(key)
        assert value is None or isinstance(value, str)
        return value

    def number(self, key: str) -> str | int | None:
        """Return the count, or the decimal's text, under `key`, or None."""
        value = self.sound.get(key)
        assert value is None or isinstance(value, str | int)
        return value

    def claims(self, key: str) -> bool | None:
        """Return the boolean under `key`, or None."""
        value = self.sound.get(key)
        assert value is None or isinstance(value, bool)
        return value

    def instant(self, key: str) -> datetime | None:
        """Return the instant under `key`, or None."""
        value = self.sound.get(key)
        return None if value is None else msgspec.convert(value, datetime)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts under `key` (of a map: its names); () if there are none."""
        value = self.sound.get(key, ())
        return tuple(text for text in value if isinstance(text, str))

    def table(self, key: str) -> "Table":
        """Return the table under `key`; an empty one if there is none."""
        value = self.sound.get(key)
        return value if isinstance(value, Table) else Table(self.at(key), {})

    def tables(self, key: str) -> tuple["Table", ...]:
        """Return the tables that stand under `key`, in their order."""
        value = self.sound.get(key, ())
        if isinstance(value, Table):
            return (value,)
        each = value.values() if isinstance(value, dict) else value
        return tuple(table for table in each if isinstance(table, Table))

    def at(self, key: str) -> str:
        """Return where `key` of this table stands in the manifest."""
        return f"{self.where}.{key}" if self.where else key

    def gap(
        self,
        key: str,
        what: str,
        remedy: str,
        *,
        is_unscorable: bool = False,
    ) -> Gap:
        """Return a gap at `key` of this table."""
        return Gap(
            where=self.at(key),
            what=what,
            remedy=remedy,
            is_unscorable=is_unscorable,
        )


def suggestion(word: str, known: Iterable[str]) -> str:
    """Ask for the known word that `word` looks like in any letters; empty for none."""
    folded = {each.casefold(): each for each in sorted(known)}
    found = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[found[0]]}?" if found else ""


def listed(words: Iterable[str], *, last: str = "or") -> str:
    """Return the words as a phrase: `a, b or c`; `none` where there are none."""
    *most, end = [*words] or ["none"]
    return f"{', '.join(most)} {last} {end}" if most else end


def repeated(words: Iterable[str]) -> Iterator[str]:
    """Yield each word that was there before, once, in the order of repetition."""
    seen: set[str] = set()
    said: set[str] = set()
    for word in words:
        if word in seen and word not in said:
            said.add(word)
            yield word
        seen.add(word)
