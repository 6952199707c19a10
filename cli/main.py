"""The entry point: `ledger`. It is quick where there is nothing to do."""

import sys

from ledger import __version__

# What a shell reports of an interrupted process; `failure` says so once it is imported.
_INTERRUPTED = 130


def main() -> None:
    """Run the command that the process was started with, and exit with its code."""
    try:
        # Where it cannot be said, the commands' own way to say so comes next.
        if sys.argv[1:] in (["--version"], ["-V"]) and _is_said():
            return
        from ledger.cli.app import run

        run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


def _is_said() -> bool:
    if sys.stdout is None:
        return False
    try:
        sys.stdout.write(f"ledger {__version__}\n")
        sys.stdout.flush()
    except OSError:
        return False
    return True
