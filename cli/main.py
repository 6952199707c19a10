"""The entry point: `ledger`. It is quick where there is nothing to do."""

import sys

from ledger import __version__


def main() -> None:
    """Run the command that the process was started with, and exit with its code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"ledger {__version__}\n")
        return
    from ledger.cli.app import run

    run()
