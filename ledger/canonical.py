"""RFC 8785 text of values that hold no floats.

Under the grammar of our object keys (ASCII), sorting by code point is sorting
by UTF-16 unit, and msgspec's sorted encoding is the canonical one.
"""

from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")

encode = _ENCODER.encode
# Each of many values, with a line feed after it; none has one inside.
encode_lines = _ENCODER.encode_lines


def canonical_text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the canonical JSON of `value` as text."""
    return _ENCODER.encode(value).decode()
