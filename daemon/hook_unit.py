"""Which unit a dispatch is, and that its forecast is sealed before it starts.

In record mode the payload carries the forecast: the daemon proposes the question, the
hook signs on it with the forecaster's key, and opening and seal go into the log in one
batch. In gate mode nothing is written: the forecast has to be there. On the hook's
start-up path.
"""

from ledger.daemon.hook_forecast import forecast_fields, instant
from ledger.daemon.hook_journal import Journal, Run, fingerprint, key_name
from ledger.daemon.hook_payload import Delivery, part, text
from ledger.daemon.hook_settings import GATE, Settings
from ledger.daemon.hook_signing import read_signer, sha256_hex
from ledger.daemon.hook_text import DeniedError, TroubleError, canonical
from ledger.daemon.hook_wire import REFUSED, FaultError, Wire

# Refusals that speak of the ledger and not of the forecast: policy decides.
_LEDGER_S_OWN = ("behind-mark", "clock-jumped", "log-key-dropped")
# Refusals of a question that was proposed a while ago, or that another one forestalled.
_STALE = ("already-open", "question-changed", "question-old")
_REPEATS_MAX = 10_000
_HASH_DIGITS = 64
# How the id of a unit begins that is named by its task's hash.
_TASK = "task-"
# What a dispatcher may say of a question that the daemon opens.
_QUESTION = ("target", "cluster", "tags")


class StaleError(TroubleError):
    """What was signed rests on a question that will not be opened."""


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
            return self._again(place, kept)
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
        # The same update delivered twice is one event: it is known by what it says.
        place = f"{self.journal.place(delivery)}-{sha256_hex(canonical(dict(delivery.said)))[:32]}"
        kept = self.journal.read(place)
        if kept is not None:
            return self._again(place, kept)
        found = self.journal.run_of(delivery)
        unit = _unit_of(found[1]) if found else self._name(_stated_id(delivery))
        known = self.ask("unit", _named(unit))
        parent = part(known, "chains").get(self.settings.forecaster)
        if parent is None:
            raise DeniedError(f"nothing is sealed on {unit[2]} yet: dispatch it first")
        event = {
            "type": "ForecastUpdated",
            "parent": parent,
            "reason": text(delivery.said.get("reason")),
            "question_hash": known.get("question_hash"),
            "suite_hash": known.get("suite_hash"),
            "ledger": self.settings.ledger or self.ask("ping", {}).get("ledger"),
        }
        request = self._signed(delivery, event, None)
        return self._kept(place, {"unit": unit, "request": request})

    def _again(self, place: str, kept: Run) -> dict[str, object]:
        """Return the receipt of a dispatch that is known: it may have been lost."""
        request, unit = kept.get("request"), _unit_of(kept)
        if not isinstance(request, list):
            return {"unit": unit}
        return self._sent(place, unit, request)

    def _kept(self, place: str, run: Run) -> dict[str, object]:
        return self._again(place, self.journal.keep(place, run))

    def _unit(self, delivery: Delivery, place: str) -> tuple[list[str], bool]:
        """Return the unit of a dispatch, and whether nobody started under it before.

        A task that comes again gets a number. A dispatch_key names one task: another
        would pass on the first one's forecast.
        """
        base = _stated_id(delivery)
        if text(delivery.said.get("dispatch_key")):
            unit, digest = self._name(base), _task_hash(delivery)
            named = base.removeprefix(_TASK).partition("/")[0]
            was_free = None
            if not (digest and _is_hash(named)) or named == digest:
                was_free = self.journal.claim_key(unit, digest)
            if was_free is not None:
                return unit, was_free
            raise DeniedError(
                f"the dispatch_key {base} is another task's: give this one a key of its "
                "own, and seal its forecast under that"
            )
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
        known = self.ask("unit", _named(unit))
        chains = part(known, "chains")
        wanted = self.settings.forecaster
        if not chains or (wanted and wanted not in chains):
            raise DeniedError(_how_to_seal(self.settings, unit))
        if known.get("status") not in (None, "PENDING"):
            raise DeniedError(
                f"{unit[2]} has its outcome already ({known.get('status')}): "
                "dispatch under another dispatch_key"
            )
        self.journal.write(place, self._run(delivery, unit))
        return {"unit": unit}

    def _record(
        self, delivery: Delivery, place: str, unit: list[str]
    ) -> dict[str, object]:
        stated = delivery.said.get("forecast")
        if stated is None:
            # It may have been sealed in another way, before the dispatch.
            return self._gate(delivery, place, unit)
        asked = {
            name: delivery.said[name] for name in _QUESTION if delivery.said.get(name)
        }
        digest = _task_hash(delivery)
        proposed = self.ask(
            "question",
            {**_named(unit), **asked, **({"text_hash": digest} if digest else {})},
        )
        self._require_ours(proposed)
        sealed = part(part(proposed, "unit"), "chains")
        if self.settings.forecaster in sealed:
            self.journal.write(place, self._run(delivery, unit))
            return {"unit": unit, "event_id": sealed[self.settings.forecaster]}
        event = {
            "type": "ForecastSealed",
            "ledger": proposed.get("ledger"),
            "suite_hash": proposed.get("suite_hash"),
            "question_hash": proposed.get("question_hash"),
        }
        request = self._signed(delivery, event, proposed.get("question"))
        return self._kept(place, {**self._run(delivery, unit), "request": request})

    def _signed(
        self, delivery: Delivery, event: dict[str, object], question: object
    ) -> list[object]:
        """Return the request that appends a forecast, signed."""
        settings, made_at = self.settings, instant(self.now_ns)
        stated = delivery.said.get("forecast")
        said = forecast_fields(stated, settings.answers, settings.positive, made_at)
        run = {name: value for name, value in _run_fields(delivery).items() if value}
        extensions = part(said, "extensions")
        said["extensions"] = {
            **extensions,
            "trace": {**run, **part(extensions, "trace")},
        }
        fields = {
            **said,
            **event,
            "author": settings.author,
            "created_at": made_at,
            "forecaster": settings.forecaster,
            "suite": settings.suite,
        }
        payload = canonical({name: value for name, value in fields.items() if value})
        events = [read_signer(settings.key).envelope(payload)]
        if question is None:
            return ["append", {"events": events}]
        return [
            "open_seal",
            {"suite": settings.suite, "question": question, "events": events},
        ]

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
            if fault.kind in _STALE:
                self.journal.forget(place)
                raise StaleError(str(fault)) from None
            if fault.number == REFUSED and fault.kind not in _LEDGER_S_OWN:
                raise self._refused(place, fault.kind, fault.said) from None
            raise
        receipts = result.get("receipts")
        receipt = receipts[-1] if isinstance(receipts, list) and receipts else {}
        error = part(receipt, "error") if isinstance(receipt, dict) else {}
        if error:
            kind, said = text(error.get("code")), text(error.get("message"))
            if kind in _LEDGER_S_OWN:
                raise TroubleError(f"the ledger takes nothing: {said}")
            raise self._refused(place, kind, said)
        return {"unit": unit, **receipt}

    def _refused(self, place: str, kind: str, said: str) -> DeniedError:
        self.journal.forget(place)
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


