"""The rules' memory on disk, held against the one that a replay makes.

Whoever appends believes `index.db`: a unit that was taken out of it could be opened
again. An audit replays every event into an index of its own, so that it can compare.
"""

from pathlib import Path

from ledger.errors import LedgerError, WriterStoppedError
from ledger.index import Index
from ledger.merkle import Tree
from ledger.projections.audit_report import Check, holds, is_false, unasked, uncheckable

NAME = "index"


def check_index(path: Path | None, again: Index, tree: Tree) -> Check:
    """Return whether a stored index says what the replayed one does.

    `again` has taken all entries of `tree`. Without a file there is nothing to ask, nor
    where it is behind the log: the next writer catches up.
    """
    if path is None or not path.exists():
        return unasked(NAME, "nothing stored")
    try:
        difference = again.difference(path, tree.size, tree.root())
    except WriterStoppedError as error:
        # The index that a replay makes, not the stored one.
        return uncheckable(NAME, 0, f"no index could be made to compare with: {error}")
    except LedgerError as error:
        return is_false(NAME, 0, f"{error}: delete it, it is made again")
    if difference is None:
        return unasked(
            NAME, f"{path.name} is of another log or size: the next writer sees to it"
        )
    if difference:
        detail = f"{path.name}: {difference}; delete it, it is made again"
        return is_false(NAME, tree.size, detail)
    return holds(NAME, tree.size, "what the door remembers is what a replay gives")
