"""What the hook signs and sends to have a forecast in the log, and what it said.

On the hook's start-up path.
"""

from _collections_abc import Mapping
from binascii import a2b_base64

from ledger.daemon.hook_forecast import forecast_fields, instant
from ledger.daemon.hook_journal import fingerprint
from ledger.daemon.hook_payload import Delivery, part, text
from ledger.daemon.hook_settings import Settings
from ledger.daemon.hook_signing import read_signer, sha256_hex
from ledger.daemon.hook_text import canonical, read_json

# What a forecast is scored by.
_VECTOR = ("probabilities", "commitment", "quantities")


def signed(
    settings: Settings,
    delivery: Delivery,
    event: Mapping[str, object],
    question: object,
    now_ns: int,
) -> list[object]:
    """Return the request that appends a payload's forecast, signed; opening `question`.

    `event` has the fields that do not come from the payload, `now_ns` is in nanoseconds
    since 1970. Raises `DeniedError` for a forecast that is unfit.
    """
    made_at = instant(now_ns)
    said = _said(settings, delivery, made_at)
    run = {name: value for name, value in _run_fields(delivery).items() if value}
    extensions = part(said, "extensions")
    said["extensions"] = {**extensions, "trace": {**run, **part(extensions, "trace")}}
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


def payload_of(request: list[object]) -> bytes:
    """Return the payload of the forecast in a request that `signed` made."""
    _, params = request
    assert isinstance(params, dict)
    return a2b_base64(params["events"][0]["payload"])


def event_id(request: list[object]) -> str:
    """Return the id of the forecast in a request that `signed` made."""
    return sha256_hex(payload_of(request))


def is_said(settings: Settings, delivery: Delivery, payload: bytes) -> bool:
    """Tell whether a sealed forecast has the vector that a payload states.

    Raises `DeniedError` for a stated one that is unfit.
    """
    sealed = read_json(payload)
    assert isinstance(sealed, dict)
    said = _said(settings, delivery, instant(0))
    return all(said[name] == sealed.get(name) for name in _VECTOR if name in said)


def run_of(delivery: Delivery, inferred: str) -> dict[str, str]:
    """Return what a resolution says of a run, `inferred` where the join was no fact."""
    said = _run_fields(delivery)
    key = said.pop("trigger_id") or delivery.agent or fingerprint(delivery)
    found = {**said, "key": key, "inferred": inferred}
    return {name: value for name, value in found.items() if value}


def _said(settings: Settings, delivery: Delivery, made_at: str) -> dict[str, object]:
    stated = delivery.said.get("forecast")
    return forecast_fields(stated, settings.answers, settings.positive, made_at)


def _run_fields(delivery: Delivery) -> dict[str, str]:
    """Return how a forecast names the run that it was made for."""
    own = part(delivery.said, "run") if delivery.runtime == "piper" else {}
    return {
        "runtime": text(own.get("runtime")) or delivery.runtime,
        "session": text(own.get("session")) or delivery.session,
        "trigger_id": text(own.get("key")) or delivery.key,
    }
