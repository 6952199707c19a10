"""Who may sign, over time: rotations, thefts, restores; position in the log decides."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.charters import compromised_keys, gaps, key_at
from ledger.checkpoint import parse_checkpoint, split_note
from ledger.errors import RefusedError, UsageError
from ledger.events import SuiteFrozen
from ledger.folder import Folder
from ledger.keys.keyfile import read_key, write_key
from ledger.keys.signing import SignerKey, VerifierKey
from ledger.log import open_reader, open_writer
from ledger.projections.audit import verify_ledger
from ledger.projections.audit_log import Options
from ledger.suite import CharterManifest
from ledger.writer import Writer
from tests.console import Console
from tests.court import Court, hours, manifest
from tests.simulator import History, suite
from tests.simulator import key_of as simulated_key
from tests.workshop import Workshop, key_of

# --- What the rules say --------------------------------------------------------------


def with_key(court: Court, name: str, seed: str) -> dict[str, Any]:
    """Return a charter's principals, one of them with the key of another seed."""
    now = court.state.charter
    assert now is not None
    key = str(VerifierKey(name=name, public=key_of(seed).verifier.public))
    return {
        "principals": tuple(
            msgspec.structs.replace(each, key=key) if each.name == name else each
            for each in now.principals
        )
    }


def test_a_rotated_forecaster_goes_on_with_its_chains() -> None:
    court = Court()
    question = court.question()
    court.hear(court.pending(question))
    first = court.hear(court.seal(question))
    court.hear(court.charter(2, **with_key(court, "forecaster", "fresh")))

    with pytest.raises(RefusedError, match="bad-signature"):
        court.hear(court.update(question, first))
    second = court.hear(court.update(question, first), key="fresh")
    court.hear(court.charter(3, **with_key(court, "forecaster", "fresher")))
    court.hear(court.update(question, second), key="fresher")


def test_a_rotated_resolver_amends_what_it_said_under_the_old_key() -> None:
    court = Court()
    question = court.question()
    pending = court.hear(court.pending(question))
    said = court.hear(court.resolve(question, supersedes=pending))
    court.hear(court.charter(2, **with_key(court, "resolver", "fresh")))

    amended = court.resolve(question, outcome="fail", supersedes=said)
    with pytest.raises(RefusedError, match="bad-signature"):
        court.hear(amended)
    court.hear(amended, key="fresh")


def test_a_root_that_was_rotated_signs_the_next_charter_with_the_new_key() -> None:
    court = Court()
    court.hear(court.charter(2, **with_key(court, "root", "fresh")))

    with pytest.raises(RefusedError, match="bad-signature"):
        court.hear(court.charter(3, **with_key(court, "root", "fresh")))
    court.hear(court.charter(3, **with_key(court, "root", "fresh")), key="fresh")


def test_a_revoked_principal_signs_nothing_more() -> None:
    court = Court()
    question = court.question()
    court.hear(court.pending(question))
    seal = court.hear(court.seal(question))
    people = {"root": "root", "evaluator": "evaluator", "issuer": "issuer"}
    court.hear(court.charter(2, people=people))

    for event in (
        court.update(question, seal),
        court.resolve(question, supersedes=court.standing(question)),
    ):
        with pytest.raises(RefusedError, match="unknown-author"):
            court.hear(event)


def test_a_superseded_suite_runs_out_beside_the_next_version() -> None:
    court = Court()
    old = court.question()
    pending = court.hear(court.pending(old))
    first = court.hear(court.seal(old))
    court.hear(court.frozen(manifest(2), supersedes="court@v1"))
    new = court.question(id="d-2")
    in_second: dict[str, Any] = {"suite": "court@v2"}

    with pytest.raises(RefusedError, match="superseded-suite"):
        court.hear(court.pending(new))
    court.hear(court.pending(new, **in_second))
    court.hear(court.update(old, first))
    court.hear(court.seal(old, author="rival", forecaster="rival"))
    court.hear(court.resolve(old, supersedes=pending))
    # One instance may be asked in both versions: they are two units.
    court.hear(court.pending(old, **in_second))


