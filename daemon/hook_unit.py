"""Which unit a dispatch is, and that its forecast is sealed before it starts.

In record mode the payload carries the forecast: the daemon proposes the question, the
hook signs on it with the forecaster's key, and opening and seal go into the log in one
batch. In gate mode nothing is written: the forecast has to be there. On the hook's
start-up path.
"""

import time
from _collections_abc import Mapping
from binascii import a2b_base64

from ledger.daemon.hook_journal import Journal, Run, fingerprint, key_name
from ledger.daemon.hook_payload import Delivery, part, text
from ledger.daemon.hook_request import event_id, is_said, payload_of, signed
from ledger.daemon.hook_settings import GATE, Settings
from ledger.daemon.hook_signing import read_signer
from ledger.daemon.hook_task import (
    another_task_s,
    require_own_key,
    require_same_task,
    stated_id,
    task_hash,
)
from ledger.daemon.hook_text import DeniedError, TroubleError
from ledger.daemon.hook_wire import REFUSED, FaultError, Wire

# Refusals that speak of the ledger and not of the forecast: policy decides.
_LEDGER_S_OWN = (
    "behind-mark",
    "busy",
    "clock-jumped",
    "corrupt-log",
    "log-key-dropped",
    "uncheckable",
)
# Refusals of what was asked of the daemon a while ago, or that something forestalled.
_STALE = (
    "already-open",
    "created-before-parent",
    "parent-not-last",
    "question-changed",
    "question-old",
)
_ATTEMPTS = 12
_REPEATS_MAX = 10_000
# What a dispatcher may say of a question that the daemon opens.
_QUESTION = ("target", "cluster", "tags")


class StaleError(TroubleError):
    """What was signed rests on what stands no more: a question, or a chain's end."""


