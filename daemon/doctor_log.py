"""The log and what is made from it: head, index, projections, pinned files, anchor."""

from ledger.anchor import mark_path
from ledger.charters import log_keys_ever
from ledger.checkpoint import Checkpoint, open_checkpoint
from ledger.daemon.diagnosis import (
    Diagnosis,
    Problem,
    command,
    fail,
    ok,
    together,
    warn,
)
from ledger.daemon.patient import Patient, Readable
from ledger.durable import read_regular, require_disposable
from ledger.errors import (
    CorruptLogError,
    LedgerError,
    UncheckableError,
    UsageError,
)
from ledger.folder import FORMAT, SETTINGS_TEXT, Folder, Settings, settings_words
from ledger.index import index_position
from ledger.log import log_verifiers, root_at
from ledger.merkle import Tree
from ledger.store import legible

_BACKUP = "restore log.db from the newest backup (docs/operating.md)"


def log(patient: Patient) -> Diagnosis:
    """Tell whether the head, the entries and the newest checkpoint agree."""
    found, folder = patient.log, patient.folder
    if isinstance(found, UncheckableError) and folder.log.exists():
        remedy = "install the newest version of sealed-ledger, which may know it"
        return fail("log", str(found), remedy)
    if isinstance(found, LedgerError):
        return fail("log", str(found), _BACKUP)
    try:
        _require_signed(found)
        with legible():
            found.store.require_whole()
    except LedgerError as error:
        remedy = f"find the place with `{command('ledger', 'verify', '--ledger', folder.path)}`, then {_BACKUP}"
        return fail("log", str(error), remedy)
    wrong = _wrong_settings(folder, found)
    if wrong is not None:
        return fail("log", wrong, _settings_command(folder, found))
    return ok("log", f"{found.head.size} entries, as the newest signed checkpoint says")


def _require_signed(found: Readable) -> Checkpoint:
    """Return the head's checkpoint once it is the log's own and speaks of its tree."""
    charter, head = found.charter, found.head
    checkpoint = open_checkpoint(head.note, log_verifiers(charter), charter.origin)
    root = Tree(head.size, head.edge).root()
    if (checkpoint.size, checkpoint.root) != (head.size, root):
        msg = f"the newest checkpoint speaks of {checkpoint.size} entries under another root than the head's {head.size}"
        raise CorruptLogError(msg)
    return checkpoint


def _wrong_settings(folder: Folder, found: Readable) -> str | None:
    """Return how `ledger.toml` disagrees with the log; the log is right."""
    right = Settings(format=FORMAT, origin=found.charter.origin, ledger=found.ledger)
    try:
        if folder.settings() == right:
            return None
    except (UsageError, UncheckableError) as error:
        # The command itself stands beside this.
        return str(error).removesuffix(f": {folder.doctor_remedy()}")
    return f"{folder.settings_file} names another ledger than entry 0, {found.ledger}"


def _settings_command(folder: Folder, found: Readable) -> str:
    words = settings_words(found.charter.origin, found.ledger)
    text = SETTINGS_TEXT.replace("\n", "\\n")
    target = command("mv", folder.settings_file).removeprefix("mv ")
    return f"{command('printf', text, *words)} > {target}"


def index(patient: Patient, found: Readable) -> Diagnosis:
    """Tell whether the rules' memory of open units is that of this log."""
    path = patient.folder.index
    if not path.exists():
        return ok("index", "absent: the next writer makes it")
    remedy = command("rm", *sorted(path.parent.glob(f"{path.name}*")))
    try:
        require_disposable(path)
        position = index_position(path)
    except (UncheckableError, CorruptLogError) as error:
        return warn("index", f"{_why(error)}; it can be made again", remedy)
    if position is None:
        return ok("index", "of another version: the next writer makes it again")
    # Read after it: a log that is written to meanwhile is never behind.
    head = found.store.head()
    size = head.size
    if position[0] < size:
        return ok("index", f"at {position[0]} of {size}: the next writer catches up")
    if position != (size, Tree(size, head.edge).root()):
        detail = (
            f"it speaks of another log of {position[0]} entries than this of {size}"
        )
        return warn("index", detail, remedy)
    return ok("index", f"at the head, {size}")


