"""Where this user's ledger is, and where programs keep their things (XDG)."""

from collections.abc import Mapping
from pathlib import Path

LEDGER_DIR = "LEDGER_DIR"  # names a ledger's folder, where no command does


def state_home(environment: Mapping[str, str]) -> Path:
    """Return where programs remember things: $XDG_STATE_HOME.

    >>> state_home({"XDG_STATE_HOME": "/var/lib/piper"}).as_posix()
    '/var/lib/piper'
    """
    stated = environment.get("XDG_STATE_HOME", "")
    # The specification says that a relative path there is to be ignored.
    return Path(stated) if stated.startswith("/") else Path.home() / ".local" / "state"
