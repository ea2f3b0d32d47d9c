"""The registry keeps names, metadata and order, and helps with near misses."""

from __future__ import annotations

import pytest

from pasta.errors import PastaError
from pasta.registry import Registry


def filled() -> Registry[int]:
    registry: Registry[int] = Registry("number")
    registry.register("seven", odd=True)(7)
    registry.register("eight", odd=False)(8)
    return registry


def test_entries_keep_their_order_and_metadata() -> None:
    registry = filled()
    assert list(registry) == ["seven", "eight"]
    assert registry["seven"] == 7
    assert registry.entry("eight").metadata["odd"] is False
    assert len(registry) == 2 and "seven" in registry


def test_a_near_miss_names_the_nearest_key() -> None:
    with pytest.raises(PastaError, match=r"no number called 'sevn'\. Did you mean 'seven'\?"):
        filled()["sevn"]


def test_a_far_miss_lists_what_there_is() -> None:
    with pytest.raises(PastaError, match="Known: eight, seven"):
        filled()["xyz"]


def test_two_things_cannot_share_a_name() -> None:
    with pytest.raises(PastaError, match="two numbers are called 'seven'"):
        filled().register("seven")(9)


def test_metadata_cannot_be_changed_later() -> None:
    metadata = filled().entry("seven").metadata
    with pytest.raises(TypeError):
        metadata["odd"] = False  # type: ignore[index]
