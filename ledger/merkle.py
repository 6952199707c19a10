"""RFC 6962 trees: roots that grow by O(log n), inclusion and consistency.

`Tree` keeps one hash for each complete subtree on the right edge. Proofs are
made from any function that returns a range's leaves.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from ledger.errors import CorruptLogError

EMPTY_ROOT = sha256(b"").digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


class Tree:
    """The right edge of a growing tree; appending costs O(1) hashes amortised."""

    def __init__(self, size: int = 0, edge: Sequence[bytes] = ()) -> None:
        if size.bit_count() != len(edge):
            msg = (
                f"a tree of {size} has {size.bit_count()} edge hashes, not {len(edge)}"
            )
            raise CorruptLogError(msg)
        self.size = size
        self.edge = list(edge)

    def append(self, leaf: bytes) -> None:
        """Take one more leaf hash."""
        self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Take more leaf hashes, in order."""
        edge, size = self.edge, self.size
        for leaf in leaves:
            node, above = leaf, size
            while above & 1:
                node = sha256(b"\x01" + edge.pop() + node).digest()
                above >>= 1
            edge.append(node)
            size += 1
        self.size = size

    def root(self) -> bytes:
        """Return the root hash at the present size."""
        if not self.edge:
            return EMPTY_ROOT
        root = self.edge[-1]
        for left in reversed(self.edge[:-1]):
            root = node_hash(left, root)
        return root

    def copy(self) -> "Tree":
        """Return a tree that grows on its own."""
        return Tree(self.size, self.edge)


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root over leaf hashes."""
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root()


def _split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the sibling hashes of leaf `index`, lowest first."""
    if not 0 <= index < len(leaves):
        msg = f"no leaf {index} in a tree of {len(leaves)}"
        raise CorruptLogError(msg)
    path: list[bytes] = []
    while len(leaves) > 1:
        middle = _split(len(leaves))
        if index < middle:
            path.append(root_of(leaves[middle:]))
            leaves = leaves[:middle]
        else:
            path.append(root_of(leaves[:middle]))
            leaves, index = leaves[middle:], index - middle
    return path[::-1]


def consistency_proof(leaves: Sequence[bytes], old: int) -> list[bytes]:
    """Return the hashes that tie the tree of `old` leaves to that of all."""
    if not 0 <= old <= len(leaves):
        msg = f"no tree of {old} within one of {len(leaves)}"
        raise CorruptLogError(msg)
    if old in (0, len(leaves)):
        return []
    path: list[bytes] = []
    whole = True  # the old tree's root is known to the verifier while this holds
    while old != len(leaves):
        middle = _split(len(leaves))
        if old <= middle:
            path.append(root_of(leaves[middle:]))
            leaves = leaves[:middle]
        else:
            path.append(root_of(leaves[:middle]))
            leaves, old, whole = leaves[middle:], old - middle, False
    if not whole:
        path.append(root_of(leaves))
    return path[::-1]


def root_from_inclusion(
    leaf: bytes,
    index: int,
    size: int,
    proof: Sequence[bytes],
) -> bytes:
    """Return the root that an inclusion proof implies (RFC 9162 §2.1.3.2).

    Raises `CorruptLogError` for a proof of the wrong length or an index outside.
    """
    if not 0 <= index < size:
        msg = f"leaf {index} is not in a tree of {size}"
        raise CorruptLogError(msg)
    node, last, root = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            msg = "the inclusion proof has too many hashes"
            raise CorruptLogError(msg)
        if node & 1 or node == last:
            root = node_hash(sibling, root)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            root = node_hash(root, sibling)
        node, last = node >> 1, last >> 1
    if last:
        msg = "the inclusion proof has too few hashes"
        raise CorruptLogError(msg)
    return root


def is_consistent(
    old: int,
    old_root: bytes,
    new: int,
    new_root: bytes,
    proof: Sequence[bytes],
) -> bool:
    """Tell whether the tree of `new` extends that of `old` (RFC 9162 §2.1.4.2)."""
    if old == new:
        return old_root == new_root and not proof
    if old == 0:
        return old_root == EMPTY_ROOT and not proof
    hashes = list(proof)
    if old & (old - 1) == 0:
        hashes.insert(0, old_root)
    if not 0 < old < new or not hashes:
        return False
    return _folded(old, new, hashes) == (old_root, new_root)


def _folded(old: int, new: int, hashes: list[bytes]) -> tuple[bytes, bytes] | None:
    """Return both roots that a consistency proof implies, or None: a bad length."""
    node, last = old - 1, new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    first = second = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return None
        if node & 1 or node == last:
            first, second = node_hash(sibling, first), node_hash(sibling, second)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            second = node_hash(second, sibling)
        node, last = node >> 1, last >> 1
    return (first, second) if last == 0 else None
