"""A checkpoint of a size that a log had before: one that was kept, or signed anew.

Whoever signs a head says what each of its beginnings was. A signature over one of
them says nothing new, as long as the entries are those that the head is about.
"""

from collections.abc import Callable

from ledger.charters import Charters
from ledger.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from ledger.errors import CorruptLogError, UncheckableError, UsageError
from ledger.keys.signing import SignerKey, VerifierKey, parse_verifier
from ledger.merkle import Tree
from ledger.store import Store

_LEAVES = 10_000
# Returns the log's own private key; raises `UsageError` where it is not at hand.
LogKey = Callable[[], SignerKey]


def past_checkpoint(
    store: Store, size: int, charters: Charters, log_key: LogKey
) -> str:
    """Return the signed note of a log's first `size` entries.

    Raises `CorruptLogError` where the log's head is not about these entries, and
    `UncheckableError` where none was kept and none can be signed.
    """
    head, origin = store.head(), charters[0][1].origin
    newest = open_checkpoint(head.note, _keys(charters, head.size), origin)
    root, head_root = _roots(store, size, head.size)
    if head_root != newest.root:
        msg = f"the {head.size} entries are not those that the head's checkpoint signed"
        raise CorruptLogError(msg)
    wanted, keys = (
        Checkpoint(origin=origin, size=size, root=root),
        _keys(charters, size),
    )
    kept = dict([*store.checkpoints(), (head.size, head.note)])
    if size in kept and open_checkpoint(kept[size], keys, origin) == wanted:
        return kept[size]
    return sign_checkpoint(wanted, _signer(size, keys, sorted(kept), log_key))


def _keys(charters: Charters, size: int) -> tuple[VerifierKey, ...]:
    """Return the keys that may sign the log's checkpoint of a size."""
    in_force = [charter for seq, charter in charters if seq < size][-1]
    return tuple(map(parse_verifier, in_force.log_keys))


def _roots(store: Store, size: int, head_size: int) -> tuple[bytes, bytes]:
    """Return the root over the first entries, and that over all."""
    tree, root = Tree(), b""
    for start in range(0, head_size, _LEAVES):
        for leaf in store.leaves(start, min(start + _LEAVES, head_size)):
            tree.append(leaf)
            if tree.size == size:
                root = tree.root()
    return root, tree.root()


def _signer(
    size: int, keys: tuple[VerifierKey, ...], kept: list[int], log_key: LogKey
) -> SignerKey:
    try:
        signer = log_key()
        if signer.verifier in keys:
            return signer
        why = f"the log's key was another one then ({', '.join(map(str, keys))})"
    except UsageError as error:
        why = str(error)
    below = [each for each in kept if each < size][-1:]
    near = [*below, *[each for each in kept if each > size][:1]]
    msg = (
        f"no checkpoint of {size} entries was kept, and none can be signed here: {why}. "
        "Export where that key is, or at a size whose checkpoint was kept: "
        f"{' or '.join(map(str, near))}"
    )
    raise UncheckableError(msg)