class Desk:
    """One installation at work: its settings, its memory, and its way to the daemon."""

    def __init__(self, settings: Settings, now_ns: int) -> None:
        """Take the settings and the present, in nanoseconds since 1970."""
        self.settings = settings
        self.journal = Journal(settings.state)
        self.now_ns = now_ns
        self._wire: Wire | None = None

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Return what the daemon answers; raise `TroubleError` where it does not."""
        if self._wire is None:
            self._wire = Wire(self.settings.sockets)
        return self._wire.ask(method, params) or {}

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire.close()

    def probe(self, _: Delivery) -> dict[str, object]:
        """Return the daemon's answer to a ping, once it is the ledger that is meant."""
        found = self.ask("ping", {})
        self._require_ours(found)
        if self.settings.mode != GATE:
            read_signer(self.settings.key)
        return found

    def dispatch(self, delivery: Delivery) -> dict[str, object]:
        """Return the receipt of a dispatch that may start; raise `DeniedError` else."""
        try:
            return self._dispatched(delivery)
        except StaleError:
            # What was signed can be taken no more: a fresh question may be.
            return self._dispatched(delivery)

    def _dispatched(self, delivery: Delivery) -> dict[str, object]:
        place = self.journal.place(delivery)
        kept = self.journal.read(place)
        if kept is not None and "unit" in kept:
            return self._again(delivery, place, kept)
        unit, was_free = self._unit(delivery, place)
        try:
            if self.settings.mode == GATE:
                return self._gate(delivery, place, unit)
            return self._record(delivery, place, unit)
        except (DeniedError, TroubleError):
            # Where nothing can have been sealed, the next attempt is the same dispatch
            # still, and has the same name.
            if was_free and self.journal.read(place) is None:
                self.journal.release(unit)
            raise

    def update(self, delivery: Delivery) -> dict[str, object]:
        """Return the receipt of a later forecast on a dispatch's unit."""
        if self.settings.mode == GATE:
            raise DeniedError(
                "this hook only gates: seal and update through the ledger"
            )
        why = ""
        for _ in range(_ATTEMPTS):
            try:
                return self._updated(delivery)
            except StaleError as stale:
                why = str(stale)  # Another update came first: this one follows it.
        raise TroubleError(f"{why}; this was tried {_ATTEMPTS} times: send it again")

    def _updated(self, delivery: Delivery) -> dict[str, object]:
        found = self.journal.run_of(delivery)
        unit = _unit_of(found[1]) if found else self._name(stated_id(delivery))
        known = self._known(unit)
        parent = part(known, "chains").get(self.settings.forecaster)
        if not isinstance(parent, str):
            raise DeniedError(f"nothing is sealed on {unit[2]} yet: dispatch it first")
        # It is known by what it says, and is the same again as long as nothing else was
        # said since. Of two at once, which find the same parent, both send the same.
        place = self.journal.place_of_update(unit, delivery)
        last = _request_of(self.journal.read(place) or {})
        if last and event_id(last) == parent:
            return self._sent(place, unit, last)
        event = {
            "type": "ForecastUpdated",
            "parent": parent,
            "reason": text(delivery.said.get("reason")),
            "question_hash": known.get("question_hash"),
            "suite_hash": known.get("suite_hash"),
            "ledger": self.settings.ledger or self.ask("ping", {}).get("ledger"),
        }
        # Not before its parent, which may be younger than this process.
        now_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        made = signed(self.settings, delivery, event, None, now_ns)
        after = f"{place}-{parent}"
        kept = self.journal.keep(after, {"request": made})
        self.journal.write(place, kept)
        return self._sent(after, unit, _request_of(kept))

    def _again(self, delivery: Delivery, place: str, kept: Run) -> dict[str, object]:
        """Return the receipt of a dispatch that is known: it may have been lost."""
        unit, request = _unit_of(kept), _request_of(kept)
        known = self._known(unit)
        self._require_pending(delivery, unit, known)
        if not request:
            self._require_sealed(delivery, unit, known)
            return {"unit": unit}
        if _states(delivery):
            self._require_said(delivery, unit, payload_of(request))
        return self._sent(place, unit, request)

    def _unit(self, delivery: Delivery, place: str) -> tuple[list[str], bool]:
        """Return the unit of a dispatch, and whether nobody started under it before.

        A task that comes again gets a number. A dispatch_key names one task: another
        would pass on the first one's forecast.
        """
        base = stated_id(delivery)
        if text(delivery.said.get("dispatch_key")):
            unit, digest = self._name(base), task_hash(delivery)
            require_own_key(base, digest)
            was_free = self.journal.claim_key(unit, digest)
            if was_free is None:
                raise another_task_s(base)
            return unit, was_free
        for count in range(1, _REPEATS_MAX):
            unit = self._name(base if count == 1 else f"{base}/{count}")
            if self.journal.claim(unit, place):
                return unit, True
        raise DeniedError(
            f"this task was dispatched {_REPEATS_MAX} times: give it a dispatch_key"
        )

    def _name(self, id_: str) -> list[str]:
        settings = self.settings
        return [settings.suite, settings.template, id_, settings.horizon]

    def _gate(
        self, delivery: Delivery, place: str, unit: list[str]
    ) -> dict[str, object]:
        known = self._known(unit)
        self._require_pending(delivery, unit, known)
        self._require_sealed(delivery, unit, known)
        self.journal.write(place, self._run(delivery, unit))
        return {"unit": unit}

    def _record(
        self, delivery: Delivery, place: str, unit: list[str]
    ) -> dict[str, object]:
        if not _states(delivery):
            # It may have been sealed in another way, before the dispatch.
            return self._gate(delivery, place, unit)
        asked = {
            name: delivery.said[name] for name in _QUESTION if delivery.said.get(name)
        }
        digest = task_hash(delivery)
        proposed = self.ask(
            "question",
            {**_named(unit), **asked, **({"text_hash": digest} if digest else {})},
        )
        self._require_ours(proposed)
        known = part(proposed, "unit")
        if known:
            self._require_pending(delivery, unit, known)
        sealed = part(known, "chains").get(self.settings.forecaster)
        if sealed is not None:
            self._require_sealed(delivery, unit, known)
            self.journal.write(place, self._run(delivery, unit))
            return {"unit": unit, "event_id": sealed}
        event = {
            "type": "ForecastSealed",
            "ledger": proposed.get("ledger"),
            "suite_hash": proposed.get("suite_hash"),
            "question_hash": proposed.get("question_hash"),
        }
        question = proposed.get("question")
        made = signed(self.settings, delivery, event, question, self.now_ns)
        run = {**self._run(delivery, unit), "request": made}
        kept = self.journal.keep(place, run)
        # Of a payload that is delivered twice at once, the other may have it sealed.
        same = _request_of(kept)
        return self._sent(place, unit, same) if same else {"unit": unit}

    def _known(self, unit: list[str]) -> dict[str, object]:
        """Return what the ledger that is meant knows of a unit; nothing of a new one."""
        if self.settings.ledger:
            self._require_ours(self.ask("ping", {}))
        return self.ask("unit", _named(unit))

    def _require_pending(
        self, delivery: Delivery, unit: list[str], known: Mapping[str, object]
    ) -> None:
        """Raise `DeniedError` for a unit whose outcome is known, or another task's."""
        if known.get("status") not in (None, "PENDING"):
            raise DeniedError(
                f"{unit[2]} has its outcome already ({known.get('status')}): "
                "dispatch under another dispatch_key"
            )
        require_same_task(known, unit[2], task_hash(delivery))

    def _require_sealed(
        self, delivery: Delivery, unit: list[str], known: Mapping[str, object]
    ) -> None:
        """Raise `DeniedError` where no forecast is sealed, or not the one that is said."""
        chains, wanted = part(known, "chains"), self.settings.forecaster
        if not chains or (wanted and wanted not in chains):
            raise DeniedError(_how_to_seal(self.settings, unit))
        if self.settings.mode != GATE and _states(delivery):
            position = part(known, "positions").get(wanted)
            entry = self.ask("entry", {"seq": position})
            self._require_said(delivery, unit, a2b_base64(text(entry.get("payload"))))

    def _require_said(self, delivery: Delivery, unit: list[str], sealed: bytes) -> None:
        """Raise `DeniedError` where a payload states another forecast than is sealed."""
        if not is_said(self.settings, delivery, sealed):
            raise DeniedError(
                f"{self.settings.forecaster} has sealed another forecast on {unit[2]} "
                "already, and a second seal would not count: send this one as an "
                "update, or dispatch without it"
            )

    def _sent(
        self, place: str, unit: list[str], request: list[object]
    ) -> dict[str, object]:
        """Send a request that is kept, and return its receipt."""
        method, params = request
        assert isinstance(method, str)
        assert isinstance(params, dict)
        try:
            result = self.ask(method, params)
        except FaultError as fault:
            if fault.number == REFUSED or fault.kind in _STALE:
                raise self._refused(place, fault.kind, fault.said) from None
            raise
        receipts = result.get("receipts")
        receipt = receipts[-1] if isinstance(receipts, list) and receipts else {}
        error = part(receipt, "error") if isinstance(receipt, dict) else {}
        if error:
            kind, said = text(error.get("code")), text(error.get("message"))
            raise self._refused(place, kind, said)
        return {"unit": unit, **receipt}

    def _refused(self, place: str, kind: str, said: str) -> DeniedError | TroubleError:
        """Return what a refusal means; what was refused is forgotten."""
        if kind in _LEDGER_S_OWN:
            return TroubleError(f"the ledger takes nothing: {said}")
        self.journal.forget(place)
        if kind in _STALE:
            return StaleError(said)
        return DeniedError(f"the forecast was refused: {kind}: {said}")

    def _run(self, delivery: Delivery, unit: list[str]) -> Run:
        kept = {
            "began": f"{self.now_ns:020d}",
            "fingerprint": fingerprint(delivery),
            "key": key_name(delivery),
            "role": delivery.role,
            "unit": unit,
        }
        return {name: value for name, value in kept.items() if value}

    def _require_ours(self, answer: dict[str, object]) -> None:
        meant, found = self.settings.ledger, answer.get("ledger")
        if meant and found != meant:
            raise TroubleError(
                f"the daemon keeps ledger {found}, and this hook was installed for "
                f"{meant}: run `ledger hook install` again"
            )


def _states(delivery: Delivery) -> bool:
    return delivery.said.get("forecast") is not None


def _request_of(run: Run) -> list[object]:
    found = run.get("request")
    return found if isinstance(found, list) else []


def _unit_of(run: Run) -> list[str]:
    unit = run.get("unit")
    assert isinstance(unit, list)
    return [str(each) for each in unit]


def _named(unit: list[str]) -> dict[str, object]:
    return dict(zip(("suite", "template", "id", "horizon"), unit, strict=True))


def _how_to_seal(settings: Settings, unit: list[str]) -> str:
    suite, template, id_, horizon = unit
    who = f" --as {settings.forecaster}" if settings.forecaster else ""
    return (
        f"No forecast is sealed for this dispatch, which is {id_}. Seal one first, then "
        "dispatch it again: by the tool seal_forecast with that dispatch_key, in Python "
        "by `client.seal`, or, where an issuer has opened the unit, by "
        f"`ledger seal --suite {suite} --template {template} "
        f"--id {id_} --horizon {horizon}{who} --probability P`"
    )
