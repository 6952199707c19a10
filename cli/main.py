"""The entry point: `ledger`. It is quick where there is nothing to do.

`ledger hook` is called before every dispatch of an agent, so it goes its own way from
here: nothing that makes a command line is imported for it.
"""

import os
import sys

from ledger import __version__

# What a shell reports of an interrupted process; `failure` says so once it is imported.
_INTERRUPTED = 130
# What people do with hooks; everything else after `ledger hook` is a runtime's call.
_MANAGING = {"install", "uninstall", "status", "--help", "-h"}
# How a runtime's call begins, also where a terminal is its stdin.
_CALLING = ("--config", "--fail")
_STDIN, _STDOUT, _STDERR = 0, 1, 2


def main() -> None:
    """Run the command that the process was started with, and exit with its code."""
    try:
        # Where it cannot be said, the commands' own way to say so comes next.
        if sys.argv[1:] in (["--version"], ["-V"]) and _is_said():
            return
        if sys.argv[1:2] == ["hook"] and _is_runtime_s(sys.argv[2:3]):
            _hook(sys.argv[2:])
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


def _is_runtime_s(first: list[str]) -> bool:
    """Tell a runtime's call from a person's: what runtimes say is not to be judged."""
    if any(word.startswith(_CALLING) for word in first):
        return True
    return not (_MANAGING & set(first) or os.isatty(_STDIN))


def _hook(arguments: list[str]) -> None:
    """Answer the payload of an agent runtime, and end at once."""
    from ledger.daemon.hook import answer

    # Whatever is written, here or in the ledger's folder, is this user's alone.
    os.umask(0o077)
    made = answer(arguments)
    _write(_STDERR, made.said)
    # A block that cannot be said on stdout is said by the exit status.
    is_said = _write(_STDOUT, made.shown)
    # Nothing is left to tidy up, and the interpreter would take its time over it.
    os._exit(made.code if is_said else made.code_unsaid)


def _write(descriptor: int, text: str) -> bool:
    content = f"{text}\n".encode("utf-8", "backslashreplace") if text else b""
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    except OSError:
        return False
    return True
