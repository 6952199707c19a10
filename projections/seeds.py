"""The root seed of a suite: what every interval and permutation of it is drawn from.

It is fixed with the suite, before any outcome exists: otherwise whoever computes rows
could try seeds until one flatters (METRICS §0.8).
"""

from hashlib import sha256

import msgspec

from ledger.canonical import encode
from ledger.suite import SuiteManifest

# The manifest's own words for: derive it from the manifest.
DERIVED = "manifest"


def root_seed(manifest: SuiteManifest) -> bytes:
    """Return the 32 bytes that `statistics.root_seed` stands for.

    They are stated there in hexadecimal, or are the SHA-256 of the manifest's canonical
    JSON without that key: a manifest cannot hold its own hash.
    """
    stated = manifest.statistics.root_seed
    if stated != DERIVED:
        return bytes.fromhex(stated)
    content = msgspec.json.decode(encode(manifest))
    del content["statistics"]["root_seed"]
    return sha256(encode(content)).digest()
