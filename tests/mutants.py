"""Events that were sound until somebody changed them, and signed them all the same."""

import json
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from ledger import codec
from ledger.keys.signing import PRIVATE, SignerKey
from ledger.writer import Submission
from tests.workshop import Workshop, signed_bytes

ODD: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [None, True, False, 0, -1, 1.5, 2**53, 10**30, "", " ", "0", "1", "0.5", "0.50",
         "1e400", "-0", "NaN", "\u0000", "a\u0301", "\U0001f600", "9999-12-31T23:59:59Z",
         "0001-01-01T00:00:00Z", "2026-11-30T00:00:00+00:00", "ab" * 32, "x" * 9_000, "x" * 70_000,
         [], {}, [[]], {"": ""}, {"a": {"b": "c"}}, "RESOLVED", "pass", "charter@v2"]
    ),
    st.text(max_size=12),
    st.integers(),
)  # fmt: skip
Path = tuple[str | int, ...]


def sound(shop: Workshop) -> list[dict[str, Any]]:
    """Return one event of each kind, as JSON has it; the first opens a unit."""
    opening = shop.opened(shop.question(0))
    asked = opening.question_hash
    events = [
        opening,
        shop.sealed(asked, 70),
        shop.updated(asked, "ab" * 32, 60),
        shop.resolved(asked, "cd" * 32),
        shop.frozen(),
    ]
    return [json.loads(codec.encode(event)) for event in events]


def paths(value: Any, at: Path = ()) -> list[Path]:
    """Return where there is something in a value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found = [(*at, key) for key, _ in inner]
    return found + [path for key in found for path in paths(value[key[-1]], key)]


def changed(value: dict[str, Any], path: Path, how: str, odd: Any) -> dict[str, Any]:
    """Return a copy that was changed in one place."""
    copy = json.loads(json.dumps(value))
    place = copy
    for step in path[:-1]:
        place = place[step]
    match how:
        case "remove":
            del place[path[-1]]
        case "put beside" if isinstance(place, dict):
            place[odd if isinstance(odd, str) else "more"] = odd
        case "put beside":
            place.append(odd)
        case "lengthen" if isinstance(place[path[-1]], str):
            place[path[-1]] += odd if isinstance(odd, str) else "0"
        case _:
            place[path[-1]] = odd
    return copy


@st.composite
def mutants(draw: st.DrawFn, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Give one of some events, changed in up to three places."""
    value = draw(st.sampled_from(events))
    for _ in range(draw(st.integers(0, 3))):
        places = paths(value)
        if not places:
            break
        how = draw(st.sampled_from(["replace", "remove", "put beside", "lengthen"]))
        value = changed(value, draw(st.sampled_from(places)), how, draw(ODD))
    return value


@st.composite
def submissions(
    draw: st.DrawFn, events: list[dict[str, Any]], keys: list[SignerKey]
) -> Submission:
    """Give a changed event in some spelling, signed by whom it names or by another."""
    value = draw(mutants(events))
    compact = draw(st.sampled_from([(",", ":"), (",", ":"), (",", ":"), (", ", ": ")]))
    text = json.dumps(
        value,
        sort_keys=draw(st.integers(0, 9)) > 0,
        ensure_ascii=draw(st.integers(0, 9)) == 0,
        separators=compact,
    )
    payload = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(payload)))
        payload = payload[:at] + draw(st.binary(max_size=4)) + payload[at + 1 :]
    assume(PRIVATE.encode() not in payload)  # Nobody signs what holds a private key.
    named = [key for key in keys if key.name == value.get("author")]
    signer = draw(
        st.sampled_from(keys if draw(st.integers(0, 9)) == 0 else named or keys)
    )
    return signed_bytes(payload, signer)
