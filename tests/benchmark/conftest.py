"""Methods that a test registers are gone after it."""

from __future__ import annotations

import pytest

from pasta.explanations.base import METHODS


@pytest.fixture(autouse=True)
def same_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of its own for each test, with what is registered before."""
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))
