"""One event by its author's key into the log, durable when it returns."""

from ledger import codec
from ledger.cli import render
from ledger.cli.context import KeyRing
from ledger.errors import RefusedError
from ledger.events import LedgerEvent
from ledger.keys.roster import Roster
from ledger.keys.signing import SignerKey
from ledger.rules import unlisted
from ledger.writer import Receipt, Submission, Writer


def signed(event: LedgerEvent, signer: SignerKey) -> Submission:
    """Return an event under a signature; refuse one that would give a key away."""
    return Submission.signed_by(signer, codec.encode(event))


def author_key(event: LedgerEvent, ring: KeyRing, roster: Roster) -> SignerKey:
    """Return the key to sign an event with; raise `RefusedError` where there is none.

    A name that the charter does not list has no key anywhere.
    """
    require_listed(event.author, roster)
    return ring.require(event.author)


def require_listed(author: str, roster: Roster) -> None:
    """Raise `RefusedError` for a name that the charter does not list."""
    if author not in roster.members:
        raise unlisted(author, roster)


def submit(event: LedgerEvent, ring: KeyRing, writer: Writer) -> Receipt:
    """Sign and append one event; raise `RefusedError` and change nothing."""
    [answer] = writer.append(
        [signed(event, author_key(event, ring, writer.state.roster))]
    )
    if isinstance(answer, RefusedError):
        raise answer
    return answer


def print_receipt(receipt: Receipt, *, as_json: bool) -> None:
    """Print where an event stands, and the checkpoint that covers it."""
    if as_json:
        render.json_line(
            {
                "seq": receipt.seq,
                "event_id": receipt.event_id,
                "received_at": receipt.received_at,
                "leaf": receipt.leaf,
                "checkpoint": receipt.checkpoint,
            }
        )
        return
    render.facts(
        [
            ("entry", receipt.seq),
            ("event id", receipt.event_id),
            ("received at", receipt.received_at),
        ]
    )
