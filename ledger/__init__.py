"""The log and its rules: four signed events, their bytes, and one door in.

    errors -> clock, ids -> events, suite -> codec -> entry, merkle, checkpoint
           -> state, rules -> replay -> store -> log

`log` is the public face. Nothing in this room computes a score, and nothing
but `store`, `blobs` and `anchor` touches the disk.
"""

__version__ = "0.1.0"
