"""One audit in a process that has done nothing before, for `bench.py`.

    python tests/bench_audit.py LEDGER JOBS

Prints the seconds that it took, how many bare signatures a second were checked just
before and after, and the most memory that was held, in megabytes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nacl.bindings import crypto_sign_open

from ledger.clock import monotonic_seconds
from ledger.folder import Folder
from ledger.keys.signing import pae
from ledger.log import open_reader
from ledger.projections.audit import Options, verify_ledger

SAMPLE = 4_000


def main() -> None:
    """Print the three figures."""
    folder, jobs = Folder(Path(sys.argv[1])), int(sys.argv[2])
    with open_reader(folder) as reader:
        rows = reader.store.rows(1, 1 + SAMPLE)
        signed = [(row.sig + pae(row.payload), row.author) for row in rows]
    before = bare_seconds(signed)
    began = monotonic_seconds()
    report = verify_ledger(folder, Options(jobs=jobs))
    took = monotonic_seconds() - began
    assert report.exit_code == 0, report
    after = bare_seconds(signed)
    print(took, 2 * len(signed) / (before + after), peak_megabytes())


def bare_seconds(signed: list[tuple[bytes, bytes]]) -> float:
    """Return how long so many Ed25519 signatures take, and nothing else."""
    began = monotonic_seconds()
    for message, key in signed:
        crypto_sign_open(message, key)
    return monotonic_seconds() - began


def peak_megabytes() -> float:
    """Return the most memory that this process held, as Linux's /proc has it.

    `getrusage` counts what the process held that began this one.
    """
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


if __name__ == "__main__":
    main()