def projections(patient: Patient, found: Readable) -> Diagnosis:
    """Tell how far the tables are; they are caught up or made again when read."""
    path = patient.folder.projections
    if not path.exists():
        return ok("projections", "absent: made when rows are read")
    # What makes the tables is not needed to say how far they are.
    from ledger.projections.reach import tables_reach

    remedy = command("rm", *sorted(path.parent.glob(f"{path.name}*")))
    try:
        reach = tables_reach(path)
    except (UncheckableError, CorruptLogError) as error:
        return warn("projections", f"{_why(error)}; they can be made again", remedy)
    if reach is None:
        return ok("projections", "of another version: made again when rows are read")
    folded, event_id = reach
    size = found.store.count()  # read after them, as of the index
    if folded > size or (folded and _event_id(found, folded - 1) != event_id):
        detail = f"they are of another log, of {folded} entries"
        return warn("projections", f"{detail}; they can be made again", remedy)
    if folded < size:
        detail = f"at {folded} of {size}: caught up when rows are read"
        return ok("projections", detail)
    return ok("projections", f"at the head, {size}")


def _why(error: UncheckableError | CorruptLogError) -> str:
    return error.reason if isinstance(error, CorruptLogError) else str(error)


def _event_id(found: Readable, seq: int) -> str:
    return next(found.store.rows(seq, seq + 1)).event_id.hex()


def blobs(patient: Patient, found: Readable) -> Diagnosis:
    """Tell whether every file that a frozen suite pins is there and unchanged."""
    folder = patient.folder
    problems, count = [], 0
    for suite in found.suites:
        lists = {template.questions for template in suite.templates}
        for name, digest in suite.pins.items():
            count += 1
            if folder.blobs.get(digest) is not None:
                continue
            path = folder.path / "blobs" / digest
            how = "was changed" if path.exists() else "is missing"
            problems.append(
                Problem(
                    detail=f"{name}, pinned by {suite.suite}, {how}",
                    remedy=f"put the file whose SHA-256 that is at {path}",
                    status="fail" if name in lists or path.exists() else "warn",
                )
            )
    return together("blobs", problems, f"{count} pinned files, unchanged")


def anchor(patient: Patient, found: Readable) -> Diagnosis:
    """Tell whether the log still has all that this machine remembers of it."""
    folder = patient.folder
    path = mark_path(patient.around.state_home, found.ledger)
    try:
        note = read_regular(path).decode()
        keys = log_keys_ever(found.charters)
        remembered = open_checkpoint(note, keys, found.charter.origin)
    except (FileNotFoundError, NotADirectoryError):
        remedy = "the next commit writes one; until then compare the log with a checkpoint that was kept elsewhere: `ledger verify --against FILE`"
        detail = f"no high-water mark at {path}: an older copy would not be noticed"
        return warn("anchor", detail, remedy)
    except (OSError, UnicodeDecodeError, CorruptLogError) as error:
        remedy = f"compare the log with a checkpoint that was kept elsewhere (`ledger verify --against FILE`), then remove {path}"
        return fail("anchor", f"the high-water mark {path} is unfit: {error}", remedy)
    head = found.store.head()  # read after the mark, as of the index
    size = head.size
    if remembered.size > size and found.charter.continues != note:
        detail = f"this machine remembers {remembered.size} entries, and the log has {size}: an older copy was restored. Restore the newest copy if there is one; else go on with the gap in sight"
        remedy = command("ledger", "keys", "continue", "--ledger", folder.path)
        return fail("anchor", detail, remedy)
    # Where the charter says that the log goes on from an older copy, it is shorter.
    is_within = remembered.size <= size
    if is_within and remembered.root != root_at(found.store, head, remembered.size):
        detail = f"this machine remembers another log of {remembered.size} entries"
        return fail("anchor", detail, _BACKUP)
    return ok("anchor", f"this machine remembers {remembered.size} of {size} entries")
