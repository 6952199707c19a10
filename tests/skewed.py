"""A daemon whose wall clock a test sets, by a file that says how far off it is.

The machine's own clock is never changed: `python -m tests.skewed LEDGER STATE FILE`.
"""

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from ledger.clock import steady_seconds, system_clock
from ledger.daemon.journal import Journal
from ledger.daemon.server import Around, run
from ledger.folder import Folder
from ledger.keys.keyfile import read_key


def main(ledger: str, state_home: str, seconds_off: str) -> int:
    folder = Folder(Path(ledger))

    def clock() -> datetime:
        return system_clock() + timedelta(seconds=int(Path(seconds_off).read_text()))

    around = Around(
        environment={},
        pid=os.getpid(),
        clock=clock,
        steady=steady_seconds,
        state_home=Path(state_home),
    )
    log_key = read_key(folder.log_key, "the log's")
    return run(folder, log_key, around, Journal(sys.stderr, system_clock))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
