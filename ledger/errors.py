"""The three kinds of wrong, kept apart.

* the command or the world is wrong: a `LedgerError`, for the caller;
* this program is wrong: `assert`, or `RuntimeError`, for nobody to catch;
* the audited data is wrong: a `Finding`, for the reader of the report.
"""

import msgspec


class LedgerError(Exception):
    """Whatever a caller of the ledger may have to handle."""


class RefusedError(LedgerError):
    """The door said no; nothing was written.

    `code` is stable and kebab-case, so that programs and people can search for
    it; `message` is one sentence that names the thing, the value and the remedy.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class CorruptLogError(LedgerError):
    """Stored or published bytes are not what they must be."""

    def __init__(self, reason: str, *, seq: int | None = None) -> None:
        super().__init__(reason if seq is None else f"entry {seq}: {reason}")
        self.reason = reason
        self.seq = seq


def missing_entry(seq: int) -> CorruptLogError:
    """Return what is said of an entry that is not there, though later ones are."""
    msg = "it is missing, and later ones are there: restore log.db from a backup"
    return CorruptLogError(msg, seq=seq)


class UncheckableError(LedgerError):
    """Something needed for an answer is missing: a key, a file, a newer format."""


class UsageError(LedgerError):
    """The command was given something that it cannot work with."""


class HeldError(UsageError):
    """Another process writes to the ledger: it may be over soon."""


class WriterStoppedError(LedgerError):
    """An append may or may not have reached the disk; only a restart can tell.

    `of_daemon` says the same where it is a daemon that has to be started again.
    """

    def __init__(self, message: str, *, of_daemon: str | None = None) -> None:
        super().__init__(message)
        self.of_daemon = of_daemon or message


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the record shows about an event, and where.

    `rule` is stable and kebab-case; `subject` names the unit, forecaster or key
    that it concerns.
    """

    seq: int
    rule: str
    subject: str
    message: str
