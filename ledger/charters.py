"""What a log's charters say together: whose key when, which keys are lost, what is missing.

Every function takes the charters by the positions that they stand at, ascending.
"""

from collections.abc import Mapping, Sequence

import msgspec

from ledger.checkpoint import parse_checkpoint, split_note
from ledger.keys.signing import VerifierKey, parse_verifier
from ledger.suite import CharterManifest

Charters = Sequence[tuple[int, CharterManifest]]
# From which position on each compromised key speaks for nobody. A later charter adds
# to it, or moves a position to an earlier one: what is void stays so.
Lost = Mapping[bytes, int]


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """An older copy was restored, and the charter at `seq` says how long the log was."""

    seq: int
    size: int

    def __str__(self) -> str:
        """Return the gap as a sentence without its full stop."""
        last = self.size - 1
        place = f"entry {last}" if last == self.seq else f"entries {self.seq} to {last}"
        return (
            f"entry {self.seq} continues a checkpoint of size {self.size}: an older copy "
            f"was restored, and what stood at {place} before is lost"
        )


def key_at(charters: Charters, name: str, seq: int) -> bytes | None:
    """Return the key by which a name signs what stands at `seq`; None for nobody's.

    A charter holds for what comes after it; the first one also for itself.
    """
    in_force = [charter for at, charter in charters if at < seq or at == 0]
    for principal in in_force[-1].principals if in_force else ():
        if principal.name == name:
            return parse_verifier(principal.key).public
    return None


def compromised_keys(charters: Charters) -> dict[bytes, int]:
    """Return from which position on each compromised key speaks for nobody.

    A charter names people, not keys: it means the key that the name had at the
    position that it states. What was once said of a key stands; a later charter can
    only move it to an earlier position.
    """
    found: dict[bytes, int] = {}
    for _, charter in charters:
        for name, since in charter.compromised_since.items():
            key = key_at(charters, name, since)
            if key is not None:
                found[key] = min(since, found.get(key, since))
    return found


def is_void(lost: Lost, key: bytes, seq: int) -> bool:
    """Tell whether what a key signed at a position speaks for nobody."""
    return bool(lost) and seq >= lost.get(key, seq + 1)


def log_keys_ever(charters: Charters) -> tuple[VerifierKey, ...]:
    """Return every key that the log ever had, the oldest first."""
    return tuple(
        parse_verifier(key)
        for key in dict.fromkeys(key for _, each in charters for key in each.log_keys)
    )


def gaps(charters: Charters) -> list[Gap]:
    """Return where an older copy was restored, and how long the log had been."""
    return [
        Gap(seq=seq, size=parse_checkpoint(split_note(charter.continues)[0]).size)
        for seq, charter in charters
        if charter.continues is not None
    ]
