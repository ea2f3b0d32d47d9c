"""What git knows of the project; nothing where there is no git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

# What results depend on. The lock, figures, numbers and PDFs are written by a run itself.
INPUTS = ("analysis", "pasta", "pipelines", ":!pipelines/data", "reports/source",
          "reports/before.csv", "dvc.yaml", "params.yaml")  # fmt: skip


def git_state(root: Path) -> tuple[str | None, list[str] | None]:
    """The commit, and the inputs of results that differ from it; None where there is no git.

    A file that git does not know yet differs, too: the first batch of votes, a new method.
    """
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain", "-z", "--untracked-files=all", "--", *INPUTS)
    if status is None:
        return commit and commit.strip(), None
    return commit and commit.strip(), sorted(_paths(status))


def describe_state(root: Path) -> str:
    """The commit and what differs from it, for a title page."""
    commit, changed = git_state(root)
    if commit is None:
        return "not under version control"
    if not changed:
        return commit[:12]
    places = list(dict.fromkeys(changed))
    more = f" and {len(places) - 3} more files" if len(places) > 3 else ""
    return f"{commit[:12]} and changes that are not committed ({', '.join(places[:3])}{more})"


def committed(root: Path, file: Path, most: int) -> Iterator[str]:
    """What a file held in the latest commits that changed it, newest first."""
    listed = _git(root, "log", f"--max-count={most}", "--format=%H", "--", file.as_posix())
    for commit in (listed or "").split():
        text = _git(root, "show", f"{commit}:{file.as_posix()}")
        if text:
            yield text


def _paths(status: str) -> list[str]:
    """The paths in ``git status --porcelain -z``; a renamed file has its old name after it."""
    found, parts = [], iter(status.split("\0"))
    for part in parts:
        if part:
            found.append(part[3:])
            if "R" in part[:2]:
                next(parts, None)
    return found


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