def test_only_the_owner_of_a_version_freezes_the_next() -> None:
    court = Court()
    second = manifest(2, owner="examiner")
    with pytest.raises(RefusedError, match="not-the-owner"):
        court.hear(court.frozen(second, supersedes="court@v1", author="examiner"))
    court.hear(court.frozen(second, supersedes="court@v1"))
    third = manifest(3)
    with pytest.raises(RefusedError, match="not-the-owner"):
        court.hear(court.frozen(third, supersedes="court@v2"))
    court.hear(court.frozen(third, supersedes="court@v2", author="examiner"))


def test_a_charter_s_limits_hold_from_its_own_position_on() -> None:
    court = Court()
    question = court.question()
    court.hear(court.pending(question))
    court.hear(court.seal(question, created_at=hours(0.08)))
    court.hear(court.charter(2, created_ahead_seconds=0))

    update = court.update(question, "0" * 64, created_at=hours(0.08))
    with pytest.raises(RefusedError, match="created-ahead"):
        court.hear(update)


# --- A stolen key ---------------------------------------------------------------------


def stolen(history: History, number: int, since: int, **changes: Any) -> str:
    """Rotate the forecaster to its next key, the last one compromised."""
    changes = {"keys": {"forecaster": f"forecaster#{number}"}, **changes}
    said = {"compromised_since": {"forecaster": since}}
    return history.add(history.charter(number, **{**said, **changes}))


def test_what_a_stolen_key_signed_is_flagged_and_never_scored() -> None:
    history = History()
    ours, theirs, after = (history.question(f"d-{number}") for number in (1, 2, 3))
    own = history.size()
    history.seal(ours)
    thief = history.size()
    history.seal(theirs)
    stolen(history, 2, thief)
    history.seal(after, key="forecaster#2")
    for question in (ours, theirs, after):
        history.resolve(question)

    rows = history.folded().connection.execute(
        "SELECT seq, eligible, reason, brier_sum IS NOT NULL FROM forecasts "
        "ORDER BY seq"
    )
    assert list(rows) == [
        (own, 1, None, 1),
        (thief, 0, "compromised-key", 0),
        (thief + 2, 1, None, 1),
    ]
    assert findings(history) == [(thief, "compromised-key")]


def findings(history: History) -> list[tuple[int, str]]:
    rows = history.folded().connection.execute(
        "SELECT seq, rule FROM findings WHERE rule = 'compromised-key' ORDER BY seq"
    )
    return list(rows)


def test_a_theft_that_is_found_late_concerns_the_key_of_that_time() -> None:
    history = History()
    seqs = []
    for number in (1, 2, 3):
        seqs.append(history.size())
        history.seal(
            history.question(f"d-{number}"),
            key="forecaster" if number == 1 else f"forecaster#{number}",
        )
        keys = {"forecaster": f"forecaster#{number + 1}"}
        history.add(history.charter(number + 1, keys=keys))

    said = {"compromised_since": {"forecaster": seqs[1]}}
    keys = {"forecaster": "forecaster#4"}
    history.add(history.charter(5, keys=keys, **said))
    assert findings(history) == [(seqs[1], "compromised-key")]


def test_an_outcome_by_a_stolen_key_does_not_stand() -> None:
    history = History()
    question = history.question()
    history.seal(question)
    forged = history.size()
    history.resolve(question, "fail")
    history.add(
        history.charter(
            2,
            keys={"resolver": "resolver#2"},
            compromised_since={"resolver": forged},
        )
    )
    history.resolve(question, "pass", key="resolver#2")

    connection = history.folded().connection
    counts = connection.execute("SELECT outcome, counts FROM resolutions ORDER BY seq")
    assert list(counts) == [("fail", 0), ("pass", 1)]
    assert findings(history) == [(forged, "compromised-key")]


def test_two_keys_of_one_name_may_be_compromised() -> None:
    first, second = (
        simulated_key(name).verifier.public for name in ("forecaster", "forecaster#2")
    )
    history = History()
    stolen(history, 2, 1)
    stolen(history, 3, 3)

    charters = history.state.charters
    assert compromised_keys(charters) == {first: 1, second: 3}
    by = [key_at(charters, "forecaster", seq) for seq in (0, 1, 2, 3)]
    assert by == [first, first, first, second]
    # What is said once more means what it meant before.
    third = history.charter(
        4, keys={"forecaster": "forecaster#3"}, compromised_since={"forecaster": 3}
    )
    history.add(third)
    assert compromised_keys(history.state.charters) == {first: 1, second: 3}
    assert key_at(charters, "nobody", 3) is None
    assert key_at([], "forecaster", 0) is None


