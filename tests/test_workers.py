"""Copies of this process that work beside it."""

from __future__ import annotations

import gc
import multiprocessing
import os

import pytest

from pasta.errors import InputError, PastaError
from pasta.workers import beside


@pytest.mark.parametrize("processes", [1, 2])
def test_work_beside_a_block_gives_its_result_when_the_block_is_over(processes: int) -> None:
    with beside(os.getpid, processes) as later:
        assert not hasattr(later, "value")
    worker = later.value
    assert (worker == os.getpid()) == (processes == 1)
    assert not multiprocessing.active_children()


def test_an_error_of_the_work_is_raised_after_the_block() -> None:
    def work() -> None:
        raise InputError("is broken", file="a.csv")

    reached = False
    with pytest.raises(InputError, match="is broken"), beside(work, 2):
        reached = True
    assert reached
    assert not multiprocessing.active_children()


def test_an_error_of_the_block_ends_the_work() -> None:
    def work() -> None:
        while True:
            pass

    with pytest.raises(KeyError), beside(work, 2):
        raise KeyError
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_is_an_error() -> None:
    with pytest.raises(PastaError, match="died"), beside(lambda: os._exit(3), 2):
        pass
    assert not multiprocessing.active_children()


def test_what_was_there_before_is_kept_from_the_collector_of_a_copy_only() -> None:
    before = gc.get_freeze_count()
    with beside(gc.get_freeze_count, 2) as later:
        assert gc.get_freeze_count() == before
    assert later.value > 1000
