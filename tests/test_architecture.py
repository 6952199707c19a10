"""The house style of the source, as tests: layers, homes, sizes, and what is banned.

Each test gathers all offences, so that one run names every place to look at.
"""

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from statistics import median

import pytest

from tests.source_tree import (
    FOLDERS,
    REPOSITORY,
    Module,
    Use,
    functions,
    imports,
    length,
    product_modules,
    uses,
)

MODULES = product_modules()
NAMES = frozenset(module.name for module in MODULES)

# From the ground up. A module imports only from what stands before it; one that is
# missing here has no place in the house yet.
GROUND_FLOOR = {
    "words": ("errors", "clock", "collecting", "ids", "grammar", "canonical", "unseen"),
    "files": ("durable",),
    "keys": ("keys.signing", "keys.keyfile", "keys.roster"),
    "manifests": ("suite_grammar", "suite"),
    "bytes": ("events", "spelling", "codec", "entry", "merkle", "checkpoint"),
    "manifests judged": (
        "suite_table",
        "suite_words",
        "suite_view",
        "suite_shape",
        "suite_bounds",
        "suite_rules_baseline",
        "suite_rules_competitor",
        "suite_rules_template",
        "suite_check",
        "suite_verdicts",
        "suite_warnings",
        "suite_template",
    ),
    "rules": (
        "charters",
        "unit",
        "state",
        "rules_question",
        "rules_forecast",
        "rules_resolution",
        "rules_frozen",
        "rules",
    ),
    "disk": (
        "stopping",
        "blobs",
        "anchor",
        "clock_watch",
        "folder",
        "index",
        "schema",
        "store",
        "store_opening",
    ),
    "the log": (
        "replay",
        "writer",
        "shielding",
        "signatures",
        "envelope",
        "checkpoint_past",
        "log",
    ),
    "drafts": ("draft_vector", "draft_fields", "draft_suite", "drafts", "draft_alone"),
}
FLOORS = [f"ledger.{name}" for floor in GROUND_FLOOR.values() for name in floor]
# Above it, rooms: modules of one room may know each other, but not in a circle.
UPPER_ROOMS = ("ledger.projections", "ledger.daemon", "ledger.cli")

# The one place that each library is imported in; a room stands for all its modules.
# What is in neither this table nor the standard library is no dependency of ours.
HOMES: dict[str, tuple[str, ...]] = {
    "apsw": (
        "ledger.stopping",
        "ledger.store",
        "ledger.store_opening",
        "ledger.index",
        "ledger.projections",
    ),
    # An extra: who does not serve these tools does not install it.
    "mcp": ("ledger.daemon.mcp",),
    "pydantic": ("ledger.daemon.mcp",),  # which the SDK describes arguments with
    "msgspec": tuple(FOLDERS),
    # A hook starts anew for each payload: it takes libsodium's raw binding alone.
    "nacl": ("ledger.keys.signing", "ledger.daemon.hook_signing"),
    "numpy": ("ledger.projections",),
    "polars": ("ledger.projections.export_tables",),
    "scipy": ("ledger.projections.crosscheck",),
    "sklearn": ("ledger.projections.crosscheck",),
    "statsmodels": ("ledger.projections.crosscheck",),
    "sqlite_utils": ("ledger.projections.schema",),
    "typer": ("ledger.cli",),
    "watchfiles": ("ledger.daemon",),
    # Of the standard library: only the daemon waits for several things at once, and
    # no file is ever opened through the SQLite that Python happens to be linked with.
    "asyncio": ("ledger.daemon",),
    "sqlite3": (),
    # Chance comes from a seed in a frozen suite, never from here.
    "random": (),
    "uuid": (),
}

CLOCKS = {
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "time.monotonic",
    "time.monotonic_ns",
    "time.time",
    "time.time_ns",
}
SURROUNDINGS = {
    "os.environ",
    "os.getenv",
    "os.path.expanduser",
    "pathlib.Path.cwd",
    "pathlib.Path.home",
}

LINES_MAX = 400
FUNCTION_LINES_MAX = 60
FUNCTION_LINES_MEDIAN = 15
NAMELESS = {"base", "common", "helpers", "misc", "utils"}


def lies_in(module: str, places: Collection[str]) -> bool:
    """Tell whether a module is one of the places, or lies in one that is a room."""
    return any(
        module == place or (place in FOLDERS and room_of(module) == place)
        for place in places
    )