def test_a_theft_found_later_changes_what_was_folded_before() -> None:
    history = History(suite())
    seq = history.size()
    history.seal(history.question())
    before = history.until(history.size()).folded()
    reason = "SELECT reason FROM forecasts"
    assert before.connection.execute(reason).fetchone() == (None,)

    stolen(history, 2, seq)
    after = history.folded().connection.execute(reason).fetchone()
    assert after == ("compromised-key",)


# --- The log on disk --------------------------------------------------------------------


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path).found()


def next_charter(writer: Writer, workshop: Workshop, **changes: Any) -> SuiteFrozen:
    """Return the charter in force with changes, as its root would freeze it."""
    now = writer.state.charter
    assert now is not None
    number = writer.state.charter_version
    return SuiteFrozen(
        author="root",
        created_at=workshop.clock(),
        ledger=workshop.ledger,
        suite=f"charter@v{number + 1}",
        supersedes=f"charter@v{number}",
        manifest=msgspec.structs.replace(now, **{"continues": None, **changes}),
    )


def rotated(charter: CharterManifest, name: str, key: SignerKey) -> dict[str, Any]:
    public = str(VerifierKey(name=name, public=key.verifier.public))
    return {
        "principals": tuple(
            msgspec.structs.replace(each, key=public) if each.name == name else each
            for each in charter.principals
        )
    }


def test_what_the_old_key_signed_stays_valid_when_the_log_is_replayed(
    workshop: Workshop,
) -> None:
    history = list(workshop.history(1))
    fresh = key_of("fresh")
    with workshop.writer() as writer:
        writer.append(history[:2])
        changes = rotated(workshop.charter(), "forecaster", fresh)
        charter = next_charter(writer, workshop, **changes)
        writer.append([workshop.signed(charter)])
        # Signed before the rotation, submitted after it.
        [late] = writer.append([history[2]])
        [again] = writer.append([history[1]])
    assert isinstance(late, RefusedError)
    assert late.code == "bad-signature"
    assert not isinstance(again, RefusedError)
    assert again.seq == 3

    workshop.folder.index.unlink()
    with workshop.writer() as writer:
        assert writer.size == 5
    report = verify_ledger(workshop.folder, Options())
    assert {
        c.name: c.ok for c in report.checks if c.name in ("rules", "signatures")
    } == {
        "rules": True,
        "signatures": True,
    }


def test_a_charter_without_the_key_that_writes_is_refused(workshop: Workshop) -> None:
    fresh = str(
        VerifierKey(name=workshop.log_key.name, public=key_of("fresh").verifier.public)
    )
    own = str(workshop.log_key.verifier)
    with workshop.writer() as writer:
        dropped = next_charter(writer, workshop, log_keys=(fresh,))
        [refused] = writer.append([workshop.signed(dropped)])
        assert isinstance(refused, RefusedError)
        assert refused.code == "log-key-dropped"
        both = next_charter(writer, workshop, log_keys=(fresh, own))
        [receipt] = writer.append([workshop.signed(both)])
        assert not isinstance(receipt, RefusedError)


@contextmanager
def restored(workshop: Workshop) -> Iterator[Writer]:
    """Give the writer of a log whose last four entries a restore has lost."""
    backup = workshop.folder.log.read_bytes()
    workshop.fill(1)
    workshop.folder.log.write_bytes(backup)
    with workshop.writer() as writer:
        yield writer


def test_after_a_restore_only_a_charter_that_says_so_is_let_in(
    workshop: Workshop,
) -> None:
    with restored(workshop) as writer:
        plain = next_charter(writer, workshop)
        [refused] = writer.append([workshop.signed(plain)])
        assert isinstance(refused, RefusedError)
        assert refused.code == "behind-mark"
        assert "ledger keys continue" in refused.message
        says_so = next_charter(writer, workshop, continues=writer.behind)
        history = list(workshop.history(1, first=7))
        answers = writer.append([workshop.signed(says_so), *history])

    assert [answer for answer in answers if isinstance(answer, RefusedError)] == []
    [gap] = gaps(writer.state.charters)
    assert (gap.seq, gap.size) == (2, 6)
    assert "entries 2 to 5" in str(gap)
    with workshop.writer() as writer:
        assert writer.behind is None


