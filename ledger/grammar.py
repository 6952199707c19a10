"""The spellings that payloads may use, as types that decode strictly."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

# A pattern that ends in `$` would let a trailing newline through: `\Z` does not.
KEY_PATTERN = r"\A[A-Za-z0-9_][A-Za-z0-9 ._:/+-]{0,127}\Z"
HEX_PATTERN = r"\A[0-9a-f]{64}\Z"
DECIMAL_PATTERN = r"\A(?!-0\Z)-?(?:0|[1-9][0-9]{0,24})(?:\.[0-9]{0,23}[1-9])?\Z"
# Seven places and more are let through here, so that they get their own code.
PROBABILITY_PATTERN = r"\A(?:0|1|0\.[0-9]*[1-9])\Z"

Key = Annotated[str, Meta(pattern=KEY_PATTERN)]
Hex = Annotated[str, Meta(pattern=HEX_PATTERN)]
Text = Annotated[str, Meta(min_length=1)]
DecimalText = Annotated[str, Meta(pattern=DECIMAL_PATTERN)]

# In events the alphabet is left to `spelling`, which checks all of an event's
# names, hashes and numbers at once: a third of the time of a pattern for each.
EventKey = Annotated[str, Meta(min_length=1, max_length=128)]
EventHex = Annotated[str, Meta(min_length=64, max_length=64)]
EventDecimal = Annotated[str, Meta(min_length=1, max_length=50)]
EventProbability = Annotated[str, Meta(min_length=1)]

Instant = Annotated[datetime, Meta(tz=True)]
# 2^53 - 1 is the largest integer that every JSON reader takes exactly.
Count = Annotated[int, Meta(ge=0, le=9_007_199_254_740_991)]


class Fact(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,  # facts hold no cycles
):
    """A part of an event: closed, immutable, absent where unset."""
