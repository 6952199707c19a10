"""What is built and installed is one import package, from wherever it is installed.

No registry is asked: the environments made here borrow the dependencies of the one
that the tests run in, and the build backend too. That the declared dependencies can be
resolved is shown by whoever installs this to run the tests.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import ledger
from tests.source_tree import FOLDERS, REPOSITORY, imports, product_modules

pytestmark = pytest.mark.packaging

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
MODULES = sorted(module.name for module in product_modules())
PACKED = ["pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "docs"]
# Where a library is imported by another name than it is installed by.
DISTRIBUTIONS = {
    "nacl": "pynacl",
    "sklearn": "scikit-learn",
    "sqlite_utils": "sqlite-utils",
}

TELL_WHERE = """
import importlib, importlib.util, json, sys
files = {name: importlib.import_module(name).__file__ for name in sys.argv[1:]}
bare = [name for name in ("cli", "daemon", "keys", "projections")
        if importlib.util.find_spec(name)]
print(json.dumps({"files": files, "bare": bare}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return what a command prints, kept from registries and from pip's settings."""
    surroundings = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "PYTHON"))
    }
    quiet = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        check=False,
        cwd=cwd,
        env=surroundings | quiet,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout}\n{done.stderr}"
    return done.stdout


def copy_checkout(target: Path) -> Path:
    """Return a copy of what the checkout packs, free of what earlier builds left."""
    target.mkdir()
    for name in [*PACKED, *FOLDERS.values()]:
        source = REPOSITORY / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy2(source, target / name)
    return target


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the source archive, and the wheel from it, as a release does."""
    folder = tmp_path_factory.mktemp("distributions")
    checkout = copy_checkout(folder / "checkout")
    built = folder / "dist"
    python = [sys.executable, "-m", "build", "--no-isolation"]
    run(*python, "--outdir", built, checkout, cwd=folder)
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@dataclass(frozen=True)
class Installed:
    """An environment that the product was installed into, and where its code lies."""

    environment: Path
    home: Path
    elsewhere: Path


@pytest.fixture(scope="session", params=["regular", "editable", "wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest,
    distributions: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Installed:
    """Install the product in one of the ways that people do."""
    folder = tmp_path_factory.mktemp(request.param)
    environment = folder / "environment"
    make_environment(environment)
    checkout = copy_checkout(folder / "checkout")
    what: dict[str, list[str | Path]] = {
        "regular": [checkout],
        "editable": ["--editable", checkout],
        "wheel": [distributions["wheel"]],
        "sdist": [distributions["sdist"]],
    }
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    run(*pip, "--no-deps", "--no-build-isolation", *what[request.param], cwd=elsewhere)
    home = checkout if request.param == "editable" else environment
    return Installed(environment, home, elsewhere)


def make_environment(folder: Path) -> None:
    """Make an environment that has the dependencies but not the product."""
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    # Folders that a .pth file adds come last, and .pth files in them are not read: an
    # editable install of the running environment stays out.
    borrowed = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n", "utf-8")


def module_file(name: str) -> str:
    """Return where a module lies inside the wheel."""
    path = name.replace(".", "/")
    return f"{path}/__init__.py" if name in FOLDERS else f"{path}.py"


def test_the_wheel_holds_one_import_package(distributions: dict[str, Path]) -> None:
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    expected = [module_file(name) for name in MODULES]
    assert sorted(names) == sorted([*expected, "ledger/py.typed"])


def test_the_wheel_names_one_top_level_package(distributions: dict[str, Path]) -> None:
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
    version = PROJECT["version"]
    assert tops == {"ledger", f"sealed_ledger-{version}.dist-info"}


def test_the_source_archive_holds_each_module_once_and_as_a_file(
    distributions: dict[str, Path],
) -> None:
    with tarfile.open(distributions["sdist"]) as archive:
        members = [member for member in archive if not member.isdir()]
    sources = [
        member.name.partition("/")[2]
        for member in members
        if member.name.endswith(".py")
    ]
    expected = [
        path.relative_to(REPOSITORY).as_posix()
        for folder in FOLDERS.values()
        for path in (REPOSITORY / folder).glob("*.py")
    ]
    assert sorted(sources) == sorted(expected)
    assert all(member.isreg() for member in members)


def test_an_installed_module_is_imported_by_its_one_name_from_any_folder(
    installed: Installed,
) -> None:
    python = installed.environment / "bin" / "python"
    told = json.loads(run(python, "-c", TELL_WHERE, *MODULES, cwd=installed.elsewhere))
    strays = [
        file
        for file in told["files"].values()
        if not Path(file).is_relative_to(installed.home)
    ]
    assert strays == []
    # A second name for the same file would be a second copy of the module.
    assert told["bare"] == []


def test_the_installed_command_tells_its_version_from_any_folder(
    installed: Installed,
) -> None:
    command = installed.environment / "bin" / "ledger"
    shown = run(command, "--version", cwd=installed.elsewhere)
    assert PROJECT["version"] in shown


def test_the_version_is_told_once() -> None:
    assert PROJECT["version"] == ledger.__version__


def test_every_library_that_is_imported_is_declared() -> None:
    names = frozenset(MODULES)
    imported = {
        use.name.split(".")[0]
        for module in product_modules()
        for use in imports(module, names)
    } - sys.stdlib_module_names
    needed = {DISTRIBUTIONS.get(name, name) for name in imported - {"ledger"}}
    extras = PROJECT["optional-dependencies"]
    lines = (*PROJECT["dependencies"], *extras["crosscheck"], *extras["mcp"])
    declared = {line.split(">=")[0] for line in lines}
    assert needed <= declared


@pytest.mark.parametrize("extra", ["dev", "crosscheck"])
def test_the_extras_that_the_tests_need_are_installed(extra: str) -> None:
    missing = []
    for line in PROJECT["optional-dependencies"][extra]:
        name = line.split(">=")[0]
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    assert missing == []
