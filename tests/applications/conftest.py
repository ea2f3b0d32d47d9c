"""Applications in this process alone: so little work is not worth another one."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "1")
