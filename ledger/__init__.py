"""The log and its rules: four signed events, their bytes, and one door in.

    errors, clock, ids, grammar, canonical   words that all others use
    suite*, events, spelling, codec          what can be said, and its one spelling
    entry, merkle, checkpoint                the bytes that the log commits to
    unit, state, rules*                      what may follow, and why not
    store, index, blobs, anchor, durable     the disk
    replay, writer, log                      one path in; `log` is the public face

Nothing in this room computes a score.
"""

__version__ = "0.1.0"
