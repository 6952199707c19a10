"""What is in force in a ledger, read beside whoever writes to it."""

from collections.abc import Iterable, Sequence

import msgspec

from ledger.entry import Recorded
from ledger.errors import CorruptLogError, UsageError
from ledger.ids import parse_version
from ledger.log import Reader
from ledger.suite import CharterManifest, SuiteManifest
from ledger.suite_table import listed, suggestion


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version, and where it was frozen."""

    manifest: SuiteManifest
    entry: Recorded


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The charter in force with its version, and all suites in the order of the log.

    With `size` they are those of the log's first `size` entries.
    """

    charter: CharterManifest
    version: str
    suites: dict[str, Frozen]
    size: int | None = None

    def is_superseded(self, suite: str) -> bool:
        """Tell whether a later version of a frozen suite is in force."""
        name, number = parse_version(suite)
        return f"{name}@v{number + 1}" in self.suites

    def meant(self, name: str) -> str:
        """Return the suite of that name, the latest version where none is named.

        Raises `UsageError` for a suite that was never frozen.
        """
        return max(self.versions(name), key=lambda each: parse_version(each)[1])

    def versions(self, name: str) -> list[str]:
        """Return the suite of that name; all its versions where none is named.

        Raises `UsageError` for a suite that was never frozen.
        """
        versions = [each for each in self.suites if name in (each, each.split("@")[0])]
        if versions:
            return versions
        known = f"there are {listed(self.suites, last='and')}"
        if len(self.suites) == 1:
            known = f"there is {listed(self.suites)}"
        where = "here" if self.size is None else f"in the first {self.size} entries"
        hint = suggestion(name, self.suites) or known
        never = "never" if self.size is None else "not"
        msg = f"{name!r} was {never} frozen {where}: {hint}"
        raise UsageError(msg)

    def having(self, stated: str | None, *competitors: str) -> str:
        """Return the suite that was named, or the only one that has some competitors.

        Raises `UsageError` for a suite without them, and where none or several have.
        """
        have = [name for name in self.suites if self._has(name, competitors)]
        named = listed([repr(each) for each in competitors], last="and")
        kind = "competitors" if len(competitors) > 1 else "a competitor"
        if stated is not None:
            meant = self.meant(stated)
            if meant not in have:
                hint = self._hint(competitors, [meant])
                raise UsageError(f"{meant} does not list {named} as {kind}: {hint}")
            return meant
        if len(have) == 1:
            return have[0]
        if have:
            msg = f"{listed(have, last='and')} have {named}: say which with --suite NAME@vN"
            raise UsageError(msg)
        hint = self._hint(competitors, self.suites)
        raise UsageError(f"no suite lists {named} as {kind}: {hint}")

    def require_competitor(self, name: str, suite: str | None) -> None:
        """Raise `UsageError` for who is no competitor of a suite, or of any."""
        suites = [suite] if suite is not None else list(self.suites)
        if not any(self._has(each, [name]) for each in suites):
            hint = self._hint([name], suites)
            msg = f"{name!r} is no competitor of {suite or 'any suite'}: {hint}"
            raise UsageError(msg)

    def _hint(self, competitors: Sequence[str], suites: Iterable[str]) -> str:
        """Return the competitor that may be meant by a strange name, else all of them."""
        known = {
            each.name
            for suite in suites
            for each in self.suites[suite].manifest.competitors
        }
        strange = next((each for each in competitors if each not in known), None)
        hint = "" if strange is None else suggestion(strange, known)
        return hint or "; ".join(map(self._known, suites)) or "none is frozen here"

    def _known(self, suite: str) -> str:
        names = [each.name for each in self.suites[suite].manifest.competitors]
        return f"{suite} has {listed(names, last='and')}"

    def _has(self, suite: str, competitors: Sequence[str]) -> bool:
        manifest = self.suites[suite].manifest
        return all(manifest.competitor(each) is not None for each in competitors)

    @property
    def roles(self) -> dict[str, str]:
        """The role of each principal."""
        return {each.name: each.role for each in self.charter.principals}


def standing(reader: Reader, size: int | None = None) -> Standing:
    """Return what the log has frozen, or what its first `size` entries have.

    Raises `CorruptLogError` for a log without charter.
    """
    charter, version, suites = None, "", {}
    for entry, event in reader.events.frozen():
        if size is not None and entry.seq >= size:
            break
        if isinstance(event.manifest, CharterManifest):
            charter, version = event.manifest, event.suite
        else:
            suites[event.suite] = Frozen(manifest=event.manifest, entry=entry)
    if charter is None:
        msg = "the log has no charter: entry 0 must be one"
        raise CorruptLogError(msg)
    return Standing(charter=charter, version=version, suites=suites, size=size)
