"""Fold a log into the tables: all of it, or what came since the last time.

Both are the same loop over stretches of the log. A stretch's events are sorted by
unit; units that earlier stretches knew are read again as a whole; every unit is
judged and its rows are replaced.
"""

from collections.abc import Callable

from ledger.clock import micros, parse_instant
from ledger.collecting import uncollected
from ledger.errors import CorruptLogError, missing_entry
from ledger.projections.grouping import Group, Stretch, read_stretch
from ledger.projections.judgement import judge
from ledger.projections.lapses import frozen_by_thieves, lapsed, skewed
from ledger.projections.materialize import Tables
from ledger.projections.payloads import Payload, PayloadSource, SuiteFrozen, read
from ledger.projections.schema import found
from ledger.projections.suites import Frozen

STRETCH = 20_000
Progress = Callable[[int], None]


class Fold:
    """The tables of one log, kept up with it."""

    def __init__(
        self, tables: Tables, source: PayloadSource, *, stretch: int = STRETCH
    ) -> None:
        """Go on where the tables stand; those of another log are emptied first.

        `stretch` is how many events are folded in, and written, at once.
        """
        self._stretch = stretch
        self._tables = tables
        self._source = source
        self._reached = 0
        self.frozen = Frozen()
        position, event_id = tables.position()
        if position and not self._is_of_this_log(position, event_id):
            with tables.at_once():
                tables.empty()

    def _is_of_this_log(self, position: int, event_id: str | None) -> bool:
        if not 0 < position <= self._source.size() or not self._knows_suites(position):
            return False
        (last,) = self._source.payloads_at([position - 1])
        return last.event_id.hex() == event_id

    def _knows_suites(self, position: int) -> bool:
        """Tell whether what the tables call frozen was, the first charter included."""
        connection = self._tables.connection
        named = dict(found(connection, "SELECT seq, suite FROM suites"))
        if 0 not in named or not all(0 <= seq < position for seq in named):
            return False
        events = {
            entry.seq: read(entry) for entry in self._source.payloads_at(sorted(named))
        }
        return all(
            isinstance(event, SuiteFrozen) and event.suite == named[seq]
            for seq, event in events.items()
        )

    def _adopt_known(self) -> None:
        """Read what was frozen in the part of the log that the tables have."""
        rows = self._tables.connection.execute("SELECT seq FROM suites ORDER BY seq")
        for entry in self._source.payloads_at([seq for (seq,) in rows]):
            self.frozen.adopt(entry)

    def catch_up(self, progress: Progress | None = None) -> int:
        """Fold in what the log has more than the tables; return how many events.

        Each stretch is written at once, so that a crash leaves whole stretches.
        """
        size, folded = self._source.size(), 0
        with uncollected():
            while True:
                with self._tables.at_once():
                    # Another process may have folded in: ask where it stands.
                    start, _ = self._tables.position()
                    if start != self._reached:
                        self._adopt_known()
                        self._reached = start
                    if start >= size:
                        return folded
                    folded += self._fold(start, min(start + self._stretch, size))
                    self._reached = self._tables.position()[0]
                if progress is not None:
                    progress(self._reached)

    def _fold(self, start: int, stop: int) -> int:
        """Fold a stretch in; return 0 where it voids what was judged before.

        A charter that calls a key compromised from an earlier position on changes
        how events before it are judged: everything is folded again from the start.
        """
        stretch = read_stretch(self._source.payloads(start, stop))
        if len(stretch.entries) < stop - start:
            there = {each.seq for each in stretch.entries}
            raise missing_entry(min(set(range(start, stop)) - there))
        voids = [self.frozen.adopt(each) for each in stretch.frozen]
        if any(voids) and start > 0:
            self._tables.empty()
            return 0
        self._tables.outdate(start)
        self._judge(stretch.groups)
        self._note_suites(stretch)
        stolen = frozen_by_thieves(stretch.frozen, self.frozen.charters)
        late = skewed(self._last_before(start), stretch.entries)
        self._tables.insert("findings", [*late, *stolen])
        self._note_lapses(stretch)
        return stop - start

    def _last_before(self, start: int) -> Payload | None:
        return next(self._source.payloads_at([start - 1]), None) if start else None

    def _note_suites(self, stretch: Stretch) -> None:
        """Write where each suite was frozen, its last entry, and where the log is."""
        for entry in stretch.frozen:
            self._tables.note_suite(read(entry).suite, entry.seq, entry.received_at)
        for suite, entry in stretch.last_of_suite.items():
            self._tables.note_suite(suite, entry.seq, entry.received_at)
        last = max(stretch.last_of_suite.values(), key=lambda entry: entry.seq)
        self._tables.write_position(last.seq + 1, last.event_id.hex())

    def _note_lapses(self, stretch: Stretch) -> None:
        """Write what the time of these suites, which has gone on, brought to light."""
        for name, entry in stretch.last_of_suite.items():
            suite = self.frozen.suites.get(name)
            if suite is not None:
                as_of_us = micros(parse_instant(entry.received_at))
                found = lapsed(self._tables.connection, suite, as_of_us)
                self._tables.insert("findings", list(found))

    def _judge(self, groups: list[Group]) -> None:
        known = self._known(groups)
        units = [each for each in groups if id(each) not in known]
        if known:
            units += self._read_again(groups, known)
            self._tables.forget(set(known.values()))
        self._tables.write(judge(units, self.frozen))

    def _known(self, groups: list[Group]) -> dict[int, int]:
        """Return the numbers of units that the tables have, by the group's id()."""
        by_identity = self._tables.numbers_by_identity(
            [each.identity for each in groups if each.identity is not None]
        )
        nameless = [each for each in groups if each.identity is None]
        by_question = self._tables.numbers_by_question(
            [each.question_hash for each in nameless]
        )
        known = {
            id(each): by_identity[each.identity]
            for each in groups
            if each.identity in by_identity
        }
        for each in nameless:
            number = by_question.get((each.suite, each.question_hash))
            if number is None:
                msg = f"nothing before it brought question {each.question_hash}"
                raise CorruptLogError(msg, seq=each.first_seq)
            known[id(each)] = number
        return known

    def _read_again(self, groups: list[Group], known: dict[int, int]) -> list[Group]:
        """Return the units that the tables have, with their old and new events."""
        positions = self._tables.positions(sorted(set(known.values())))
        stretch = read_stretch(self._source.payloads_at(positions))
        units = {each.first_seq: each for each in stretch.groups}
        for each in groups:
            if id(each) in known:
                units[known[id(each)]].extend(each)
        return stretch.groups
