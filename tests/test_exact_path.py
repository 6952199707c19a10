"""Published numbers never pass through a float: what the source may not say (METRICS §0).

A float's last digit depends on the processor, the C library and the order of threads.
These tests read the source of all projections, with the few exceptions named here.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source_tree import Function, Module, Use, functions, product_modules, uses

ROOM = "ledger.projections."
# Second opinions in floats, which no module that makes rows may import (test_bca.py,
# test_crosscheck_scores.py).
MAY_USE_FLOATS = {"ledger.projections.bca", "ledger.projections.crosscheck"}
# The functions of `math` that make an integer of integers and fractions.
EXACT_MATH = {"ceil", "comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"}
INEXACT_LIBRARIES = {"cmath", "random", "scipy", "statistics"}
INEXACT_REDUCTIONS = {
    "average", "cbrt", "corrcoef", "cov", "cumprod", "divide", "dot", "einsum", "exp",
    "exp2", "expm1", "float16", "float32", "float64", "float_power", "histogram",
    "inner", "interp", "linspace", "log", "log10", "log1p", "log2", "logaddexp",
    "matmul", "mean", "median", "nanmean", "nanstd", "nanvar", "percentile", "power",
    "quantile", "sqrt", "std", "tensordot", "trapezoid", "true_divide", "vdot", "var",
}  # fmt: skip
FLOAT_TYPE = re.compile(r"[<>=]?f[248]|float(16|32|64)?|double")
# What the product calls a column, and its own integers that are written in capitals.
COLUMNS = {"Flags", "Integers", "Scores", "Words"}
INTEGER_CONSTANTS = {"PPM", "UNITS"}
OF_INTEGERS = {"int", "len"}


def inexact(module: Module) -> Iterator[Use]:
    """Yield every place that makes or reduces floats."""
    yield from _inexact_names(module)
    for node in ast.walk(module.tree):
        match node:
            case ast.Constant(value=float() | complex() as value):
                yield Use(f"the literal {value}", node.lineno)
            case ast.Constant(value=str(text)) if FLOAT_TYPE.fullmatch(text):
                yield Use(f"the type {text}", node.lineno)
            case ast.Name(id="float"):
                yield Use("float", node.lineno)
            # `rates.mean()` of an array; a function of our own takes what it averages.
            case ast.Call(func=ast.Attribute(attr=attr), args=[]) if (
                attr in INEXACT_REDUCTIONS
            ):
                yield Use(f".{attr}()", node.lineno)
            # Weighted, it counts in floats whatever the weights are.
            case ast.Call(func=ast.Attribute(attr="bincount"), args=args) if len(
                args
            ) > 1 or any(word.arg == "weights" for word in node.keywords):
                yield Use("bincount with weights", node.lineno)
    for function in functions(module):
        yield from _quotients(function)


def _inexact_names(module: Module) -> Iterator[Use]:
    for use in uses(module):
        library, _, rest = use.name.partition(".")
        last = rest.rpartition(".")[2]
        if (
            (library == "math" and last not in EXACT_MATH | {""})
            or (library in {"numpy", "polars"} and last in INEXACT_REDUCTIONS)
            or use.name.startswith("numpy.random")
            or library in INEXACT_LIBRARIES
        ):
            yield use


def _quotients(function: Function) -> Iterator[Use]:
    """Yield true divisions of columns, and of two integers; fractions may be divided."""
    declared = {
        each.arg: ast.unparse(each.annotation)
        for each in ast.walk(function.args)
        if isinstance(each, ast.arg) and each.annotation is not None
    }
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                pass
            case ast.AugAssign(target=left, op=ast.Div(), value=right):
                pass
            case _:
                continue
        both = (left, right)
        if any(_is_column(each, declared) for each in both) or all(
            _is_integer(each, declared) for each in both
        ):
            yield Use(ast.unparse(node), node.lineno)


def _is_column(node: ast.expr, declared: dict[str, str]) -> bool:
    """Tell whether a value is evidently numpy's."""
    match node:
        case ast.Name(id=name):
            annotation = declared.get(name, "")
            return annotation in COLUMNS or "NDArray" in annotation
        case ast.BinOp(left=left, right=right):
            return _is_column(left, declared) or _is_column(right, declared)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"))):
            return True
        case (
            ast.UnaryOp(operand=inner)
            | ast.Call(func=ast.Attribute(value=inner))
            | ast.Subscript(value=inner)
        ):
            return _is_column(inner, declared)
    return False


