"""What git knows of the project; nothing where there is no git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from pasta.paths import FIGURES, HEADLINES, LOCK


def git_state(root: Path) -> tuple[str | None, bool | None]:
    """The commit, and whether tracked files differ from it; None where there is no git.

    What a run itself writes (the lock, the figures, the headline numbers) does not count: it
    changes while stages run, whatever the code is.
    """
    own = [f":!{path.as_posix()}" for path in (LOCK, FIGURES, HEADLINES)]
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", *own)
    commit = _git(root, "rev-parse", "HEAD")
    return commit and commit.strip(), None if changes is None else bool(changes.strip())


def committed(root: Path, file: Path, most: int) -> Iterator[str]:
    """What a file held in the latest commits that changed it, newest first."""
    listed = _git(root, "log", f"--max-count={most}", "--format=%H", "--", file.as_posix())
    for commit in (listed or "").split():
        text = _git(root, "show", f"{commit}:{file.as_posix()}")
        if text:
            yield text


def _git(root: Path, *arguments: str) -> str | None:
    """Output of a git command; None where there is no git or no repository."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=root,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