def test_a_continuation_that_was_abandoned_opens_nothing(workshop: Workshop) -> None:
    with restored(workshop) as writer:
        says_so = next_charter(writer, workshop, continues=writer.behind)
        writer.stage(workshop.signed(says_so))
        writer.abandon()
        with pytest.raises(RefusedError, match="behind-mark"):
            writer.stage(next(workshop.history(1, first=7)))


def test_a_mark_that_a_crash_left_behind_a_continuation_needs_no_second(
    workshop: Workshop,
) -> None:
    with restored(workshop) as writer:
        assert writer.mark is not None
        remembered = writer.behind
        says_so = next_charter(writer, workshop, continues=remembered)
        writer.append([workshop.signed(says_so)])
    assert remembered is not None
    writer.mark.raise_to(remembered)
    writer.mark.flush()
    with workshop.writer() as writer:
        [answer] = writer.append([next(workshop.history(1, first=7))])
    assert not isinstance(answer, RefusedError)


# --- By commands --------------------------------------------------------------------------


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path).found().frozen()


def keys_of(console: Console) -> dict[str, dict[str, Any]]:
    return {
        each["name"]: each for each in console.here("keys", "list", "--json").objects
    }


def files_of(console: Console) -> set[str]:
    return {path.name for path in Folder(console.ledger).keys.iterdir()}


def done(console: Console, *words: object) -> Any:
    """Run a command of `ledger keys`; return what it says as JSON."""
    shown = console.here("keys", *words, "--json")
    assert shown.code == 0, shown.stdout + shown.stderr
    return shown.object


def refused(console: Console, *words: object) -> str:
    """Run a command of `ledger keys` that is refused; return the sentence."""
    before = console.here("log", "--json").stdout
    files = files_of(console)
    shown = console.here("keys", *words)
    assert shown.code == 2, shown.stdout
    assert console.here("log", "--json").stdout == before
    assert files_of(console) == files
    return shown.stderr


def verified(console: Console, **anchors: Any) -> dict[str, bool | None]:
    options = Options(state_home=console.home / "state", **anchors)
    report = verify_ledger(Folder(console.ledger), options)
    return {check.name: check.ok for check in report.checks}


def test_somebody_new_may_sign_once_a_charter_lists_them(console: Console) -> None:
    rival = key_of("rival")
    said = done(console, "add", f"forecaster:rival:{rival.verifier}")

    assert said["charter"] == "charter@v2"
    assert said["changed"] == [
        {"what": "forecaster rival", "was": None, "now": str(rival.verifier)}
    ]
    assert keys_of(console)["rival"]["role"] == "forecaster"
    assert "rival.key" not in files_of(console)


