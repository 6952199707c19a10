"""Open files: what clients may take of them, and what is kept for the log.

A writer that finds no file left when it needs one has to stop, since it cannot tell what
reached the disk. So that no crowd of clients brings that about, room for all of them is
made before the first is let in.
"""

import resource

from ledger.daemon.sockets import SIDES
from ledger.errors import UsageError

_OWN = 64  # the log, the index, readers beside the writer, watched folders


def make_room(connections: int) -> None:
    """Let this process have a file for each client, and for those that are sent away.

    `connections` is the limit of a side. Raises `UsageError` where the system allows
    fewer files than that takes.
    """
    # As many more may have been accepted at once before the first of them is refused.
    needed = _OWN + 2 * len(SIDES) * connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise _too_many(connections, needed, f"{hard}")
    if soft != resource.RLIM_INFINITY and soft < needed:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        except (ValueError, OSError, OverflowError):
            # Beyond what the kernel gives to any process.
            raise _too_many(connections, needed, "fewer") from None


def _too_many(connections: int, needed: int, allowed: str) -> UsageError:
    return UsageError(
        f"{connections} connections take {needed} open files, and this process may "
        f"have {allowed}: lower `connections` in daemon.toml, or raise the limit "
        "(`ulimit -n`, LimitNOFILE)"
    )
