"""Makes a ledger out of drafts, as `ledger append` does: for history made elsewhere.

Everybody's keys are seeded by their names, and the clock stands long after the
history, so that the same drafts make the same log on every machine.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

from ledger import codec
from ledger.cli.app import run
from ledger.drafts import Drafts
from ledger.events import LedgerEvent, SuiteFrozen
from ledger.folder import Folder
from ledger.keys.roster import Principal, Role
from ledger.keys.signing import SignerKey, new_signer, sign_payload
from ledger.log import create, open_writer
from ledger.suite import CharterManifest
from ledger.writer import Submission, Writer

ORIGIN = "example.org/archive"
PEOPLE: dict[str, Role] = {
    "root": "root",
    "evaluator": "evaluator",
    "issuer": "issuer",
    "resolver": "resolver",
    "forecaster": "forecaster",
}
EVENTS_A_COMMIT = 5_000
OPENED = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def key_of(name: str) -> SignerKey:
    """Return the key that always goes by this name here."""
    return new_signer(name, sha256(name.encode()).digest())


class Archive:
    """One ledger in `home`, whose entry 1 is a suite written in TOML."""

    def __init__(self, home: Path, toml: str) -> None:
        self.folder = Folder(home / "ledger")
        self._state_home = home / "state"
        self._log_key = key_of(ORIGIN)
        self._keys = {name: key_of(name) for name in PEOPLE}
        self._now = OPENED
        files = {"suite.toml": toml.encode()}
        self._drafts = Drafts(self.folder.blobs.get, files.__getitem__)
        create(
            self.folder,
            self._signed(self._charter()),
            self._log_key,
            clock=self.clock,
            state_home=self._state_home,
        )
        frozen = {"type": "SuiteFrozen", "author": "evaluator", "file": "suite.toml"}
        self.append([frozen])

    def clock(self) -> datetime:
        """Tick: each reading is a millisecond after the last."""
        self._now += timedelta(milliseconds=1)
        return self._now

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Give the writer of the ledger."""
        with open_writer(
            self.folder, self._log_key, clock=self.clock, state_home=self._state_home
        ) as writer:
            yield writer

    def append(self, drafts: Iterable[Mapping[str, Any]]) -> int:
        """Complete, sign and append drafts in order; return how many there were."""
        count = 0
        with self.writer() as writer:
            for count, draft in enumerate(drafts, 1):
                event = self._drafts.event(draft, writer.state, self._now)
                writer.stage(self._signed(event))
                if count % EVENTS_A_COMMIT == 0:
                    writer.commit()
            writer.commit()
        return count

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as `ledger rows --json` prints them."""
        return self.printed("rows")

    def printed(self, *arguments: str) -> Any:
        """Return the JSON that a command prints about this ledger."""
        out = StringIO()
        with redirect_stdout(out), suppress(SystemExit):
            run([*arguments, "--json", "--ledger", str(self.folder.path)])
        return json.loads(out.getvalue())

    def _signed(self, event: LedgerEvent) -> Submission:
        payload, signer = codec.encode(event), self._keys[event.author]
        return Submission(
            payload=payload,
            author_key=signer.verifier.public,
            signature=sign_payload(payload, signer),
        )

    def _charter(self) -> SuiteFrozen:
        manifest = CharterManifest(
            origin=ORIGIN,
            log_keys=(str(self._log_key.verifier),),
            custody="shared",
            created_ahead_seconds=300,
            backdated_seconds=3600,
            clock_jump_seconds=60,
            principals=tuple(
                Principal(key=str(self._keys[name].verifier), name=name, role=role)
                for name, role in PEOPLE.items()
            ),
        )
        return SuiteFrozen(
            author="root", created_at=OPENED, suite="charter@v1", manifest=manifest
        )
