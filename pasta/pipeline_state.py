"""Whether what the stages have left is up to date, as `dvc status` tells it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pasta.errors import PastaError


def stale_stages(root: Path, targets: Sequence[str], *, but: Iterable[str] = ()) -> list[str]:
    """The stages before the targets that `dvc repro` would run again.

    Parameters
    ----------
    root
        The folder of the project.
    targets
        Names of stages; they themselves are not looked at.
    but
        Dependencies whose changes do not count.
    """
    command = [sys.executable, "-m", "dvc", "status", "--json", "--with-deps", *targets]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise PastaError(f"`dvc status` failed: {done.stderr.strip().splitlines()[-1:]}")
    status: Mapping[str, Sequence[Any]] = json.loads(done.stdout)
    ignored = set(but)
    return sorted(
        stage
        for stage, changes in status.items()
        if stage not in targets and any(not _is_only(one, ignored) for one in changes)
    )


def _is_only(change: Any, ignored: set[str]) -> bool:
    """Whether a change is one of dependencies that do not count."""
    return (
        isinstance(change, dict)
        and set(change) == {"changed deps"}
        and set(change["changed deps"]) <= ignored
    )
