"""What an installed hook remembers of runs, so that nothing is sealed twice.

One folder for each installation, its user's alone:

    runs/S/R       one run of a session S: its unit, its request, whether it is over
    runs/S/agent-A which run an agent A does
    updates/N      what was sent last of an update, and N-P what was sent on parent P
    units/U        which run took a name for its unit, or which task a dispatch_key names

Names are hashes, since a runtime's ids may hold anything. No prompt and no payload is
kept. On the hook's start-up path.
"""

import os

from ledger.daemon.hook_payload import Delivery
from ledger.daemon.hook_signing import sha256_hex
from ledger.daemon.hook_text import TroubleError, canonical, read_json

BY_KEY = "session and tool id, first in, first out"
BY_INPUT = "session, tool and input, first in, first out"
BY_ROLE = "session and kind of agent, first in, first out"

Run = dict[str, object]


class Journal:
    """The memory of one installation."""

    def __init__(self, folder: str) -> None:
        """Take the folder; it is made when something is first kept."""
        self._folder = folder

    def place(self, delivery: Delivery) -> str:
        """Return where the run of a dispatch is kept: the same for a repeated delivery.

        An id is not enough, since a runtime may give it again: what it names counts too.
        A runtime without ids is believed to repeat itself when session, tool, input and
        its own time stamp are the same. Either way, until that run is over.
        """
        own = delivery.key or fingerprint(delivery) + delivery.stamp
        said = [delivery.said.get(name) for name in ("dispatch_key", "task_sha256")]
        place = first = _in(
            self._session(delivery), _name([own, delivery.task or "", *said])
        )
        count = 1
        while (self.read(place) or {}).get("over"):
            count += 1
            place = f"{first}x{count}"
        return place

    def place_of_update(self, unit: list[str], delivery: Delivery) -> str:
        """Return where an update is kept: the same for one that says the same."""
        said = dict(delivery.said)
        return _in(_in(self._folder, "updates"), _name([unit, said]))

    def read(self, place: str) -> Run | None:
        """Return what is kept of a run."""
        try:
            with open(place, "rb") as file:
                found = read_json(file.read())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise TroubleError(f"{place} cannot be read ({error}): remove it") from None
        return found if isinstance(found, dict) else None

    def write(self, place: str, run: Run) -> None:
        """Keep a run, as a whole or not at all."""
        _write(place, canonical(run))

    def keep(self, place: str, run: Run) -> Run:
        """Keep a run unless one is kept there, and return the one that is kept.

        Of a payload that is delivered twice at once, both then send the same.
        """
        made = f"{place}.{os.getpid()}"
        self.write(made, run)
        try:
            os.link(made, place)
        except FileExistsError:
            return self.read(place) or run
        finally:
            os.unlink(made)
        return run

    def forget(self, place: str) -> None:
        """Forget a run that was refused."""
        if os.path.exists(place):
            os.unlink(place)

    def claim(self, unit: list[str], place: str) -> bool:
        """Take a name for the unit of a run; tell whether it is that run's."""
        folder = _in(self._folder, "units")
        _make(folder)
        claim = _in(folder, _name(unit))
        # With its session: another one's run may have the same name.
        own = {"run": place.removeprefix(self._folder)}
        return self.keep(claim, dict(own)) == own

    def claim_key(self, unit: list[str], digest: str) -> bool | None:
        """Take a dispatch_key's unit for a task; None where another task has it.

        Tells whether it was free: then whoever took it may give it back.
        """
        folder = _in(self._folder, "units")
        _make(folder)
        claim = _in(folder, _name(unit))
        was_free = self.read(claim) is None
        own = {"task": digest}
        return was_free if self.keep(claim, dict(own)) == own else None

    def release(self, unit: list[str]) -> None:
        """Give a unit's name back: nothing was sealed under it."""
        claim = _in(_in(self._folder, "units"), _name(unit))
        if os.path.exists(claim):
            os.unlink(claim)

    def bind(self, delivery: Delivery, place: str) -> None:
        """Remember which run an agent does."""
        if delivery.agent:
            found = {"run": os.path.basename(place)}
            self.write(self._agent(delivery), dict(found))

    def run_of(self, delivery: Delivery) -> tuple[str, Run, str] | None:
        """Return the run that a later payload speaks of: its place, itself, how it is known.

        By the runtime's id of the tool, else by its id of the agent; else it is inferred
        from what both payloads have in common, the run that began first being meant. How
        is "" where nothing was inferred.
        """
        if delivery.key:
            known = self._kept(self.place(delivery), "")
            # It need not say again what the dispatch said, as long as the id says enough.
            return known or self._first(delivery, "key", key_name(delivery), BY_KEY)
        bound = self.read(self._agent(delivery)) if delivery.agent else None
        if bound is not None:
            place = _in(self._session(delivery), str(bound.get("run")))
            return self._kept(place, "")
        own = fingerprint(delivery) if delivery.fingerprint[1:2] != (None,) else ""
        for name, wanted, how in (
            ("fingerprint", own, BY_INPUT),
            ("role", delivery.role, BY_ROLE),
        ):
            found = self._first(delivery, name, wanted, how) if wanted else None
            if found is not None:
                return found
        return None

    def _kept(self, place: str, how: str) -> tuple[str, Run, str] | None:
        run = self.read(place)
        return None if run is None else (place, run, how)

    def _first(
        self, delivery: Delivery, name: str, wanted: str, how: str
    ) -> tuple[str, Run, str] | None:
        """Return the open run of a session that began first among those that fit."""
        folder = self._session(delivery)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        found = []
        for each in names:
            run = None if "-" in each or "." in each else self.read(_in(folder, each))
            if run and run.get(name) == wanted and not run.get("over"):
                found.append((str(run.get("began")), each, run))
        if not found:
            return None
        _, first, run = min(found, key=lambda one: one[:2])
        # An id that a single run has is no inference.
        return _in(folder, first), run, "" if (how, len(found)) == (BY_KEY, 1) else how

    def _session(self, delivery: Delivery) -> str:
        named = _name([delivery.runtime, delivery.session])
        return _in(_in(self._folder, "runs"), named)

    def _agent(self, delivery: Delivery) -> str:
        return _in(self._session(delivery), f"agent-{_name(delivery.agent)}")


def fingerprint(delivery: Delivery) -> str:
    """Return the hash of what the payloads of one run have in common, "" for nothing."""
    return sha256_hex(canonical(delivery.fingerprint)) if delivery.fingerprint else ""


def key_name(delivery: Delivery) -> str:
    """Return the hash of the runtime's own id of a run, "" where it gives none."""
    return _name(delivery.key) if delivery.key else ""


def observe(folder: str, seen: Run, name: object) -> None:
    """Leave an observation for the resolver, under the same name when it comes again."""
    _write(_in(folder, f"hook-{_name(name)}.json"), canonical(seen) + b"\n")


def _write(place: str, content: bytes) -> None:
    """Write a file and its folder, as a whole or not at all."""
    _make(os.path.dirname(place))
    made = f"{place}.{os.getpid()}"
    try:
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            while content:  # A disk that is nearly full takes some of it.
                content = content[os.write(handle, content) :]
        finally:
            os.close(handle)
        os.replace(made, place)
    except OSError:
        if os.path.exists(made):
            os.unlink(made)
        raise


def _name(found: object) -> str:
    return sha256_hex(canonical(found))[:32]


def _in(folder: str, name: str) -> str:
    return f"{folder}/{name}"


def _make(folder: str) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
