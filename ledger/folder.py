"""One ledger is one folder: what lies where in it."""

import tomllib
from pathlib import Path

import msgspec

from ledger.blobs import BlobFolder
from ledger.canonical import canonical_text
from ledger.durable import read_regular, write_durably
from ledger.errors import UncheckableError, UsageError
from ledger.grammar import Hex

FORMAT = "ledger/1"
# What `ledger.toml` says, for the words of `settings_words`.
SETTINGS_TEXT = 'format = "%s"\norigin = %s\nledger = "%s"\n'


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`ledger.toml`: which ledger this is, for people and for finding its mark."""

    format: str
    origin: str
    ledger: Hex


class Folder:
    """The places inside one ledger's folder; nothing is opened here."""

    def __init__(self, path: Path) -> None:
        """Take the folder's path."""
        self.path = path
        self.settings_file = path / "ledger.toml"
        self.log = path / "log.db"
        self.log_key = path / "log.key"
        self.index = path / "index.db"
        self.projections = path / "projections.db"
        self.keys = path / "keys"
        self.lock = path / "lock"
        self.clock = path / "clock"
        self.blobs = BlobFolder(path / "blobs")

    def settings(self) -> Settings:
        """Return what `ledger.toml` says; raise `UsageError` where there is no ledger."""
        try:
            text = read_regular(self.settings_file).decode()
            settings = msgspec.convert(tomllib.loads(text), Settings)
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(self._lacking()) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            msg = f"{self.settings_file} cannot be read: {reason}"
            if isinstance(error, ValueError):
                msg += f": {self.doctor_remedy()}"
            raise UsageError(msg) from error
        if settings.format != FORMAT:
            msg = f"{self.path} has format {settings.format!r}, this program reads {FORMAT!r}"
            raise UncheckableError(msg)
        return settings

    def _lacking(self) -> str:
        """Say what to do where there is no `ledger.toml`."""
        if self.log.is_file():
            # Another ledger in its place would be the wrong remedy.
            return f"{self.settings_file} is missing: {self.doctor_remedy()}"
        if self.path.is_file():
            return f"{self.path} is a file: a ledger is a folder, so name that"
        return f"{self.path} is no ledger: `ledger init {self.path} --origin NAME` makes one"

    def doctor_remedy(self) -> str:
        """Return the remedy for a `ledger.toml` that is missing or damaged."""
        return f"`ledger doctor --ledger {self.path}` tells how it is written again"

    def write_settings(self, origin: str, ledger: str) -> None:
        """Write `ledger.toml`; `ledger` is the id of entry 0."""
        text = SETTINGS_TEXT % settings_words(origin, ledger)
        write_durably(self.settings_file, text.encode())


def settings_words(origin: str, ledger: str) -> tuple[str, str, str]:
    """Return the words of `ledger.toml`; `ledger` is the id of entry 0."""
    # A JSON string is a TOML string too, whatever an origin is called.
    return FORMAT, canonical_text(origin), ledger
