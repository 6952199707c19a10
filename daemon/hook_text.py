"""JSON as the hook reads and writes it, and the ways in which it says no.

The module `json` brings `re` and `enum` along, which take longer to import than a
forecast takes to be sealed: its C half is asked directly here, and its numbers with a
point or an exponent stay the texts that they were, so that no float touches a forecast.
For the same reason the hook's modules take the abstract classes of `collections.abc` from
`_collections_abc`, which the interpreter has loaded, without `collections`. On the hook's
start-up path.
"""

from _collections_abc import Mapping
from _json import encode_basestring, make_scanner

_BLANK = " \t\n\r"


class DeniedError(Exception):
    """The ledger was asked, or need not be, and the dispatch may not start.

    The sentence says why and how to do better. No policy changes it.
    """


class TroubleError(Exception):
    """The ledger could not be asked, or its answer is not known.

    What becomes of the dispatch is the installation's policy: open or closed.
    """


class UnrecognisedError(TroubleError):
    """The payload is none that a runtime is known to send: it may be a dispatch."""


class DeadlineError(TroubleError):
    """The hook's own deadline passed before it had an answer."""


class _Reading:
    """How `make_scanner` is told to read."""

    strict = True
    object_hook = None
    parse_float = str
    parse_int = int

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}

    @staticmethod
    def object_pairs_hook(pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Return an object; refuse a name that stands twice: readers differ on it."""
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name stands twice in one object")
        return found

    @staticmethod
    def parse_constant(name: str) -> object:
        """Refuse what Python would read beyond JSON."""
        raise ValueError(f"{name} is no JSON")


# The type stubs name a parameter that is not the class which it says.
_scan = make_scanner(_Reading())  # type: ignore[arg-type]


def read_json(content: bytes | str) -> object:
    """Return a JSON value; raise `ValueError` or `RecursionError` for what is none.

    >>> read_json(b' {"p": 0.10, "n": 3} ')
    {'p': '0.10', 'n': 3}
    """
    text = content if isinstance(content, str) else content.decode()
    text = text.strip(_BLANK)
    try:
        found, end = _scan(text, 0)
    except StopIteration as stop:
        raise ValueError(f"no value at character {stop.value}") from None
    except SystemError:
        # The scanner would say more through the module `json`, which is not there.
        raise ValueError("it breaks off, or is damaged inside") from None
    if end != len(text):
        raise ValueError(f"more follows the value that ends at character {end}")
    return found


def canonical(found: object) -> bytes:
    """Return the RFC 8785 bytes of a value that holds no floats and ASCII keys.

    Raises `TroubleError` for a text that has no bytes in UTF-8.

    >>> canonical({"b": "é", "a": [1, True]}).decode()
    '{"a":[1,true],"b":"é"}'
    """
    try:
        return spelled(found).encode()
    except UnicodeEncodeError:
        raise TroubleError(
            "the payload holds half a character, which UTF-8 cannot spell"
        ) from None


def spelled(found: object) -> str:
    """Return the canonical JSON of a value as text."""
    match found:
        case str():
            return encode_basestring(found)
        case True | False | None:
            return "null" if found is None else str(found).lower()
        case int():
            return str(found)
        case Mapping():
            pairs = (f"{spelled(k)}:{spelled(found[k])}" for k in sorted(found))
            return "{" + ",".join(pairs) + "}"
        case _:
            assert isinstance(found, list | tuple)
            return "[" + ",".join(map(spelled, found)) + "]"
