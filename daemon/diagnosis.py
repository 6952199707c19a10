"""What a doctor says of one thing: how it is, what was found, and what to do."""

import shlex
from collections.abc import Sequence
from typing import Literal

import msgspec

Status = Literal["ok", "warn", "fail", "skip"]
_BY_WEIGHT: tuple[Status, ...] = ("ok", "skip", "warn", "fail")


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the report. `remedy` is a command or a sentence, "" where all is well."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong among several of a kind."""

    detail: str
    remedy: str
    status: Status = "fail"


def ok(name: str, detail: str) -> Diagnosis:
    """Say that a thing is as it must be."""
    return Diagnosis(name=name, status="ok", detail=detail)


def warn(name: str, detail: str, remedy: str) -> Diagnosis:
    """Say that a thing works, and should be otherwise."""
    return Diagnosis(name=name, status="warn", detail=detail, remedy=remedy)


def fail(name: str, detail: str, remedy: str) -> Diagnosis:
    """Say that a thing keeps the ledger from its promises."""
    return Diagnosis(name=name, status="fail", detail=detail, remedy=remedy)


def skip(name: str, why: str, remedy: str) -> Diagnosis:
    """Say that a thing could not be looked at."""
    return Diagnosis(name=name, status="skip", detail=why, remedy=remedy)


def together(name: str, problems: Sequence[Problem], otherwise: str) -> Diagnosis:
    """Return all that is wrong as one line, or that nothing is."""
    if not problems:
        return ok(name, otherwise)
    # One command may mend several things.
    remedies = list(dict.fromkeys(each.remedy for each in problems))
    joint = " && " if all(map(is_command, remedies)) else "; "
    return Diagnosis(
        name=name,
        status=max((each.status for each in problems), key=_BY_WEIGHT.index),
        detail="; ".join(each.detail for each in problems),
        remedy=joint.join(remedies),
    )


_COMMANDS = ("chmod", "chown", "ledger", "mv", "printf", "rm", "rmdir")


def command(*words: object) -> str:
    """Return a command as a shell takes it."""
    assert words[0] in _COMMANDS
    return shlex.join(str(word) for word in words)


def is_command(remedy: str) -> bool:
    """Tell whether a remedy can be run as it stands; otherwise it is a sentence."""
    return remedy.partition(" ")[0] in _COMMANDS
