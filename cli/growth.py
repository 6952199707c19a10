"""What a command has added to a log by the time that it is cut short.

Whoever is not told by a receipt that it was done, does it again.
"""

from ledger.errors import LedgerError
from ledger.folder import Folder

# The ledger that the command writes to, and how many entries it had before.
_BEGAN: list[tuple[Folder, int]] = []


def forget() -> None:
    """Begin another command, which has written nothing."""
    _BEGAN.clear()


def note(folder: Folder, size: int) -> None:
    """Remember that a command begins to write to a log of `size` entries."""
    _BEGAN[:] = [(folder, size)]


def grown() -> str:
    """Return a sentence on the entries that the log has more than before, if any."""
    for folder, began in _BEGAN:
        from ledger.log import open_reader

        try:
            with open_reader(folder) as reader:
                more = reader.store.head().size - began
        except LedgerError:
            return f"`ledger log` tells what {folder.path} has now"
        if more > 0:
            entries = "entry" if more == 1 else "entries"
            return (
                f"{folder.path} has {more:,} {entries} more than before, which `ledger "
                "log` shows"
            )
    return ""
