"""What went wrong, as one sentence and an exit code."""

import os
import re
import sys

from ledger.cli import render
from ledger.durable import FULL
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    RefusedError,
    UncheckableError,
    UsageError,
    WriterStoppedError,
)
from ledger.unseen import json_text

FALSE, REFUSED, UNCHECKED = 1, 2, 3
# What a shell reports of a process that a signal ended: 128 and its number.
INTERRUPTED, PIPE_CLOSED = 130, 141
# What Python makes of bytes that are no UTF-8, in arguments, variables and file names.
_BYTES = re.compile("[\udc80-\udcff]")
_SECRET = re.compile(r"PRIVATE\+KEY\+[^\s'\"]+")


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
    then = ""
    if error.filename and error.errno in FULL:
        then = f": free space on the disk of {error.filename}, then try again"
    return UsageError(f"{what}{error.strerror or error}{then}")


def of_no_text(error: UnicodeEncodeError) -> UsageError | None:
    """Return what was given in bytes that are no text; None for the program's fault."""
    if not _BYTES.search(error.object):
        return None
    msg = f"{error.object!a} is no UTF-8: write it in UTF-8, or take another name"
    return UsageError(msg)


def report_of_system(error: OSError, *, as_json: bool, done: str = "") -> int:
    """Say what the operating system refused, and return the exit code for it.

    `done` is what was done already, for who is not told of it otherwise. Who closed a
    pipe has seen enough: nothing is said then.
    """
    # What is longer than the buffer failed when it was written, and is not in there.
    is_taken = output_takes() and not isinstance(error, render.OutputError)
    if isinstance(error, BrokenPipeError):
        forget_output()
        return PIPE_CLOSED
    what = "; ".join(filter(None, (str(of_system(error)), done)))
    if not is_taken:
        what = f"the output cannot be written: {what}"
    told = WriterStoppedError(what) if done else UsageError(what)
    report(told, as_json=as_json and is_taken)
    return exit_code(told)


def described(error: LedgerError) -> dict[str, str]:
    """Return an error's code and its sentence, as every command's --json has them."""
    sentence = error.message if isinstance(error, RefusedError) else str(error)
    # A draft and a file's name may hold what UTF-8 cannot.
    sound = sentence.encode("utf-8", "backslashreplace").decode()
    return {"code": code(error), "message": without_secrets(sound)}


def holds_secret(text: str) -> bool:
    """Tell whether a text holds a private key."""
    return _SECRET.search(text) is not None


def without_secrets(text: str) -> str:
    """Return a sentence without the private keys that somebody gave by mistake."""
    return _SECRET.sub("PRIVATE+KEY+…", text)


def report(error: LedgerError, *, as_json: bool) -> None:
    """Say what went wrong: an object on stdout with --json, else a line on stderr.

    Where stdout takes nothing more, it is a line on stderr for programs too.
    """
    if as_json and output_takes(json_text({"error": described(error)})):
        return
    word = "refused" if isinstance(error, RefusedError) else "error"
    said = without_secrets(str(error))
    render.note(f"{render.styled(word, 'red', sys.stderr)}: {said}")


def output_takes(more: str = "") -> bool:
    """Write what is buffered for stdout and a line; tell whether it was taken.

    What was not taken is forgotten: exiting would only fail for it again.
    """
    try:
        if more:
            sys.stdout.write(more + "\n")
        sys.stdout.flush()
    except OSError:
        forget_output()
        return False
    return True


def forget_output() -> None:
    """Send what is still buffered for stdout nowhere, so that exiting is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