def _is_integer(node: ast.expr, declared: dict[str, str]) -> bool:
    """Tell whether a value is evidently an integer."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.Name(id=name):
            return name in INTEGER_CONSTANTS or declared.get(name) == "int"
        case ast.UnaryOp(operand=operand):
            return _is_integer(operand, declared)
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.Div):
            return _is_integer(left, declared) and _is_integer(right, declared)
        case ast.Call(func=ast.Name(id=name)):
            return name in OF_INTEGERS
    return False


def test_published_numbers_never_pass_through_a_float() -> None:
    offences = [
        f"{module.name}:{use.line} {use.name}"
        for module in product_modules()
        if module.name.startswith(ROOM) and module.name not in MAY_USE_FLOATS
        for use in inexact(module)
    ]
    assert offences == []


def test_what_may_use_floats_is_there_and_does() -> None:
    found = {
        module.name: any(inexact(module))
        for module in product_modules()
        if module.name in MAY_USE_FLOATS
    }
    assert found == dict.fromkeys(MAY_USE_FLOATS, True)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import math\nmath.log(2)", True),
        ("from math import exp as e\ne(1)", True),
        ("import math\nmath.isqrt(2)", False),
        ("import numpy as np\nnp.mean([1])", True),
        ("import numpy as np\nnp.add.reduceat([1], [0])", False),
        ("def f(table): return table.mean()", True),
        ("from ledger.projections import exact\nexact.mean([1])", False),
        ("half = 0.5", True),
        ("half = '0.5'", False),
        ("def f(x): return float(x)", True),
        ("def f(x: float) -> None: ...", True),
        ("from statistics import mean\nmean([1])", True),
        ("from fractions import Fraction\nFraction(1, 2)", False),
        ("import numpy as np\nnp.random.default_rng(1).integers(9)", True),
        ("from numpy.random import default_rng\ndefault_rng(1)", True),
        ("import random\nrandom.random()", True),
        ("import numpy as np\nnp.true_divide(a, b)", True),
        ("import numpy as np\nnp.bincount(a, minlength=3)", False),
        ("import numpy as np\nnp.bincount(a, weights=b)", True),
        ("import numpy as np\nnp.bincount(a, b)", True),
        ("column.astype('float64')", True),
        ("column.astype('<f8')", True),
        ("column.astype('<u8')", False),
        ("table.mean(axis=0)", True),
        ("def f(a: Integers): return a / 2", True),
        ("def f(a: Integers): return 1 / a[0]", True),
        ("def f(a: Integers): return a.sum() / 2", True),
        ("def f(a: npt.NDArray[np.int64], b): return -a / b", True),
        ("def f(a: Integers): a /= 2", True),
        ("def f(a: Integers): return a // 2", False),
        ("def f(a): return np.cumsum(a) / 2", True),
        ("def f(a: int, b: int): return a / b", True),
        ("def f(a: int): return a / UNITS", True),
        ("def f(a): return len(a) / 2", True),
        ("def f(a): return 1 / 3", True),
        ("def f(a: int, b: int): return a // b", False),
        ("def f(a: Fraction, b: int): return a / b", False),
        ("def f(a: int, b: Decimal): return a / b", False),
        ("def f(folder): return folder / 'name'", False),
    ],
)
def test_a_float_is_told_from_exact_arithmetic(source: str, *, found: bool) -> None:
    assert any(inexact(Module("m", source))) is found
