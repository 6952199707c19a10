"""What somebody with the folder in their hands can do to it, without our programs.

Edits go through the SQLite that Python is linked with; the triggers are dropped
for the time of an edit and made again after it, so that the schema looks as if
nothing had happened.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from ledger.checkpoint import Checkpoint, sign_checkpoint
from ledger.entry import entry_bytes, leaf_hash
from ledger.folder import Folder
from ledger.keys.signing import SignerKey
from ledger.merkle import Tree
from ledger.schema import SCHEMA
from ledger.writer import Submission
from tests.workshop import ORIGIN, Workshop

TRIGGERS = [sql for sql in SCHEMA if sql.startswith("CREATE TRIGGER")]


class Forger:
    """Somebody who holds a copy of a ledger's folder, and the machine it lies on."""

    def __init__(self, workshop: Workshop, home: Path) -> None:
        """Copy the ledger of a workshop into `home`."""
        self.folder = copied(workshop.folder, home / "forged")
        self.state_home = workshop.state_home

    @contextmanager
    def editing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that may change everything; the schema is restored."""
        with closing(sqlite3.connect(self.folder.log, isolation_level=None)) as log:
            log.execute("BEGIN")
            for trigger in TRIGGERS:
                log.execute(f"DROP TRIGGER {trigger.split()[2]}")
            yield log
            for trigger in TRIGGERS:
                log.execute(trigger)
            log.execute("COMMIT")

    def change(self, seq: int, column: str, value: object) -> None:
        """Write another value into one column of one entry."""
        with self.editing() as log:
            log.execute(f"UPDATE entries SET {column} = ? WHERE seq = ?", (value, seq))

    def shorten(self, size: int, note: str) -> None:
        """Remove everything after `size` and set the head to an older signed note."""
        with self.editing() as log:
            log.execute("DELETE FROM entries WHERE seq >= ?", (size,))
            log.execute("DELETE FROM checkpoints WHERE size > ?", (size,))
            edge = b"".join(tree_of(log).edge)
            log.execute(
                "UPDATE head SET size = ?, edge = ?, note = ?", (size, edge, note)
            )

    def replace(self, seq: int, submission: Submission) -> None:
        """Put another signed event in an entry's place, with hashes that fit it."""
        with self.editing() as log:
            log.execute(
                "UPDATE entries SET author = ?, sig = ?, payload = ?, event_id = ? "
                "WHERE seq = ?",
                (
                    submission.author_key,
                    submission.signature,
                    submission.payload,
                    sha256(submission.payload).digest(),
                    seq,
                ),
            )
            rehash(log)

    def resign(self, log_key: SignerKey) -> None:
        """Make the tree and every checkpoint fit the entries, under some key."""
        with self.editing() as log:
            tree = tree_of(log)
            sizes = log.execute("SELECT size FROM checkpoints").fetchall()
            log.execute("DELETE FROM checkpoints")
            log.executemany(
                "INSERT INTO checkpoints VALUES (?, ?)",
                [(size, self._note(log, size, log_key)) for (size,) in sizes],
            )
            note = self._note(log, tree.size, log_key)
            edge = b"".join(tree.edge)
            log.execute(
                "UPDATE head SET size = ?, edge = ?, note = ?", (tree.size, edge, note)
            )

    def _note(self, log: sqlite3.Connection, size: int, log_key: SignerKey) -> str:
        tree = tree_of(log, size)
        stated = Checkpoint(origin=ORIGIN, size=tree.size, root=tree.root())
        return sign_checkpoint(stated, log_key)


def copied(folder: Folder, to: Path) -> Folder:
    """Copy a ledger's folder as it lies there."""
    shutil.copytree(folder.path, to)
    return Folder(to)


def tree_of(log: sqlite3.Connection, size: int = -1) -> Tree:
    """Return the tree over the stored leaves, or over the first of them."""
    tree = Tree()
    sql = "SELECT leaf FROM entries ORDER BY seq LIMIT ?"
    for (leaf,) in log.execute(sql, (size,)).fetchall():
        tree.append(leaf)
    return tree


def rehash(log: sqlite3.Connection) -> None:
    """Write the leaf hashes that fit the other columns."""
    rows = log.execute("SELECT seq, received_at, author, sig, payload FROM entries")
    for seq, received_at, author, sig, payload in rows.fetchall():
        leaf = leaf_hash(entry_bytes(received_at, author, sig, payload))
        log.execute("UPDATE entries SET leaf = ? WHERE seq = ?", (leaf, seq))