def room_of(module: str) -> str:
    """Return the package that a module lies in; a package lies in itself."""
    return module if module in FOLDERS else module.rpartition(".")[0]


def floor(module: str) -> int:
    """Return how high a module stands: what it imports must stand lower."""
    if module in FLOORS:
        return FLOORS.index(module)
    rooms = ("ledger", *UPPER_ROOMS)
    return len(FLOORS) + rooms.index(room_of(module))


def may_import(upper: str, lower: str) -> bool:
    """Tell whether the layers let `upper` know `lower`."""
    if lower == "ledger":  # its version, which is all that a package holds
        return True
    return floor(lower) < floor(upper) or (
        room_of(upper) == room_of(lower) and room_of(upper) in UPPER_ROOMS
    )


def own_imports(module: Module) -> Iterator[Use]:
    """Yield what a module imports of the product itself."""
    return (use for use in imports(module, NAMES) if use.name.split(".")[0] == "ledger")


def at(module: Module, use: Use) -> str:
    """Return an offence as a person would look for it."""
    return f"{module.name}:{use.line} {use.name}"


# --- Layers ---------------------------------------------------------------------------


def test_every_module_has_a_floor() -> None:
    unplaced = [
        name
        for name in sorted(NAMES - FOLDERS.keys())
        if name not in FLOORS and room_of(name) not in UPPER_ROOMS
    ]
    assert unplaced == []


def test_a_module_imports_only_from_below() -> None:
    upwards = [
        at(module, use)
        for module in MODULES
        for use in own_imports(module)
        if module.name in FOLDERS or not may_import(module.name, use.name)
    ]
    assert upwards == []


@pytest.mark.parametrize(
    ("upper", "lower", "allowed"),
    [
        ("ledger.cli.main", "ledger.daemon.client", True),
        ("ledger.daemon.client", "ledger.cli.main", False),
        ("ledger.projections.rows", "ledger.projections.scores", True),
        ("ledger.projections.rows", "ledger.daemon.client", False),
        ("ledger.replay", "ledger.rules", True),
        ("ledger.rules", "ledger.replay", False),
        ("ledger.suite", "ledger.keys.roster", True),
        ("ledger.keys.roster", "ledger.suite", False),
        ("ledger.keys.roster", "ledger.errors", True),
        ("ledger.errors", "ledger.ids", False),
        ("ledger.cli.main", "ledger", True),
    ],
)
def test_the_layers_point_down(upper: str, lower: str, *, allowed: bool) -> None:
    assert may_import(upper, lower) is allowed


def test_no_modules_import_each_other_in_a_circle() -> None:
    waiting = {
        module.name: {use.name for use in own_imports(module)} - {"ledger"}
        for module in MODULES
    }
    while free := [name for name, needs in waiting.items() if not needs & set(waiting)]:
        for name in free:
            del waiting[name]
    assert waiting == {}


def test_imports_are_absolute_and_name_a_module_of_the_product() -> None:
    odd = [
        at(module, use)
        for module in MODULES
        for use in imports(module, NAMES)
        if use.name.startswith(".")
        or use.name.split(".")[0] in set(FOLDERS.values()) - {"ledger"}
        or (use.name.startswith("ledger.") and use.name not in NAMES)
    ]
    assert odd == []


def test_a_package_holds_nothing_but_a_docstring() -> None:
    full = [
        f"{module.name}:{statement.lineno}"
        for module in MODULES
        if module.name in FOLDERS
        for statement in module.tree.body[1:]
        if not (
            module.name == "ledger"
            and ast.unparse(statement).startswith("__version__ = ")
        )
    ]
    assert full == []


# --- Libraries ------------------------------------------------------------------------


def test_each_library_is_imported_in_its_home_only() -> None:
    strays = [
        at(module, use)
        for module in MODULES
        for use in imports(module, NAMES)
        if (library := use.name.split(".")[0]) in HOMES
        and not lies_in(module.name, HOMES[library])
    ]
    assert strays == []


def test_nothing_is_imported_that_the_package_does_not_depend_on() -> None:
    known = HOMES.keys() | sys.stdlib_module_names | {"ledger"}
    strangers = [
        at(module, use)
        for module in MODULES
        for use in imports(module, NAMES)
        if use.name.split(".")[0] not in known
    ]
    assert strangers == []


