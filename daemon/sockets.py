"""The daemon's two sockets: their names, and where a client looks for them.

Files separate two users: who may write to the agent's socket can send forecasts and
nothing else; who may write to the evaluator's can send every event. Each lies in a
folder of its own side. Nothing here opens anything or imports more than a hook can
pay for.
"""

import os
from collections.abc import Mapping, Sequence

AGENT, EVALUATOR = "agent", "evaluator"
SIDES = (AGENT, EVALUATOR)
LEDGER_SOCKET = "LEDGER_SOCKET"
# A Unix socket's name has 108 bytes with the zero that ends it.
PATH_BYTES_MAX = 107


def file_name(side: str) -> str:
    """Return what a side's socket is called in its folder.

    >>> file_name(AGENT)
    'agent.sock'
    """
    return f"{side}.sock"


def is_too_long(path: str) -> bool:
    """Tell whether the system could not name a socket so.

    >>> is_too_long("/" + "x" * 106), is_too_long("/" + "x" * 107)
    (False, True)
    """
    return len(os.fsencode(path)) > PATH_BYTES_MAX


def runtime_folder(environment: Mapping[str, str]) -> str | None:
    """Return the folder of this user's sockets: in $XDG_RUNTIME_DIR, where there is one.

    >>> runtime_folder({"XDG_RUNTIME_DIR": "/run/user/1000"})
    '/run/user/1000/sealed-ledger'
    """
    stated = environment.get("XDG_RUNTIME_DIR", "")
    # The specification says that a relative path there is to be ignored.
    return os.path.join(stated, "sealed-ledger") if stated.startswith("/") else None  # noqa: PTH118 - pathlib costs a hook its start


def candidates(
    sides: Sequence[str],
    *,
    stated: str | None,
    ledger: str | None,
    environment: Mapping[str, str],
) -> list[str]:
    """Return the sockets to try in order: the first that answers a ping is meant.

    `stated` is what --socket names and is then the only one, as is LEDGER_SOCKET of
    the environment. Otherwise a socket lies in the ledger's folder or in the user's
    runtime folder, for each of `sides` in their order. A ping's answer names its
    ledger: whoever means a certain one compares. That a file is there says nothing.

    >>> candidates([AGENT], stated=None, ledger="/l", environment={})
    ['/l/agent.sock']
    """
    named = stated or environment.get(LEDGER_SOCKET)
    if named:
        return [named]
    folders = [ledger, runtime_folder(environment)]
    return [
        os.path.join(folder, file_name(side))  # noqa: PTH118 - as above
        for folder in folders
        if folder is not None
        for side in sides
    ]
