"""Whether the inputs of a stage are what the stages before it have made.

``dvc.lock`` pins the md5 of every output. A stage compares its inputs with it before it starts, so
that a damaged, cut off or missing file is named and never read as something else. DVC itself looks
only when it decides what to run, not where a stage runs alone (``dvc repro --single-item``) or a
command reads what stages have left.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from pasta.config import parse_yaml
from pasta.errors import InputError
from pasta.paths import LOCK, PARAMS
from pasta.store import file_md5

PIPELINE = Path("dvc.yaml")
_TEMPLATE = re.compile(r"\$\{[^}]+\}")
_LEFT_BY_WRITERS = re.compile(r"\..*\.(tmp|lock)")  # as in .dvcignore


@dataclass(frozen=True)
class Output:
    """A file or folder that a stage has made, as ``dvc.lock`` pins it."""

    path: str  # from the project's root
    md5: str
    stage: str


def stage_names(root: Path) -> list[str]:
    """The stages of the pipeline as it is now; a stage of many items has one name for each."""
    return [name for name, _ in _stages(root)]


def stage_inputs(stage: str, root: Path) -> list[str]:
    """What ``dvc.yaml`` says that a stage depends on; nothing for an unknown stage."""
    return next((deps for name, deps in _stages(root) if name == stage), [])


def require_inputs(stage: str, root: Path) -> None:
    """Raise an error that names the file unless all inputs of a stage are as they were made."""
    require_pinned(stage_inputs(stage, root), root)


def require_pinned(paths: Iterable[str], root: Path) -> None:
    """Raise an error that names the file unless these files and folders are as they were made.

    What ``dvc.lock`` does not pin, code for example, is not looked at.
    """
    wanted = [PurePosixPath(path) for path in paths]
    for output in _pinned_outputs(root):
        own = PurePosixPath(output.path)
        if any(own.is_relative_to(path) or path.is_relative_to(own) for path in wanted):
            _require(output, root)


def _require(output: Output, root: Path) -> None:
    place = root / output.path
    again = f"`dvc repro {output.stage}` makes it again"
    if not place.exists():
        expected = f"what the stage {output.stage} has made; {again}"
        raise InputError("is not there", file=place, expected=expected)
    try:
        found = _md5s(place)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise InputError(reason, file=error.filename or place, expected=again) from error
    if _digest(place, found) == output.md5:
        return
    file, problem = _first_difference(found, _listing(output.md5, root))
    raise InputError(
        problem,
        file=place / file if file else place,
        expected=f"it as the stage {output.stage} left it, by the md5 in {LOCK}; {again}",
    )


def _first_difference(found: dict[str, str], pinned: dict[str, str] | None) -> tuple[str, str]:
    """The first file that differs, if it is known what was pinned, and how."""
    changed = "was changed after it was made"
    for name in sorted({**found, **(pinned or found)}):
        if pinned is None or found.get(name) == pinned.get(name):
            continue
        if name not in found:
            return name, "is not there"
        return name, changed if name in pinned else "was not made by the stage"
    return "", changed


def _md5s(place: Path) -> dict[str, str]:
    """The md5 of a file, or of each file in a folder by its path in it."""
    if place.is_file():
        return {"": file_md5(place)}
    files = (file for file in place.rglob("*") if file.is_file())
    return {
        file.relative_to(place).as_posix(): file_md5(file)
        for file in files
        if not _LEFT_BY_WRITERS.fullmatch(file.name)
    }


def _digest(place: Path, found: dict[str, str]) -> str:
    """The md5 as DVC counts it: a folder's is that of the list of its files."""
    if place.is_file():
        return found[""]
    entries = [{"md5": md5, "relpath": name} for name, md5 in sorted(found.items())]
    text = json.dumps(entries, sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"


def _listing(md5: str, root: Path) -> dict[str, str] | None:
    """The files of a pinned folder, from DVC's cache; None if the cache has it no more."""
    file = _cache(root) / "files" / "md5" / md5[:2] / md5[2:]
    if not md5.endswith(".dir") or not file.is_file():
        return None
    return {entry["relpath"]: entry["md5"] for entry in json.loads(file.read_text())}


@lru_cache(maxsize=4)  # DVC takes a second to start
def _cache(root: Path) -> Path:
    asked = [sys.executable, "-m", "dvc", "cache", "dir"]
    done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return root / done.stdout.strip()


def _pinned_outputs(root: Path) -> Iterator[Output]:
    """Outputs of the stages that the pipeline has now."""
    file = root / LOCK
    if not file.is_file():
        return
    pinned = (parse_yaml(file, file.read_text()) or {}).get("stages", {})
    for stage in stage_names(root):
        for out in pinned.get(stage, {}).get("outs", ()):
            if "md5" in out:
                yield Output(out["path"], out["md5"], stage)


def _stages(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Every stage with its items filled in, and what it depends on."""
    stages = parse_yaml(root / PIPELINE, (root / PIPELINE).read_text())["stages"]
    params = parse_yaml(root / PARAMS, (root / PARAMS).read_text())
    for name, stage in stages.items():
        if "foreach" not in stage:
            yield name, [_filled(path, params) for path in stage.get("deps", ())]
            continue
        for key, item in _items(stage["foreach"], params):
            values = {**params, "key": key, "item": item}
            deps = [_filled(path, values) for path in stage["do"].get("deps", ())]
            yield f"{name}@{key}", deps


def _items(foreach: Any, params: Any) -> list[tuple[str, Any]]:
    """Keys and items of a `foreach`: a list, a mapping, or ``${...}`` in the parameters."""
    found = _value(foreach, params) if isinstance(foreach, str) else foreach
    pairs = found.items() if isinstance(found, dict) else ((one, one) for one in found)
    return [(str(key), item) for key, item in pairs]


def _filled(path: str, values: Any) -> str:
    """A path with ``${key}``, ``${item.name}`` and parameters replaced by what they stand for."""
    return _TEMPLATE.sub(lambda found: str(_value(found[0], values)), path)


def _value(template: str, values: Any) -> Any:
    """What ``${first.second}`` stands for."""
    found = values
    for step in template.removeprefix("${").removesuffix("}").split("."):
        found = found[step]
    return found