def test_a_benchmark_needs_its_peers_and_no_tool_of_the_tests() -> None:
    peers = {"eventsourcing", "sklearn"}
    known = HOMES.keys() | sys.stdlib_module_names | {"ledger", "tests"} | peers
    left = [path.stem for path in (REPOSITORY / "tests").glob("bench*.py")]
    assert len(left) > 5
    seen: set[str] = set()
    strangers = []
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        source = (REPOSITORY / "tests" / f"{name}.py").read_text("utf-8")
        module = Module(f"tests.{name}", source)
        for use in imports(module, NAMES):
            library, _, inner = use.name.partition(".")
            if library == "tests":
                left.append(inner)
            elif library not in known:
                strangers.append(at(module, use))
    assert strangers == []


def test_starting_a_command_does_not_pay_for_what_it_does_not_use() -> None:
    """Each command imports numpy, polars and the like when it needs them."""
    commands = sorted(name for name in NAMES if room_of(name) == "ledger.cli")
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "print(*{name.split('.')[0] for name in sys.modules})\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, *commands],
        capture_output=True, check=True, text=True, cwd=REPOSITORY,
    )  # fmt: skip
    heavy = {"numpy", "pandas", "polars", "sqlite_utils", "watchfiles"}
    assert heavy & set(shown.stdout.split()) == set()


# --- Time, chance and surroundings are arguments --------------------------------------


def test_only_the_outer_rooms_ask_for_the_time_or_the_surroundings() -> None:
    asked = [
        at(module, use)
        for module in MODULES
        if not lies_in(module.name, ("ledger.clock", "ledger.daemon", "ledger.cli"))
        for use in uses(module)
        if use.name in CLOCKS | SURROUNDINGS
    ]
    assert asked == []


def test_nothing_asks_for_the_time_or_the_surroundings_when_it_is_imported() -> None:
    asked = [
        at(module, use)
        for module in MODULES
        for use in uses(module, at_import=True)
        if use.name in CLOCKS | SURROUNDINGS
    ]
    assert asked == []


@pytest.mark.parametrize(
    ("source", "found"),
    {
        "under another name": ("from datetime import datetime as d\nd.now()", True),
        "as a default": ("import os\ndef f(x=os.getenv('A')): ...", True),
        "in a class": ("import os\nclass A:\n    b = os.getenv('A')", True),
        "in a function": ("import os\ndef f(): return os.getenv('A')", False),
        "in a method": ("import os\nclass A:\n    def f(s): os.getenv('A')", False),
        "in a lambda": ("import os\nf = lambda: os.getenv('A')", False),
    }.values(),
)
def test_what_runs_at_import_is_told_from_what_runs_later(
    source: str, *, found: bool
) -> None:
    names = {use.name for use in uses(Module("m", source), at_import=True)}
    assert bool(names & {"os.getenv", "datetime.datetime.now"}) is found


# --- Sizes and names ------------------------------------------------------------------


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = {
        module.name: lines
        for module in MODULES
        if (lines := len(module.source.splitlines())) > LINES_MAX
    }
    assert long == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{module.name}.{function.name}": length(function)
        for module in MODULES
        for function in functions(module)
        if length(function) > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_most_functions_are_short() -> None:
    lengths = [length(f) for module in MODULES for f in functions(module)]
    assert median(lengths) < FUNCTION_LINES_MEDIAN


def test_every_module_says_what_it_is() -> None:
    silent = [module.name for module in MODULES if not ast.get_docstring(module.tree)]
    assert silent == []


def test_every_module_is_named_for_what_it_holds() -> None:
    assert [name for name in NAMES if name.split(".")[-1] in NAMELESS] == []


# --- One folder per concern, one import package ---------------------------------------


def test_each_room_is_linked_where_tools_look_for_it() -> None:
    links = {
        package: (REPOSITORY / "ledger" / folder).readlink().as_posix()
        for package, folder in FOLDERS.items()
        if package != "ledger"
    }
    assert links == {
        package: f"../{folder}"
        for package, folder in FOLDERS.items()
        if package != "ledger"
    }


def test_no_module_lies_deeper_than_its_room() -> None:
    deeper = [
        path.relative_to(REPOSITORY).as_posix()
        for folder in FOLDERS.values()
        for path in (REPOSITORY / folder).glob("*/**/*.py")
        if path.parent.resolve().parent != REPOSITORY
    ]
    assert deeper == []
