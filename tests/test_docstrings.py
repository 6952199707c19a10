"""Every example in a docstring is run."""

import doctest
import importlib

import pytest

from tests.source_tree import product_modules


@pytest.mark.parametrize("name", [module.name for module in product_modules()])
def test_the_examples_of_a_docstring_are_true(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
