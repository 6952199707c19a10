"""The product's source as the architecture tests read it: modules and their names."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
# Which folder at the top of the repository holds which package of the wheel.
FOLDERS = {
    "ledger": "ledger",
    "ledger.keys": "keys",
    "ledger.projections": "projections",
    "ledger.daemon": "daemon",
    "ledger.cli": "cli",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Use:
    """One place in the source, and the full dotted name that it speaks of."""

    name: str
    line: int


@dataclass(frozen=True)
class Module:
    """One file of the product, under the name that it is imported by."""

    name: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.source)


def product_modules() -> list[Module]:
    """Return each module of the product once, packages included."""
    return [
        Module(_imported_as(package, path), path.read_text("utf-8"))
        for package, folder in FOLDERS.items()
        for path in sorted((REPOSITORY / folder).glob("*.py"))
    ]


def _imported_as(package: str, path: Path) -> str:
    return package if path.stem == "__init__" else f"{package}.{path.stem}"


def imports(module: Module, names: frozenset[str]) -> list[Use]:
    """Return what `module` imports anywhere, functions included.

    `names` are the product's modules: `from ledger import canonical` is an import
    of `ledger.canonical` and not of the whole room. A relative import starts with
    a dot.
    """
    found = []
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=aliases):
                found += [Use(alias.name, node.lineno) for alias in aliases]
            case ast.ImportFrom(module=origin, names=aliases, level=level):
                start = "." * level + (origin or "")
                full = [f"{start}.{alias.name}" for alias in aliases]
                found += [
                    Use(name if name in names else start, node.lineno) for name in full
                ]
    return found


def uses(module: Module, *, at_import: bool = False) -> list[Use]:
    """Return every imported name that is used, written out in full.

    `from datetime import datetime as d; d.now()` is a use of `datetime.datetime.now`.
    With `at_import`, only what runs when the module is imported: bodies of
    functions are left out, their defaults and decorators are not.
    """
    tree = module.tree
    meaning = _meaning_of_names(tree)
    nodes = _run_at_import(tree) if at_import else ast.walk(tree)
    found = []
    for node in nodes:
        match node:
            case ast.Name() | ast.Attribute():
                first, _, rest = ast.unparse(node).partition(".")
                if first in meaning:
                    name = f"{meaning[first]}.{rest}" if rest else meaning[first]
                    found.append(Use(name, node.lineno))
    return found


def _meaning_of_names(tree: ast.Module) -> dict[str, str]:
    meaning = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    shown = alias.name if alias.asname else alias.name.split(".")[0]
                    meaning[alias.asname or shown] = shown
            case ast.ImportFrom(module=str(origin), names=aliases):
                for alias in aliases:
                    meaning[alias.asname or alias.name] = f"{origin}.{alias.name}"
    return meaning


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for part in (*child.decorator_list, child.args):
                    yield from ast.walk(part)
            case ast.Lambda():
                yield from ast.walk(child.args)
            case _:
                yield child
                yield from _run_at_import(child)


def functions(module: Module) -> list[Function]:
    """Return all functions and methods, nested ones included."""
    return [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def length(function: Function) -> int:
    """Return the lines from `def` to the last one of the body."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1
