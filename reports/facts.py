"""What a report was made from: commit, profile, versions of the data, MLflow runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pasta import store
from pasta.params import load_params
from pasta.paths import DATA, PARAMS
from pasta.tracking import git_state, locked_md5s


def facts(root: Path, data: Iterable[str], runs: Iterable[str]) -> dict[str, str | list[str]]:
    """The facts for a title page.

    ``data`` are outputs of stages, ``runs`` patterns of the records that tracked stages leave;
    both relative to the folder of the data.
    """
    commit, changed = git_state(root)
    state = " (with changes that are not committed)" if changed else ""
    known = locked_md5s(root)
    versions = [
        f"{name} \N{MIDDLE DOT} {known[path][:10]}"
        for name in data
        if (path := (DATA / name).as_posix()) in known
    ]
    found = sorted({file for pattern in runs for file in (root / DATA).glob(pattern)})
    return {
        "Commit": f"{commit[:12]}{state}" if commit else "not under version control",
        "Profile": load_params(root / PARAMS).profile,
        "Data (path \N{MIDDLE DOT} md5)": versions or ["not pinned yet: `dvc repro` does it"],
        "MLflow runs": [_run(file) for file in found] or ["none recorded"],
    }


def _run(file: Path) -> str:
    record = store.read_json(file)
    return f"{record['experiment']} / {record['name']} \N{MIDDLE DOT} {record['run_id']}"
