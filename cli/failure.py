"""What went wrong, as one sentence and an exit code."""

import os
import sys

import msgspec

from ledger.cli import render
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)

FALSE, REFUSED, UNCHECKED = 1, 2, 3
# What a shell reports of a process that a signal ended: 128 and its number.
INTERRUPTED, PIPE_CLOSED = 130, 141


def exit_code(error: LedgerError) -> int:
    """Return 1 where something is false or unknown, 3 where unchecked, else 2."""
    match error:
        case CorruptLogError() | WriterStoppedError():
            return FALSE
        case UncheckableError():
            return UNCHECKED
        case _:
            return REFUSED


def code(error: LedgerError) -> str:
    """Return the stable kebab-case code that programs look for."""
    match error:
        case RefusedError():
            return error.code
        case CorruptLogError():
            return "corrupt-log"
        case UncheckableError():
            return "uncheckable"
        case WriterStoppedError():
            return "writer-stopped"
        case _:
            return "usage"


def of_system(error: OSError) -> UsageError:
    """Return what the operating system refused, as an error of the command."""
    what = f"{error.filename}: " if error.filename else ""
    return UsageError(f"{what}{error.strerror or error}")


def described(error: LedgerError) -> dict[str, str]:
    """Return an error's code and its sentence, as every command's --json has them."""
    sentence = error.message if isinstance(error, RefusedError) else str(error)
    return {"code": code(error), "message": sentence}


def report(error: LedgerError, *, as_json: bool) -> None:
    """Say what went wrong: an object on stdout with --json, else a line on stderr."""
    if as_json:
        sys.stdout.write(
            msgspec.json.encode({"error": described(error)}).decode() + "\n"
        )
        sys.stdout.flush()
        return
    word = "refused" if isinstance(error, RefusedError) else "error"
    render.note(f"{render.styled(word, 'red', sys.stderr)}: {error}")


def forget_output() -> None:
    """Send what is still buffered for a closed pipe nowhere, so that exiting is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
