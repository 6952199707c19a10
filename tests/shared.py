"""Where the seeds and the real data lie: beside the repository, or nowhere."""

from pathlib import Path

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
