"""One short talk with the daemon over its socket, through Python's raw socket module.

Blocks: the hook's alarm ends it. On the hook's start-up path.
"""

import _socket
import time

from ledger.daemon.hook_text import TroubleError, canonical, read_json

# Of `ledger.daemon.protocol`, which is too slow to import here.
REFUSED, BUSY = -32000, -32001
_DISK_LOW = "disk-low"
LINE_BYTES_MAX = 1_048_576
_CHUNK = 65_536
_RETRY_MS = 50


class FaultError(TroubleError):
    """The daemon answered with an error; `kind` is its code in kebab-case."""

    def __init__(self, method: str, error: dict[str, object]) -> None:
        found = error.get("data")
        data = found if isinstance(found, dict) else {}
        self.number = error.get("code")
        self.kind = str(data.get("code", ""))
        self.retry_ms = data.get("retry_after_ms")
        self.said = str(error.get("message", ""))
        # With no more clients let in, it hangs up too: what a ping says stands there.
        self.is_crowded_out = self.number == BUSY and "pid" in data
        super().__init__(f"the daemon refused {method}: {self.said}")


class Wire:
    """A connection to the first socket that takes one."""

    def __init__(self, sockets: tuple[str, ...]) -> None:
        """Connect; raise `TroubleError` where nobody listens."""
        self._sockets = sockets
        self._socket = _connected(sockets)
        self._rest = b""

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object] | None:
        """Return a method's result; raise `FaultError` for an error.

        While the daemon is busy the very same request is sent again, when it says so;
        room on its disk is made by people, and not within the hook's deadline.
        """
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        line = canonical(request) + b"\n"
        while True:
            try:
                return self._answer(method, line)
            except FaultError as fault:
                if fault.number != BUSY or fault.kind == _DISK_LOW:
                    raise
                wait_ms = fault.retry_ms
                time.sleep((wait_ms if isinstance(wait_ms, int) else _RETRY_MS) / 1_000)
                if fault.is_crowded_out:
                    self.close()
                    self._socket, self._rest = _connected(self._sockets), b""

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _answer(self, method: str, line: bytes) -> dict[str, object] | None:
        try:
            try:  # noqa: SIM105 - contextlib costs a hook its start
                self._socket.sendall(line)
            except (BrokenPipeError, ConnectionResetError):
                pass  # Who hung up may have said why before.
            answer = read_json(self._line())
        except OSError as error:
            raise TroubleError(f"the daemon hung up ({error})") from None
        except ValueError:
            raise TroubleError("the daemon answered with what is no JSON") from None
        if not isinstance(answer, dict):
            raise TroubleError("the daemon answered with what is no object")
        fault = answer.get("error")
        if isinstance(fault, dict):
            raise FaultError(method, fault)
        result = answer.get("result")
        return result if isinstance(result, dict) else None

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            more = self._socket.recv(_CHUNK)
            if not more:
                raise TroubleError("the daemon hung up without an answer")
            self._rest += more
            if len(self._rest) > LINE_BYTES_MAX:
                raise TroubleError("the daemon's answer has no end")
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _connected(sockets: tuple[str, ...]) -> "_socket.socket":
    tried = []
    for path in sockets:
        made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            made.connect(path)
        except OSError as error:
            made.close()
            tried.append(f"{path}: {error.strerror or error}")
        except TroubleError:  # the alarm: the queue of who listens was full
            made.close()
            raise
        else:
            return made
    raise TroubleError(
        f"no daemon listens ({'; '.join(tried) or 'no socket is named'}): "
        "start it with `ledger daemon start`"
    )
