"""The spellings that a suite may use, each with the words that describe it."""

from typing import Annotated

from msgspec import Meta

from ledger.grammar import DecimalText

Line = Annotated[str, Meta(pattern=r"\A[^\r\n]+\Z", description="one line of text")]
SuiteName = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z0-9][a-z0-9-]*@v[1-9][0-9]{0,8}\Z",
        description="a name and a version, such as piper-self@v1",
    ),
]
Slot = Annotated[
    str,
    Meta(
        pattern=r"\A(?:initial|final|time_weighted|at_lead:[1-9][0-9]{0,5})\Z",
        description="initial, final, time_weighted or at_lead:<hours>",
    ),
]
Binning = Annotated[
    str,
    Meta(
        pattern=r"\A(?:equal_width_left_closed|equal_mass)/[1-9][0-9]{0,3}\Z",
        description="equal_width_left_closed/<bins> or equal_mass/<bins>",
    ),
]
RootSeed = Annotated[
    str,
    Meta(
        pattern=r"\A(?:manifest|[0-9a-f]{64})\Z",
        description="manifest, or 64 lower-case hexadecimal digits",
    ),
]

_TAG = r"tag:[A-Za-z0-9_][A-Za-z0-9 ._:/+-]{0,127}"
Grouping = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:horizon|target|evidence_tier|adaptation_budget|{_TAG})\Z",
        description="horizon, target, evidence_tier, adaptation_budget or tag:<name>",
    ),
]
Slice = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:template|horizon|slot|target|evidence_tier|adaptation_budget|{_TAG})\Z",
        description="template, horizon, slot, target, evidence_tier, "
        "adaptation_budget or tag:<name>",
    ),
]
# What divides units: a forecaster has its tier as a whole, and a budget its vectors.
Division = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:template|horizon|slot|target|{_TAG})\Z",
        description="template, horizon, slot, target or tag:<name>",
    ),
]
Stratum = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:template|horizon|slot|{_TAG})\Z",
        description="template, horizon, slot or tag:<name>",
    ),
]
Segment = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:target|{_TAG})\Z",
        description="target or tag:<name>",
    ),
]

Interval = tuple[DecimalText, DecimalText]
# A collection that must be written even where it is empty: `[]` in a TOML says
# that its author thought of it. In the payload it is absent then, like all others.
Written = Meta(extra={"written": True})
