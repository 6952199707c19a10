"""What a log says so far, as far as the rules need it. Pure: no clock, no disk.

Start-up, the writer and the audit fold the same entries with the same
`State.apply`; none of them has a second way.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from ledger import codec
from ledger.charters import compromised_keys
from ledger.entry import Recorded
from ledger.errors import UncheckableError
from ledger.events import (
    ForecastSealed,
    ForecastUpdated,
    Question,
    ResolutionRecorded,
    SuiteFrozen,
)
from ledger.ids import parse_version
from ledger.keys.roster import Roster
from ledger.suite import CharterManifest, Competitor, SuiteManifest, Template
from ledger.unit import Chain, Hidden, Link, Place, Record, Unit

# Returns the bytes of a pinned file by its SHA-256, or None where it is absent.
Blobs = Callable[[str], bytes | None]


class Units(Protocol):
    """Where units are kept; see `ledger.index`."""

    def named(self, name: str) -> Unit | None:
        """Return a unit by its name."""

    def asked(self, suite: str, question_hash: str) -> Unit | None:
        """Return a unit by a question."""

    def put(self, unit: Unit) -> None:
        """Keep a new or changed unit."""

    def put_question(self, unit: Unit, question_hash: str) -> None:
        """Remember a question of a unit."""

    def put_frozen(self, seq: int) -> None:
        """Remember where something was frozen."""


class FrozenSuite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version in force, with what the rules look up in it."""

    manifest: SuiteManifest
    suite_hash: str
    templates: dict[str, Template]
    competitors: dict[str, Competitor]
    # Question hashes of each template whose questions are a pinned list.
    listed: dict[str, frozenset[str]]


class State:
    """The fold's accumulator: the charter, the roster, the suites and the units."""

    def __init__(self, units: Units, blobs: Blobs) -> None:
        self.units = units
        self._blobs = blobs
        self.ledger: str | None = None
        self.charter: CharterManifest | None = None
        self.charter_version = 0
        # All of them, by their positions: what an earlier one said may still bind.
        self.charters: list[tuple[int, CharterManifest]] = []
        # From which position on each compromised key speaks for nobody.
        self.lost: dict[bytes, int] = {}
        self.roster = Roster()
        self.suites: dict[str, FrozenSuite] = {}
        self.latest: dict[str, int] = {}

    def unit_of(self, suite: str, question_hash: str) -> Unit | None:
        """Return the unit that a question of a suite belongs to, if it is known."""
        return self.units.asked(suite, question_hash)

    def is_superseded(self, suite: str) -> bool:
        """Tell whether a later version of a frozen suite is in force."""
        name, number = parse_version(suite)
        return self.latest[name] > number

    def apply(self, recorded: Recorded, place: Place | None) -> None:
        """Take one event that the rules have let in, where they placed it."""
        event = recorded.event
        if place is None:
            assert isinstance(event, SuiteFrozen)
            self.apply_frozen(recorded.seq, recorded.event_id, event)
            self.units.put_frozen(recorded.seq)
            return
        unit = place.unit
        if place.is_new:
            self.units.put_question(unit, place.question_hash)
        if place.brought is not None:
            unit.ask(place.brought)
        if isinstance(event, ResolutionRecorded):
            _apply_resolution(unit, recorded, event)
        else:
            assert not isinstance(event, SuiteFrozen)
            _apply_forecast(unit, recorded, event)
        self.units.put(unit)

    def apply_frozen(self, seq: int, event_id: str, event: SuiteFrozen) -> None:
        """Put a charter or suite in force, without noting its position."""
        name, number = parse_version(event.suite)
        if isinstance(event.manifest, CharterManifest):
            if seq == 0:
                self.ledger = event_id
            self.charter, self.charter_version = event.manifest, number
            self.charters.append((seq, event.manifest))
            self.lost = compromised_keys(self.charters)
            self.roster.adopt(event.manifest.principals, event.manifest.log_keys)
            return
        self.suites[event.suite] = self.frozen_suite(event.manifest)
        self.latest[name] = number

    def frozen_suite(self, manifest: SuiteManifest) -> FrozenSuite:
        """Return a manifest made ready for look-ups; reads its pinned questions."""
        return FrozenSuite(
            manifest=manifest,
            suite_hash=codec.suite_hash(manifest),
            templates={template.id: template for template in manifest.templates},
            competitors={each.name: each for each in manifest.competitors},
            listed={
                template.id: frozenset(
                    map(codec.question_hash, self.pinned_questions(manifest, template))
                )
                for template in manifest.templates
                if template.questions is not None
            },
        )

    def pinned_questions(
        self, manifest: SuiteManifest, template: Template
    ) -> list[Question]:
        """Return the questions of a template whose evaluator has listed them.

        Raises `UncheckableError` where the pinned file is not at hand, and
        `CorruptLogError` where it holds something else.
        """
        pin = template.questions
        assert pin is not None
        digest = manifest.pins.get(pin)
        content = None if digest is None else self._blobs(digest)
        if content is None:
            msg = (
                f"{manifest.suite} pins its questions in {pin!r} ({digest}), and that "
                "file is not in blobs/: put it there"
            )
            raise UncheckableError(msg)
        return [
            question
            for question in codec.read_questions(content)
            if question.template == template.id
        ]


def _apply_forecast(
    unit: Unit, recorded: Recorded, event: ForecastSealed | ForecastUpdated
) -> None:
    event_id, chain = recorded.event_id, unit.chains.get(event.forecaster)
    link = Link(event_id, event.created_at, recorded.author_key, recorded.seq)
    parent = None
    if isinstance(event, ForecastSealed):
        if chain is None:
            chain = unit.chains[event.forecaster] = Chain([link])
        else:
            chain.seal(link)
    else:
        assert chain is not None, "the rules let an update without a chain in"
        if event.opens is not None:
            _open(chain, recorded, event, event.opens)
            return
        chain.update, parent = link, event.parent
    if event.commitment is not None:
        chain.hidden[event_id] = Hidden(event.commitment, parent)


def _open(
    chain: Chain, recorded: Recorded, reveal: ForecastUpdated, opens: str
) -> None:
    """Take a reveal that shows what was committed to.

    One that does not is kept and flagged, and closes nothing: it may have been a
    mistake, or a thief's who had the key and not the salt.
    """
    hidden, salt = chain.hidden[opens], reveal.salt or ""
    if codec.commitment(reveal, parent=hidden.parent, salt=salt) == hidden.commitment:
        opened = (recorded.author_key, recorded.seq)
        chain.hidden[opens] = msgspec.structs.replace(hidden, opened=opened)


def _apply_resolution(
    unit: Unit, recorded: Recorded, event: ResolutionRecorded
) -> None:
    if event.confirms is None:
        record = Record(
            event_id=recorded.event_id,
            author=event.author,
            status=event.status,
            created_at=event.created_at,
            outcome=event.outcome,
            key=recorded.author_key,
            seq=recorded.seq,
        )
        unit.records.append(record)