def _run_fields(delivery: Delivery) -> dict[str, str]:
    """Return how a forecast names the run that it was made for."""
    own = part(delivery.said, "run") if delivery.runtime == "piper" else {}
    return {
        "runtime": text(own.get("runtime")) or delivery.runtime,
        "session": text(own.get("session")) or delivery.session,
        "trigger_id": text(own.get("key")) or delivery.key,
    }


def run_of(delivery: Delivery, inferred: str) -> dict[str, str]:
    """Return what a resolution says of a run, `inferred` where the join was no fact."""
    said = _run_fields(delivery)
    key = said.pop("trigger_id") or delivery.agent or fingerprint(delivery)
    found = {**said, "key": key, "inferred": inferred}
    return {name: value for name, value in found.items() if value}


def _stated_id(delivery: Delivery) -> str:
    """Return the unit's id: the dispatcher's key, else one made of the task's hash."""
    stated = text(delivery.said.get("dispatch_key"))
    if stated:
        return stated
    digest = _task_hash(delivery)
    if not digest:
        raise DeniedError(
            "the dispatch has neither a task nor a dispatch_key: give it one"
        )
    return f"{_TASK}{digest}"


def _task_hash(delivery: Delivery) -> str:
    stated = text(delivery.said.get("task_sha256"))
    if _is_hash(stated):
        return stated
    task = delivery.task
    return sha256_hex(task.encode("utf-8", "surrogatepass")) if task else ""


def _is_hash(found: str) -> bool:
    return len(found) == _HASH_DIGITS and not found.strip("0123456789abcdef")


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
        f"by `client.seal`, or by `ledger seal --suite {suite} --template {template} "
        f"--id {id_} --horizon {horizon}{who} --probability P`"
    )
