"""What was frozen, made ready for judging: suite versions, and the charter's facts.

Both depend on SuiteFrozen events alone. A charter's limits hold from its position
on; that a key was compromised holds from the position that the charter states,
and so can change how earlier events are judged.
"""

import msgspec
import numpy as np

from ledger import codec, spelling
from ledger.charters import compromised_keys, is_void
from ledger.clock import SECONDS_MAX, micros, parse_instant
from ledger.events import SuiteFrozen
from ledger.ids import parse_version
from ledger.projections.columns import Integers, integers
from ledger.projections.payloads import Payload, read_whole
from ledger.suite import CharterManifest, SuiteManifest, Template

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US


class SuiteVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version in force, with what judging looks up for every event.

    `holdouts` are from when until when the cut-offs of its holdouts lie.
    """

    seq: int
    received_us: int
    author_key: bytes
    manifest: SuiteManifest
    suite_hash: str
    is_claimed: bool
    clip_ppm: int
    max_spread_us: int
    canaries: frozenset[str]
    holdouts: tuple[tuple[int, int], ...]
    templates: dict[str, Template]

    @property
    def name(self) -> str:
        """The version's name, `name@vN`."""
        return self.manifest.suite


class Charters:
    """The charters of a log in order, and the keys that they call compromised."""

    def __init__(self) -> None:
        self._stated: list[tuple[int, CharterManifest]] = []
        # From which position on each compromised key speaks for nobody.
        self.compromised: dict[bytes, int] = {}
        # The positions of the charters that changed how events before them are judged.
        self.voiding: list[int] = []
        # A name keeps its role for ever.
        self.roles: dict[str, str] = {}

    def adopt(self, seq: int, manifest: CharterManifest) -> bool:
        """Put a charter in force; tell whether it voids earlier judgements."""
        if self._stated and seq <= self._stated[-1][0]:
            return False  # It was taken before; a log is read again after a fault.
        self._stated.append((seq, manifest))
        self.roles.update({each.name: each.role for each in manifest.principals})
        known, self.compromised = self.compromised, compromised_keys(self._stated)
        if self.compromised == known:
            return False
        self.voiding.append(seq)
        return True

    def is_void(self, entry: Payload | SuiteVersion) -> bool:
        """Tell whether the key that signed an entry, or froze a suite, was lost by then."""
        return is_void(self.compromised, entry.author_key, entry.seq)

    def at(self, seq: int) -> CharterManifest:
        """Return the charter in force at a position."""
        return [manifest for since, manifest in self._stated if since <= seq][-1]

    def backdated_us_max(self, seqs: Integers) -> Integers:
        """Return how old an event at each position may be when it is received."""
        since = integers([position for position, _ in self._stated])
        seconds = integers(
            [min(each.backdated_seconds, SECONDS_MAX) for _, each in self._stated]
        )
        return seconds[np.searchsorted(since, seqs, side="right") - 1] * SECOND_US


class Frozen:
    """Everything frozen so far; owned, and changed in place, by the fold."""

    def __init__(self) -> None:
        self.charters = Charters()
        self.suites: dict[str, SuiteVersion] = {}

    def adopt(self, entry: Payload) -> bool:
        """Take a SuiteFrozen event; tell whether it voids earlier judgements."""
        event = read_whole(entry.payload)
        assert isinstance(event, SuiteFrozen)
        if isinstance(event.manifest, CharterManifest):
            return self.charters.adopt(entry.seq, event.manifest)
        self.suites[event.suite] = suite_version(event.manifest, entry)
        return False

    def versions(self, suite: str) -> list[SuiteVersion]:
        """Return a suite and the versions of it before, as far as there are any."""
        name, number = parse_version(suite)
        names = (f"{name}@v{each}" for each in range(number, 0, -1))
        return [self.suites[each] for each in names if each in self.suites]

    def successor(self, suite: str) -> SuiteVersion | None:
        """Return the version that superseded a suite, if one did."""
        return self.suites.get(successor_name(suite))


def successor_name(suite: str) -> str:
    """Return what the next version of a suite is called."""
    name, number = parse_version(suite)
    return f"{name}@v{number + 1}"


def suite_version(manifest: SuiteManifest, entry: Payload) -> SuiteVersion:
    """Return a manifest made ready for judging, as an entry froze it."""
    return SuiteVersion(
        seq=entry.seq,
        received_us=micros(parse_instant(entry.received_at)),
        author_key=entry.author_key,
        manifest=manifest,
        suite_hash=codec.suite_hash(manifest),
        is_claimed=manifest.chronology == "claimed",
        clip_ppm=spelling.ppm(manifest.scoring.clip),
        max_spread_us=min(manifest.max_spread_seconds, SECONDS_MAX) * SECOND_US,
        canaries=frozenset(manifest.canaries),
        holdouts=periods(manifest, "holdout"),
        templates={template.id: template for template in manifest.templates},
    )


def periods(manifest: SuiteManifest, purpose: str) -> tuple[tuple[int, int], ...]:
    """Return the first moment of each split of a purpose, and the one after its last."""
    return tuple(
        (micros(each.from_), micros(each.until))
        for each in manifest.statistics.splits
        if each.purpose == purpose
    )
