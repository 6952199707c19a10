"""A draft's JSON, read so that nothing in it is lost or read in two ways."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NoReturn

from ledger.errors import RefusedError
from ledger.suite_words import shown


def read_draft(content: bytes) -> dict[str, object]:
    """Return the object that `content` is, its numbers exact.

    Raises `RefusedError`: `not-json` for what is no JSON, names a key twice or holds
    something that is no number, `draft-unfit` for what is no object.
    """
    require_no_mark(content)
    if not content.strip():
        raise _not_json("nothing stands here, and a draft is one JSON object")
    try:
        draft = json.loads(
            content.decode(),
            object_pairs_hook=_object,
            parse_float=Decimal,
            parse_constant=_no_number,
        )
    except UnicodeDecodeError as error:
        raise _not_json(f"byte {error.start + 1} is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise _not_json(f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise _not_json("it nests too deeply") from None
    except (ValueError, ArithmeticError):
        raise _not_json("a number has too many digits") from None
    if not isinstance(draft, dict):
        msg = f"this is {shown(draft)}: a draft is one JSON object"
        raise RefusedError("draft-unfit", msg)
    return draft


@contextmanager
def refusing() -> Iterator[None]:
    """Refuse (`draft-unfit`) a draft that the block cannot make an event of.

    What a draft may hold is said where its fields are read. These are what Python
    raises for a value that got past that: half a surrogate pair, a file name with a
    NUL, an instant out of the calendar, a number or nesting beyond its limits. Any
    other exception is this program's own fault, and goes on.
    """
    try:
        yield
    except UnicodeError:
        msg = "a name or text is no Unicode text: write no halves of surrogate pairs"
        raise RefusedError("draft-unfit", msg) from None
    except (ValueError, OverflowError, RecursionError) as error:
        msg = f"no event can be made of this ({type(error).__name__}: {error})"
        raise RefusedError("draft-unfit", msg) from error


def require_no_mark(content: bytes) -> None:
    """Refuse a line that starts with what some editors put before UTF-8."""
    if content.startswith(BOM_UTF8):
        msg = "the file starts with a byte order mark: save it as UTF-8 without one"
        raise RefusedError("not-json", msg)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _not_json(f"the key {name!r} stands twice in one object")
        made[name] = value
    return made


def _no_number(text: str) -> NoReturn:
    raise _not_json(f"{text} is no number")


def _not_json(why: str) -> RefusedError:
    return RefusedError("not-json", f"this is no JSON to go by: {why}")
