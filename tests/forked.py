"""A process that forks while it has a ledger open: `python -m tests.forked HOME DEED`.

The child does its deed and ends as a program does, with all that its interpreter cleans
up; then the parent writes on, and the child's exit code is this one's.
"""

import os
import sys
from pathlib import Path

from ledger.errors import LedgerError
from ledger.writer import Submission, Writer
from tests.workshop import Workshop


def deed(writer: Writer, event: Submission, what: str) -> None:
    """Do in a child what only the parent may; raise as the writer does."""
    match what:
        case "append":
            writer.append([event])
        case "stage":
            writer.stage(event)
        case "commit":
            writer.commit()
        case _:
            assert what == "close", "every child closes what it has when it ends"


def main(home: str, what: str) -> int:
    shop = Workshop(Path(home))
    shop.ledger = shop.folder.settings().ledger
    history = list(shop.history(4))
    with shop.writer() as writer:
        writer.append(history[:4])
        child = os.fork()
        if child == 0:
            try:
                deed(writer, history[4], what)
            except (LedgerError, RuntimeError) as error:
                print(type(error).__name__, error)
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        writer.append(history[4:])
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