def test_where_custody_is_shared_a_newcomer_s_key_is_made(console: Console) -> None:
    done(console, "add", "resolver:reviewer")

    assert keys_of(console)["reviewer"]["private_key_at_hand"] is True
    assert files_of(console) >= {"reviewer.key", "resolver.key"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    {
        "a role that there is not": (("add", "judge:eve"), "is not ROLE:NAME"),
        "somebody who is listed": (
            ("add", "resolver:resolver"),
            "lists resolver already",
        ),
        "a key under another name": (
            ("add", f"forecaster:rival:{key_of('other').verifier}"),
            "named other",
        ),
        "a stranger to rotate": (("rotate", "resolvr"), "did you mean resolver?"),
        "a stranger to revoke": (("revoke", "nobody"), "lists no nobody"),
        "another's key": (
            ("rotate", "resolver", "--key", str(key_of("other").verifier)),
            "named other",
        ),
        "the last root": (("revoke", "root"), "lists no root"),
        "a theft that is yet to come": (
            ("rotate", "forecaster", "--compromised-since", "3"),
            "compromised-ahead",
        ),
        "a theft from nobody": (
            ("revoke", "nobody", "--compromised-since", "120"),
            "lists no nobody",
        ),
        "nothing to continue": (("continue",), "nothing was lost"),
    }.values(),
)
def test_what_a_charter_cannot_say_is_refused_and_leaves_no_file(
    console: Console, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused(console, *words)


def test_a_rotation_keeps_the_old_key_where_no_command_reads_it(
    console: Console,
) -> None:
    keys = Folder(console.ledger).keys
    old = (keys / "forecaster.key").read_bytes()
    said = done(console, "rotate", "forecaster")

    kept = keys / "forecaster.key.until-charter-v2"
    assert kept.read_bytes() == old
    assert kept.stat().st_mode & 0o777 == 0o600
    [change] = said["changed"]
    assert change["was"] == str(read_key(kept).verifier)
    assert change["now"] == str(read_key(keys / "forecaster.key").verifier)
    assert keys_of(console)["forecaster"]["private_key_at_hand"] is True


def test_a_key_that_is_held_elsewhere_is_rotated_by_its_public_form(
    console: Console,
) -> None:
    elsewhere = key_of("forecaster")
    (Folder(console.ledger).keys / "forecaster.key").unlink()
    assert "does not hold the key of forecaster" in refused(
        console, "rotate", "forecaster"
    )
    done(console, "rotate", "forecaster", "--key", elsewhere.verifier)

    assert keys_of(console)["forecaster"]["key"] == str(elsewhere.verifier)


def test_a_rotation_that_was_interrupted_is_finished_by_the_same_command(
    console: Console,
) -> None:
    keys = Folder(console.ledger).keys
    old = (keys / "resolver.key").read_bytes()
    done(console, "rotate", "resolver")
    new = (keys / "resolver.key").read_bytes()
    # The charter is in force, and the files were not yet exchanged.
    for content, name in ((old, "resolver.key"), (new, "resolver.key.next")):
        (keys / name).write_bytes(content)
        (keys / name).chmod(0o600)
    (keys / "resolver.key.until-charter-v2").unlink()

    shown = console.here("keys", "rotate", "resolver")
    assert shown.code == 0
    assert "gave resolver its new key before" in shown.stderr
    assert (keys / "resolver.key").read_bytes() == new
    assert (keys / "resolver.key.until-charter-v2").read_bytes() == old
    assert len(console.here("log", "--json").objects) == 3


def test_a_root_may_be_offline(console: Console, tmp_path: Path) -> None:
    keys = Folder(console.ledger).keys
    offline = tmp_path / "root.key"
    (keys / "root.key").rename(offline)
    assert "--root-key FILE" in refused(console, "rotate", "resolver")

    done(console, "rotate", "resolver", "--root-key", offline)
    stranger = tmp_path / "stranger.key"
    write_key(stranger, key_of("stranger"))
    assert "unknown-author" in refused(
        console, "rotate", "resolver", "--root-key", stranger
    )
    evaluator = keys / "evaluator.key"
    assert "wrong-role" in refused(
        console, "rotate", "resolver", "--root-key", evaluator
    )


def test_a_revocation_says_what_nobody_can_do_any_more(console: Console) -> None:
    said = {
        name: console.here("keys", "revoke", name).stderr
        for name in ("forecaster", "resolver", "issuer", "evaluator")
    }

    assert "take no update" in said["forecaster"]
    assert "nobody may resolve piper-self@v1" in said["resolver"]
    assert "Nobody is left to open questions" in said["issuer"]
    assert "could freeze the next version of piper-self@v1" in said["evaluator"]
    assert files_of(console) == {"root.key"} | {
        f"{name}.key.until-charter-v{number}"
        for number, name in enumerate(said, start=2)
    }
    assert "name-reused" in refused(console, "add", "resolver:resolver")


def test_a_theft_says_how_many_entries_it_concerns(console: Console) -> None:
    shown = console.here("keys", "rotate", "evaluator", "--compromised-since", "1")
    assert re.search(r"1 entry that evaluator\S+ signed from entry 1 on", shown.stderr)
    # At entry 2, that charter itself, the name still signed by its first key.
    words = ("revoke", "evaluator", "--compromised-since")
    assert "compromised-cleared" in refused(console, *words, "2")

    later = console.here("keys", *words, "3")
    assert later.code == 0, later.stderr
    assert re.search(
        r"0 entries that evaluator\S+ signed from entry 3 on", later.stderr
    )


def test_a_revoked_key_may_be_called_stolen_later(console: Console) -> None:
    done(console, "revoke", "forecaster")
    said = done(console, "revoke", "forecaster", "--compromised-since", "1")

    assert said["changed"] == [
        {"what": "forecaster compromised since entry", "was": None, "now": "1"}
    ]


def test_the_log_s_own_key_is_rotated_and_every_checkpoint_still_holds(
    console: Console,
) -> None:
    folder = Folder(console.ledger)
    old, genesis = read_key(folder.log_key), folder.settings().ledger
    kept = console.here("checkpoint").stdout
    said = done(console, "rotate-log")
    new = read_key(folder.log_key)

    assert old.verifier != new.verifier
    assert [(each["was"], each["now"]) for each in said["changed"]] == [
        (None, str(new.verifier)),
        (str(old.verifier), None),
    ]
    held = verified(console, against=kept, genesis=genesis, key=new.verifier)
    assert {name for name, ok in held.items() if ok is False} == set()
    assert verified(console, key=old.verifier)["key"] is False
    with pytest.raises(UsageError, match="does not list"):
        open_writer(
            folder, old, clock=Workshop.clock, state_home=console.home / "state"
        )
    assert read_key(folder.path / "log.key.until-charter-v2") == old


def test_a_log_key_whose_rotation_was_interrupted_is_rotated_by_the_same_command(
    console: Console,
) -> None:
    folder = Folder(console.ledger)
    waiting = folder.path / "log.key.next"
    write_key(waiting, SignerKey(name="example.org/test", seed=key_of("x").seed))
    expected = read_key(waiting)
    done(console, "rotate-log")

    assert read_key(folder.log_key) == expected
    assert not waiting.exists()


def test_a_restored_copy_goes_on_with_its_gap_in_sight(
    console: Console, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(console.ledger, older)
    done(console, "rotate", "resolver")
    kept = console.here("checkpoint").stdout
    shutil.rmtree(console.ledger)
    shutil.copytree(older, console.ledger)
    assert verified(console)["local-mark"] is False
    assert "behind-mark" in refused(console, "rotate", "resolver")

    shown = console.here("keys", "continue")
    assert shown.code == 0, shown.stderr
    assert "what stood at entry 2 before is lost" in shown.stderr
    last = console.here("log", "--json").objects[-1]
    assert last["payload"]["manifest"]["continues"] == kept
    held = verified(console)
    assert {name for name, ok in held.items() if ok is False} == set()
    # Whoever kept a checkpoint of what was lost is told.
    done(console, "rotate", "resolver")
    assert verified(console, against=kept)["against"] is False
    # What was continued once is not said again.
    last = console.here("log", "--json").objects[-1]
    assert "continues" not in last["payload"]["manifest"]


def test_a_restored_copy_on_another_machine_goes_on_from_a_kept_checkpoint(
    console: Console, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(console.ledger, older)
    done(console, "rotate", "resolver")
    kept = tmp_path / "kept.note"
    kept.write_text(console.here("checkpoint").stdout)
    elsewhere = Console(tmp_path / "elsewhere")
    elsewhere.home.mkdir()
    shutil.copytree(older, elsewhere.ledger)

    done(elsewhere, "continue", "--checkpoint", kept)
    with open_reader(Folder(elsewhere.ledger)) as reader:
        [*_, last] = reader.events.read(0, 3)
    assert isinstance(last.event, SuiteFrozen)
    assert isinstance(last.event.manifest, CharterManifest)
    assert last.event.manifest.continues == kept.read_text()
    assert parse_checkpoint(split_note(kept.read_text())[0]).size == 3


def test_a_backup_as_the_page_says_is_restored_as_it_says(
    console: Console, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "operating.md").read_text("utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    copying = "\n".join(
        line for line in block.splitlines() if "ledger check" not in line
    )
    (tmp_path / "demo").symlink_to(console.ledger)
    subprocess.run(["sh", "-ec", copying], cwd=tmp_path, check=True)
    kept = console.here("checkpoint").stdout
    folder = Folder(console.ledger)
    keys, log_key = tmp_path / "keys", tmp_path / "log.key"
    folder.keys.rename(keys)
    folder.log_key.rename(log_key)
    shutil.rmtree(console.ledger)

    shutil.copytree(tmp_path / "backup", console.ledger)
    keys.rename(folder.keys)
    log_key.rename(folder.log_key)
    assert verified(console, against=kept)["against"] is True
    assert console.here("doctor").code == 0
    done(console, "rotate", "resolver")


def test_where_custody_is_separate_no_newcomer_s_key_is_made(tmp_path: Path) -> None:
    people = [
        f"{role}:{role}:{key_of(role).verifier}"
        for role in ("evaluator", "issuer", "resolver", "forecaster")
    ]
    console = Console(tmp_path).found(*people)

    assert "custody is separate" in refused(console, "add", "forecaster:rival")
    done(console, "add", f"forecaster:rival:{key_of('rival').verifier}")
