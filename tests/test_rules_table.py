"""`docs/rules.md` says every refusal and every finding, and nothing else."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.source_tree import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "rules.md"
# Refused by the log; what a command refuses before is told in docs/cli.md.
SOURCES = [*(REPOSITORY / "ledger").glob("*.py"), *(REPOSITORY / "keys").glob("*.py")]
TESTS = REPOSITORY / "tests"
Row = tuple[str, ...]


@cache
def tables() -> dict[str, list[Row]]:
    """Return the rows of each table of the document, by the head of its first column."""
    found: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for line in DOCUMENT.read_text("utf-8").splitlines():
        cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        if not line.startswith("|"):
            rows = []
        elif not rows:
            rows = found.setdefault(cells[0], [])
            rows.append(cells)
        elif not set(cells[0]) <= {"-"}:
            rows.append(cells)
    return {head: rows[1:] for head, rows in found.items()}


def refusals_documented() -> dict[str, Row]:
    return {row[0].strip("`"): row[1:] for row in tables()["code"]}


def findings_documented() -> dict[str, str]:
    """Return for each finding whether a vector with it counts, in the document's words."""
    return {row[0].strip("`"): row[2] for row in tables()["finding"]}


def codes(source: Path) -> Iterator[str]:
    """Yield the code of each refusal that a module can raise."""
    tree = ast.parse(source.read_text("utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            named = {
                target.id: node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _is_refusal(call):
                    code = call.args[0]
                    if isinstance(code, ast.Name):
                        code = named[code.id]
                    yield from _texts(code)


def _is_refusal(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "RefusedError"


def _texts(code: ast.expr) -> Iterator[str]:
    match code:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one)
            yield from _texts(other)
        case _:
            msg = f"a refusal's code is written out, not {ast.unparse(code)}"
            raise AssertionError(msg)


CODES = sorted({code for source in SOURCES for code in codes(source)})


@cache
def texts_in_tests() -> str:
    """Return every text that stands in a test, this one apart."""
    found: list[str] = []
    for file in TESTS.glob("test_*.py"):
        if file != Path(__file__):
            tree = ast.parse(file.read_text("utf-8"))
            found += (
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
    found.append((TESTS / "vectors" / "log-v1.json").read_text("utf-8"))
    return "\n".join(found)


def test_there_are_refusals_in_the_source() -> None:
    assert {"late", "wrong-role", "unscorable-proposition"} & set(CODES) == {
        "wrong-role",
        "unscorable-proposition",
    }


@pytest.mark.parametrize("code", CODES)
def test_every_refusal_has_a_row_that_says_what_and_what_to_do(code: str) -> None:
    what, remedy = refusals_documented()[code]
    assert what
    assert remedy


def test_every_row_is_a_refusal_in_the_source() -> None:
    assert sorted(refusals_documented()) == CODES


def test_the_rows_are_in_order_so_that_a_code_is_found() -> None:
    assert list(refusals_documented()) == sorted(refusals_documented())


@pytest.mark.parametrize("code", CODES)
def test_every_refusal_is_provoked_by_a_test(code: str) -> None:
    assert code in texts_in_tests()


@pytest.mark.parametrize("finding", findings_documented())
def test_every_finding_says_what_it_means_and_whether_a_vector_with_it_counts(
    finding: str,
) -> None:
    _, meaning, counts = next(
        row for row in tables()["finding"] if row[0].strip("`") == finding
    )
    assert meaning
    assert counts.startswith(("yes", "no", "-"))
