"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["bias", "contrasts", "kappa", "resampling", "rankings"])
def test_examples_print_what_they_say(name: str) -> None:
    found = doctest.testmod(import_module(f"analysis.{name}"))
    assert found.attempted > 0 and found.failed == 0
