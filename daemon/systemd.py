"""What systemd hands to a service and wants to hear from it.

Sockets that it opened come as descriptors from number 3 on (`LISTEN_FDS`); readiness,
the end and signs of life go to the datagram socket that `NOTIFY_SOCKET` names. Without
systemd none of these variables is set, and nothing of this does anything.
"""

import socket
from collections.abc import MutableMapping

from ledger.daemon.sockets import SIDES
from ledger.errors import UsageError

_FIRST_DESCRIPTOR = 3
_VARIABLES = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_MICROS = 1_000_000


def passed_sockets(
    environment: MutableMapping[str, str], pid: int
) -> dict[str, socket.socket]:
    """Return the listening sockets that were passed to this process, by their sides.

    The variables are removed: no child is to believe that they are for it. Raises
    `UsageError` where a descriptor is not named for a side, or is no listening socket.
    """
    stated = {name: environment.pop(name, "") for name in _VARIABLES}
    if stated["LISTEN_PID"] != str(pid) or not stated["LISTEN_FDS"].isdecimal():
        return {}
    count, names = int(stated["LISTEN_FDS"]), stated["LISTEN_FDNAMES"].split(":")
    found: dict[str, socket.socket] = {}
    for at in range(count):
        # Systemd may add its own unit's name; the side is what we look for.
        name = names[at] if at < len(names) else ""
        side = next((each for each in SIDES if each == name), None)
        if side is None or side in found:
            msg = (
                f"LISTEN_FDNAMES calls descriptor {_FIRST_DESCRIPTOR + at} {name!r}: "
                f"set FileDescriptorName to {' or '.join(SIDES)}, each once"
            )
            raise UsageError(msg)
        found[side] = _listening(_FIRST_DESCRIPTOR + at, side)
    return found


def _listening(descriptor: int, side: str) -> socket.socket:
    try:
        passed = socket.socket(fileno=descriptor)
        is_stream = passed.type == socket.SOCK_STREAM
        is_listening = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    except OSError as error:
        msg = (
            f"descriptor {descriptor}, passed as {side}, is no socket: {error.strerror}"
        )
        raise UsageError(msg) from None
    if passed.family != socket.AF_UNIX or not (is_stream and is_listening):
        msg = f"descriptor {descriptor}, passed as {side}, is no listening Unix socket"
        raise UsageError(msg)
    passed.set_inheritable(False)
    return passed


class Notifier:
    """Tells whoever supervises this process how it is; nobody, without NOTIFY_SOCKET."""

    def __init__(self, environment: MutableMapping[str, str], pid: int) -> None:
        """Read and remove the variables."""
        self._address = environment.pop("NOTIFY_SOCKET", "")
        micros = environment.pop("WATCHDOG_USEC", "")
        watched = environment.pop("WATCHDOG_PID", str(pid))
        is_watched = micros.isdecimal() and watched == str(pid)
        # Twice within the time that is allowed, as systemd advises.
        self.watchdog_seconds = int(micros) / _MICROS / 2 if is_watched else None

    def tell(self, *lines: str) -> None:
        """Send some assignments, such as READY=1.

        Raises `UsageError` where the socket that was named takes nothing.
        """
        if not self._address:
            return
        # A leading @ stands for the zero byte of the abstract namespace.
        name = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            try:
                out.sendto("\n".join(lines).encode(), name)
            except OSError as error:
                msg = f"NOTIFY_SOCKET {self._address} takes nothing: {error.strerror}"
                raise UsageError(msg) from error
