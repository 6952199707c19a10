"""The forecast of a run: its unit opened where it is not, and sealed in one batch."""

import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ledger import codec
from ledger.clock import HOUR_SECONDS, span
from ledger.daemon.opening import Found
from ledger.daemon.running_desk import Desk, Name
from ledger.daemon.running_meaning import Meant, Said, meant
from ledger.draft_alone import event_alone
from ledger.errors import RefusedError, UsageError
from ledger.ids import sha256_hex
from ledger.keys.roster import Principal
from ledger.keys.signing import SignerKey, parse_verifier
from ledger.suite import SuiteManifest
from ledger.writer import Receipt, Submission

RUNTIME = "ledger run"
# In which a forecast that was made reaches the log; no outcome is recorded earlier.
_SEALING_SECONDS = 3
_TOKEN_BYTES = 4
Fields = dict[str, Any]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and what is forecast of it.

    `vector` returns the probabilities over a template's answers, given these and the
    positive one. `bar` returns the acceptance hash as it is at that moment. `issuer`
    opens the question, `resolver` records the outcome; `signers` are the keys at hand.
    `quantities` are the points forecast, by `duration` and `cost`.
    """

    command: Sequence[str]
    said: Said
    vector: Callable[[tuple[str, ...], str], Mapping[str, object]]
    bar: Callable[[], str | None]
    signers: Mapping[str, SignerKey]
    issuer: SignerKey | None = None
    resolver: SignerKey | None = None
    target: str | None = None
    cluster: str | None = None
    tags: Mapping[str, str] = {}
    quantities: Mapping[str, str] = {}
    timeout_seconds: int | None = None


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """A forecast in the log, and the unit that it is about.

    `cutoff_at` is that of the question where this run opened it.
    """

    meant: Meant
    name: Name
    receipt: Receipt
    acceptance_hash: str | None
    cutoff_at: datetime | None


def seal(order: Order, desk: Desk, now: datetime) -> Sealed:
    """Open the unit where it is not, and seal the forecast, in one batch.

    Refuses a resolver's key whose record would be refused: a run is not repeated.
    """
    id_ = order.said.id or f"run-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(_TOKEN_BYTES)}"
    found = meant(
        order.said,
        desk.suites,
        signers=order.signers,
        has_issuer=order.issuer is not None,
        is_open=lambda suite, template, horizon: (
            order.said.id is not None
            and desk.unit((suite, template, id_, horizon)) is not None
        ),
    )
    if order.resolver is not None:
        _require_resolver(order.resolver, found.manifest, desk.principals)
    name = (found.manifest.suite, found.template.id, id_, found.horizon)
    known = desk.unit(name)
    bar = order.bar()
    if known is None:
        question = _question(order, found, id_, bar, now)
    else:
        _require_open(known, name, found, bar)
        question = None
    events = _events(order, found, question, known)
    try:
        receipt = desk.append(
            [signed(draft, signer, desk.ledger, now) for draft, signer in events]
        )[-1]
    except RefusedError:
        # Another run of this id opened the unit meanwhile: it is taken as it is.
        if known is None and desk.unit(name) is not None:
            return seal(order, desk, now)
        raise
    return Sealed(
        meant=found,
        name=name,
        receipt=receipt,
        acceptance_hash=bar if known is None else known.acceptance_hash,
        cutoff_at=None if question is None else question["cutoff_at"],
    )


def _events(
    order: Order, found: Meant, question: Fields | None, known: Found | None
) -> list[tuple[Fields, SignerKey]]:
    """Return what is appended: the opening by an issuer, where it is one, and the seal."""
    suite = found.manifest.suite
    asked: Fields = {"question": question} if question else {}
    events = []
    if known is not None:
        asked = {"question_hash": known.question_hash}
    elif order.issuer is not None:
        opening = {**asked, "type": "ResolutionRecorded", "status": "PENDING"}
        events.append(({**opening, "suite": suite, "source": RUNTIME}, order.issuer))
    vector = order.vector(found.template.answers, str(found.template.positive))
    sealed = {
        **asked,
        "type": "ForecastSealed",
        "suite": suite,
        "suite_hash": codec.suite_hash(found.manifest),
        "forecaster": found.forecaster,
        "probabilities": vector,
        "quantities": {
            _quantity(found.manifest, what): {"point": point}
            for what, point in order.quantities.items()
        },
    }
    return [*events, (sealed, order.signers[found.principal])]


def _question(
    order: Order, found: Meant, id_: str, bar: str | None, now: datetime
) -> Fields:
    """Return the question that a run opens: its command is hashed, as a prompt is."""
    template = found.template
    resolve_by = now + span((template.max_open_hours or 0) * HOUR_SECONDS)
    lead = span((template.min_lead_hours or 0) * HOUR_SECONDS)
    cutoff_at = min(now + span(_SEALING_SECONDS), resolve_by - lead)
    return {
        "template": template.id,
        "id": id_,
        "horizon": found.horizon,
        "opened_at": now,
        "cutoff_at": cutoff_at,
        "resolve_by": resolve_by,
        "target": order.target,
        "cluster": order.cluster,
        "tags": dict(order.tags),
        "acceptance_hash": bar,
        "text_hash": sha256_hex(
            shlex.join(order.command).encode("utf-8", "surrogateescape")
        ),
    }


def _require_resolver(
    resolver: SignerKey, manifest: SuiteManifest, principals: Mapping[str, Principal]
) -> None:
    """Refuse a key that may record no outcome in a suite, as the door would later."""
    name, known = resolver.name, principals.get(resolver.name)
    if known is None:
        msg = f"--resolver is {name}, and the charter lists {', '.join(principals)}"
        raise RefusedError("unknown-author", msg)
    if known.role != "resolver":
        msg = f"--resolver is {name}, whose role is {known.role}: outcomes are a resolver's"
        raise RefusedError("wrong-role", msg)
    if parse_verifier(known.key) != resolver.verifier:
        msg = (
            f"--resolver is a key of {name}, and not the one that the charter gives it"
        )
        raise RefusedError("bad-signature", msg)
    if name not in manifest.resolvers:
        allowed = ", ".join(manifest.resolvers)
        msg = (
            f"--resolver is {name}, and the resolvers of {manifest.suite} are {allowed}"
        )
        raise RefusedError("not-a-resolver", msg)


def _require_open(known: Found, name: Name, found: Meant, bar: str | None) -> None:
    called = "/".join(name[1:])
    if found.forecaster in known.chains:
        msg = f"{found.forecaster} has sealed a forecast on {called} before: give another --id"
        raise RefusedError("already-sealed", msg)
    if known.status not in {None, "PENDING"}:
        msg = f"{called} is {known.status} already: give another --id"
        raise RefusedError("already-resolved", msg)
    if bar not in {None, known.acceptance_hash}:
        msg = f"{called} was opened with the bar {known.acceptance_hash}, and --acceptance is {bar}"
        raise RefusedError("acceptance-hash-mismatch", msg)


def signed(draft: Fields, signer: SignerKey, ledger: str, now: datetime) -> Submission:
    """Return a draft as a signed event; it states whatever it is about."""
    draft = {**draft, "author": signer.name}
    payload = codec.encode(event_alone(draft, ledger=ledger, suite_hash=None, now=now))
    return Submission.signed_by(signer, payload)


def _quantity(manifest: SuiteManifest, what: str) -> str:
    """Return the suite's name for a duration or cost; raise `UsageError` for none."""
    found = declared(manifest, what)
    if found is None:
        known = ", ".join(manifest.quantities) or "none"
        msg = (
            f"{manifest.suite} declares no quantity {what} or {what}_…, so --{what} says "
            f"nothing there; it declares {known}"
        )
        raise UsageError(msg)
    return found


def declared(manifest: SuiteManifest, what: str) -> str | None:
    """Return the suite's name for a `duration` or `cost`: that, or with its unit added."""
    names = (each for each in manifest.quantities if f"{each}_".startswith(f"{what}_"))
    return next(names, None)
