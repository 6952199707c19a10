"""Publishes bundles of a workshop's ledger, and changes them as a forger would."""

import json
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

from ledger.canonical import encode
from ledger.ids import sha256_hex
from ledger.keys.signing import SignerKey, pae_of
from ledger.projections.audit_bundle import check_bundle
from ledger.projections.audit_report import Check
from ledger.projections.bundle import MANIFEST, ROWS, SIGNATURES
from ledger.projections.bundle_signatures import BUNDLE_TYPE
from ledger.projections.export import Written, write_bundle
from ledger.store_opening import open_store
from tests.workshop import Workshop


def publish(workshop: Workshop, target: Path, **options: Any) -> Written:
    """Write a bundle of the present head, signed by the evaluator unless told."""
    options = {"signers": [workshop.keys["evaluator"]], **options}
    options.setdefault("keep", lambda _size, _note: None)
    with closing(open_store(workshop.folder.log, read_only=True)) as store:
        return write_bundle(target, store, blobs=workshop.folder.blobs.get, **options)


def audited(workshop: Workshop, bundle: Path) -> Check:
    """Judge a bundle by a workshop's log."""
    with closing(open_store(workshop.folder.log, read_only=True)) as store:
        return check_bundle(bundle, store, workshop.folder.blobs.get)


class Copy:
    """A copy of a bundle that somebody changes."""

    def __init__(self, bundle: Path, target: Path) -> None:
        self.path = copytree(bundle, target)

    def manifest(self) -> Any:
        return json.loads((self.path / MANIFEST).read_bytes())

    def rows(self) -> list[Any]:
        lines = (self.path / ROWS).read_bytes().splitlines()
        return [json.loads(line) for line in lines]

    def write_rows(self, rows: list[Any]) -> None:
        """Write other rows, and nothing else."""
        lines = [encode(row) + b"\n" for row in rows]
        (self.path / ROWS).write_bytes(b"".join(lines))

    def state(self, change: Callable[[Any], None]) -> None:
        """Write another manifest, and nothing else."""
        manifest = self.manifest()
        change(manifest)
        (self.path / MANIFEST).write_bytes(encode(manifest))

    def fix_hashes(self) -> None:
        """Let the manifest state the hashes that the files have now."""

        def fix(manifest: Any) -> None:
            manifest["files"] = {
                name: sha256_hex((self.path / name).read_bytes())
                for name in manifest["files"]
            }
            rows = (self.path / ROWS).read_bytes().splitlines()
            hashes = [sha256_hex(row) for row in rows]
            manifest["rows"] = {"count": len(rows), "sha256": hashes}

        self.state(fix)

    def sign(self, *signers: SignerKey, over: bytes | None = None) -> None:
        """Put signatures over the manifest, or over other bytes, in their place."""
        content = (self.path / MANIFEST).read_bytes()
        message = pae_of(BUNDLE_TYPE, content if over is None else over)
        envelope = {
            "payload": b64encode(content).decode(),
            "payloadType": BUNDLE_TYPE,
            "signatures": [
                {
                    "keyid": str(signer.verifier),
                    "sig": b64encode(signer.sign(message)).decode(),
                }
                for signer in signers
            ],
        }
        (self.path / SIGNATURES).write_bytes(encode(envelope))
