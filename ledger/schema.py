"""The tables of `log.db`, statement by statement, and what keeps them append-only."""

_TABLES = """
CREATE TABLE entries(seq INTEGER PRIMARY KEY, received_at TEXT NOT NULL, author BLOB NOT NULL, sig BLOB NOT NULL, payload BLOB NOT NULL, leaf BLOB NOT NULL, event_id BLOB NOT NULL UNIQUE) STRICT
CREATE TABLE checkpoints(size INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT
CREATE TABLE cosignatures(size INTEGER NOT NULL, line TEXT NOT NULL, UNIQUE(size, line)) STRICT
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT
CREATE TABLE head(one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL, edge BLOB NOT NULL, note TEXT NOT NULL) STRICT
"""
_APPEND_ONLY = ("entries", "checkpoints", "cosignatures")
# Statements as SQLite keeps them, so that an audit can compare them to the letter.
SCHEMA = (
    *_TABLES.strip().splitlines(),
    *(
        f"CREATE TRIGGER {table}_refuse_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        for table in _APPEND_ONLY
        for verb in ("UPDATE", "DELETE")
    ),
)
