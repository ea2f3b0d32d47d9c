"""New folders for exports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pasta import store
from pasta.errors import PastaError


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``out`` on success and is removed on failure.

    ``out`` must not exist, or be an empty folder: nothing is ever written over.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise PastaError(f"{out}: exists already; choose another place or remove it")
    with store.atomic_folder(out) as temporary:
        yield temporary
