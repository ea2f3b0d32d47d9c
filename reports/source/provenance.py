"""What a report was made from: commit, profile, versions of its data, and where its runs are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from ruamel.yaml import YAML

from pasta.config import load_params
from pasta.git import git_state
from pasta.paths import DATA, LOCK, PARAMS

DOT = "\N{MIDDLE DOT}"


def provenance(root: Path, reads: Iterable[str]) -> dict[str, str | list[str]]:
    """The facts for a title page; ``reads`` are the folders below ``pipelines/data`` that it uses.

    Versions are those that ``dvc.lock`` has of the report's own inputs. DVC writes them when the
    stages that make the inputs end, which is before the report begins, so that they do not depend
    on what runs later. The runs of these stages are found in MLflow by their tags; those of a
    stage that was not repeated carry the commit at which it ran.
    """
    commit, changed = git_state(root)
    state = " (with changes that are not committed)" if changed else ""
    made = [one for folder in reads for one in _outputs(root, (DATA / folder).as_posix())]
    versions = [f"{_short(path)} {DOT} {md5[:10]}" for path, md5, _ in made]
    stages = dict.fromkeys(stage for _, _, stage in made)
    return {
        "Commit": f"{commit[:12]}{state}" if commit else "not under version control",
        "Profile": load_params(root / PARAMS).profile,
        f"Data (path {DOT} md5)": versions or ["not pinned yet: `dvc repro` does it"],
        "Runs (MLflow search)": [search(stage, commit) for stage in stages] or ["none"],
    }


def search(stage: str, commit: str | None) -> str:
    """The expression that finds the runs of a stage in MLflow."""
    return f"tags.stage = '{stage}' and tags.\"git.commit\" = '{commit or 'unknown'}'"


def _outputs(root: Path, path: str) -> list[tuple[str, str, str]]:
    """Outputs in ``dvc.lock`` that are a folder, lie in it or hold it: (path, md5, stage)."""
    wanted = PurePosixPath(path)
    found = []
    for stage, entry in _locked_stages(root).items():
        for out in entry.get("outs", ()):
            own = PurePosixPath(out["path"])
            if "md5" in out and (own.is_relative_to(wanted) or wanted.is_relative_to(own)):
                found.append((out["path"], out["md5"], stage))
    return sorted(found)


def _locked_stages(root: Path) -> dict[str, Any]:
    file = root / LOCK
    content = YAML(typ="safe").load(file.read_text()) if file.is_file() else None
    return dict((content or {}).get("stages", {}))


def _short(path: str) -> str:
    return PurePosixPath(path).relative_to(DATA.as_posix()).as_posix()
