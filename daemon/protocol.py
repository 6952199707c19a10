"""What goes over the daemon's sockets: JSON-RPC 2.0, one object a line.

Requests carry an id; the answer to each bears the same one, and answers may come in
another order. `docs/daemon.md` shows a transcript. Nothing here does anything: these
are the shapes, and how they are read and written.
"""

import msgspec

from ledger.errors import LedgerError, RefusedError
from ledger.events import Question
from ledger.grammar import Count
from ledger.writer import Receipt

LINE_BYTES_MAX = 1_048_576  # without the line feed that ends it
# An error is a sentence: a name of a million letters is not repeated in it.
MESSAGE_LETTERS_MAX = 800
VERSION = "2.0"

# JSON-RPC's own codes.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
BAD_PARAMS = -32602
INTERNAL_ERROR = -32603
# Ours: `data.code` says more, in kebab-case.
REFUSED = -32000
BUSY = -32001
STOPPED = -32002
FORBIDDEN = -32003
UNAVAILABLE = -32004

Id = int | str | None


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of one method, by name."""


class Nothing(Params, frozen=True, kw_only=True):
    """No parameters: ping, head, checkpoint, status."""


class Append(Params, frozen=True, kw_only=True):
    """`append`: signed events, each an envelope; `atomic` means all of them or none."""

    events: tuple[msgspec.Raw, ...]
    atomic: bool = False


class EntryAt(Params, frozen=True, kw_only=True):
    """`entry`: the entry at a position."""

    seq: Count


class ProofOf(Params, frozen=True, kw_only=True):
    """`proof`: that an entry is in the log; under the newest checkpoint or a `size`."""

    seq: Count
    size: Count | None = None


class UnitNamed(Params, frozen=True, kw_only=True):
    """`unit`: what the log knows of a unit."""

    suite: str
    template: str
    id: str
    horizon: str


class UnitStored(Params, frozen=True, kw_only=True):
    """`unit_state`: a unit as the rules keep it, by its name or by a question's hash."""

    suite: str
    name: str | None = None
    question_hash: str | None = None


class Asked(Params, frozen=True, kw_only=True):
    """`question`: which question the daemon would open under these names.

    `suite`, `template` and `horizon` may be left out where one opening is configured.
    What an opening lets agents say of a unit beside its id: `target`, `cluster`,
    `text_hash`, and those `tags` that its settings allow.
    """

    id: str
    suite: str | None = None
    template: str | None = None
    horizon: str | None = None
    target: str | None = None
    cluster: str | None = None
    text_hash: str | None = None
    tags: dict[str, str] = {}


class OpenSeal(Params, frozen=True, kw_only=True):
    """`open_seal`: open the unit of `question`, and append its forecast in one batch.

    `question` is what the method `question` returned, unchanged; where the unit is
    open already nothing is opened, and only the events are appended.
    """

    suite: str
    question: Question
    events: tuple[msgspec.Raw, ...]


class RowsOf(Params, frozen=True, kw_only=True):
    """`rows`: reporting rows, as `ledger rows --json` prints them.

    Those of the log's first entries, `at` as many, or as it was when a `look` fell due.
    """

    suite: str | None = None
    forecaster: str | None = None
    slot: str | None = None
    by: tuple[str, ...] = ()
    at: Count | None = None
    look: Count | None = None


class RecordOf(Params, frozen=True, kw_only=True):
    """`record`: a forecaster's own past, over units of a template or with some tags."""

    suite: str
    forecaster: str
    template: str | None = None
    tags: dict[str, str] = {}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a client. Without an id it is no request: nothing goes unanswered."""

    jsonrpc: str
    id: Id
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """An event is durably in the log, here."""

    seq: int
    event_id: str
    received_at: str
    leaf: str


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """Why an event was refused: the door's stable code, and its sentence."""

    code: str
    message: str


class NotPlaced(msgspec.Struct, frozen=True, kw_only=True):
    """An event was refused: nothing of it was written."""

    error: Detail


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `append` and `open_seal`: an answer for each event, in order.

    `checkpoint` is the signed note that covers all that was placed.
    """

    receipts: tuple[Placed | NotPlaced, ...]
    checkpoint: str


class FaultError(LedgerError):
    """A request that gets an error for its answer: what JSON-RPC shows of it."""

    def __init__(self, code: int, message: str, kind: str, **more: object) -> None:
        """Take JSON-RPC's number, a sentence, and a kebab-case code for programs."""
        self.message = _sentence(message)
        super().__init__(self.message)
        self.code = code
        self.data: dict[str, object] = {"code": kind, **more}


_REQUEST = msgspec.json.Decoder(Request)
_ENCODER = msgspec.json.Encoder()


def read_request(line: bytes) -> Request:
    """Return the request of a line; raise `FaultError` for a line that is none."""
    try:
        request = _REQUEST.decode(line)
    except msgspec.ValidationError as error:
        msg = f"this is no JSON-RPC 2.0 request: {error}"
        raise FaultError(INVALID_REQUEST, msg, "invalid-request") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        msg = f"the line is no JSON: {error}"
        raise FaultError(PARSE_ERROR, msg, "parse-error") from None
    if request.jsonrpc != VERSION:
        msg = f"jsonrpc is {request.jsonrpc[:20]!r}: write {VERSION!r}"
        raise FaultError(INVALID_REQUEST, msg, "invalid-request")
    return request


def result_line(id: Id, result: object) -> bytes:  # noqa: A002 - JSON-RPC's name
    """Return the answer to a request that was done, as a line."""
    return _ENCODER.encode({"jsonrpc": VERSION, "id": id, "result": result}) + b"\n"


def fault_line(id: Id, fault: FaultError) -> bytes:  # noqa: A002 - JSON-RPC's name
    """Return the answer to a request that was not done, as a line."""
    error = {"code": fault.code, "message": fault.message, "data": fault.data}
    return _ENCODER.encode({"jsonrpc": VERSION, "id": id, "error": error}) + b"\n"


def placed(receipt: Receipt) -> Placed:
    """Return a receipt as it is sent; its checkpoint is sent once for all."""
    return Placed(
        seq=receipt.seq,
        event_id=receipt.event_id,
        received_at=receipt.received_at,
        leaf=receipt.leaf,
    )


def not_placed(refusal: RefusedError) -> NotPlaced:
    """Return a refusal as it is sent."""
    detail = Detail(code=refusal.code, message=_sentence(refusal.message))
    return NotPlaced(error=detail)


def _sentence(message: str) -> str:
    if len(message) <= MESSAGE_LETTERS_MAX:
        return message
    return message[: MESSAGE_LETTERS_MAX - 1] + "…"
