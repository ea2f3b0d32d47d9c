"""The pool keeps the order, passes errors on and leaves nobody behind."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from pasta.parallel import ordered_map
from tests.processes import assert_workers_leave


def test_results_come_in_the_order_of_the_items() -> None:
    numbers = list(range(100))
    assert list(ordered_map(abs, numbers, 2, chunk=7)) == numbers
    assert list(ordered_map(partial(divmod, 7), numbers[1:], 1)) == [
        divmod(7, n) for n in numbers[1:]
    ]


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(partial(divmod, 1), [1] * 30 + [0] + [1] * 30, 2, chunk=4))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_workers_leave_when_their_parent_is_killed() -> None:
    script = (
        "import time, sys; from pasta.parallel import ordered_map\n"
        "if __name__ == '__main__':\n"
        "    for _ in ordered_map(time.sleep, [0.05] * 4000, 2, chunk=2):\n"
        "        print('going', flush=True)\n"
    )
    assert_workers_leave(script)
