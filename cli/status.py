"""`ledger status` and `ledger checkpoint`: how far a ledger is."""

from base64 import b64encode
from typing import Any

from ledger.checkpoint import Checkpoint, parse_checkpoint, split_note
from ledger.cli import render
from ledger.cli.context import reading
from ledger.cli.options import Json, LedgerDir
from ledger.cli.standing import Standing, standing
from ledger.folder import Folder
from ledger.log import Reader


def status(*, ledger: LedgerDir = None, as_json: Json = False) -> None:
    """Tell how far the ledger is and what it holds.

    For example:
      ledger status --ledger demo
    """
    with reading(ledger) as (folder, reader):
        found = standing(reader)
        described = _described(folder, reader, found)
    if as_json:
        render.json_line(described)
    else:
        _print(described)


def checkpoint(*, ledger: LedgerDir = None, as_json: Json = False) -> None:
    """Print the newest signed checkpoint.

    Whoever keeps it can tell later that nothing before it was changed or removed.

    For example:
      ledger checkpoint --ledger demo > kept.note
      ledger verify --ledger demo --against kept.note
    """
    with reading(ledger) as (_, reader):
        note = reader.store.head().note
    if as_json:
        stated = _stated(note)
        render.json_line(
            {
                "origin": stated.origin,
                "size": stated.size,
                "root": b64encode(stated.root).decode(),
                "note": note,
            }
        )
    else:
        render.document(note.rstrip("\n"))


def _stated(note: str) -> Checkpoint:
    return parse_checkpoint(split_note(note)[0])


def _described(folder: Folder, reader: Reader, found: Standing) -> dict[str, object]:
    stated = _stated(reader.store.head().note)
    last = next(reader.store.rows(stated.size - 1, stated.size), None)
    return {
        "folder": str(folder.path),
        "ledger": reader.settings.ledger,
        "origin": stated.origin,
        "entries": stated.size,
        "root": b64encode(stated.root).decode(),
        "last_received_at": None if last is None else last.received_at,
        "charter": found.version,
        "custody": found.charter.custody,
        "principals": [
            {"name": each.name, "role": each.role} for each in found.charter.principals
        ],
        "suites": [
            {"suite": name, "in_force": not found.is_superseded(name)}
            for name in found.suites
        ],
        "projections": _projections(folder, stated.size),
    }


def _projections(folder: Folder, entries: int) -> dict[str, object]:
    """Return how far the tables are, which follow when rows are asked for."""
    reach = None
    if folder.projections.exists():
        from ledger.projections.reach import tables_reach

        reach = tables_reach(folder.projections)
    position = 0 if reach is None else reach[0]
    return {"position": position, "behind": max(0, entries - position)}


def _print(described: dict[str, Any]) -> None:
    people = [f"{each['name']} ({each['role']})" for each in described["principals"]]
    suites = [
        each["suite"] if each["in_force"] else f"{each['suite']} (superseded)"
        for each in described["suites"]
    ]
    tables = described["projections"]
    render.facts(
        [
            ("ledger", described["ledger"]),
            ("origin", described["origin"]),
            ("entries", described["entries"]),
            ("root", described["root"]),
            ("last received at", described["last_received_at"]),
            ("charter", f"{described['charter']}, custody {described['custody']}"),
            ("principals", "\n".join(people)),
            ("suites", "\n".join(suites) or None),
            ("tables", f"at entry {tables['position']}, {tables['behind']} to fold in"),
        ]
    )
