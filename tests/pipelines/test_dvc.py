"""The pipeline file: complete dependencies, leaf parameters, outputs in their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pasta.commands.outcome import stage_names
from tests.conftest import ROOT
from tests.pipelines.imports import reached

# Code that reads parameters, checks, stores, tells and spreads work over processors, but never
# changes a result: values of parameters are dependencies of their own, and a table that breaks its
# contract stops a stage.
PLUMBING = [
    *map(Path, ("pasta/params", "analysis/__init__.py", "reports/__init__.py")),
    *map(Path, ("pasta/__init__.py", "reports/plots/__init__.py")),
    *(
        Path("pasta") / f"{name}.py"
        for name in (
            *("contracts", "errors", "paths", "progress", "quick_start", "registry", "stage"),
            *("store", "tables", "threads", "tracking", "validation", "workers"),
        )
    ),
]

DATA = ("pipelines/data", "pipelines/annotations", "reports/figures")

PIPELINE = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())


def stages() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, stage in PIPELINE["stages"].items():
        yield name, stage.get("do", stage)


def script_of(stage: dict[str, Any]) -> Path:
    python, flag, module = stage["cmd"].split()[:3]
    assert (python, flag) == ("python", "-m")
    return Path(module.replace(".", "/") + ".py")


@pytest.mark.parametrize(("name", "stage"), list(stages()), ids=lambda value: str(value)[:20])
def test_every_module_a_stage_imports_is_among_its_dependencies(
    name: str, stage: dict[str, Any]
) -> None:
    script = script_of(stage)
    covered = [*map(Path, stage["deps"]), *PLUMBING]
    missing = [
        str(file)
        for file in sorted(reached(ROOT / script, ROOT))
        if not any(file == path or path in file.parents for path in covered)
    ]
    assert not missing, f"{name} does not depend on {missing}"


@pytest.mark.parametrize(("name", "stage"), list(stages()), ids=lambda value: str(value)[:20])
def test_dependencies_on_code_are_all_used_and_there(name: str, stage: dict[str, Any]) -> None:
    script = script_of(stage)
    used = reached(ROOT / script, ROOT)
    for dependency in map(Path, stage["deps"]):
        if dependency.suffix == ".py":
            assert dependency in used, f"{name} depends on {dependency} for nothing"
        elif not str(dependency).startswith(DATA):
            assert (ROOT / dependency).exists(), f"{name}: {dependency} is not there"
            if any((ROOT / dependency).rglob("*.py")):
                assert any(dependency in file.parents for file in used), f"{name}: {dependency}"


@pytest.mark.parametrize("profile", ["demo", "ci", "paper"])
def test_parameters_of_stages_are_leaves_of_every_profile(profile: str) -> None:
    params = YAML(typ="safe").load((ROOT / f"pipelines/profiles/{profile}.yaml").read_text())
    for name, stage in PIPELINE["stages"].items():
        for item in stage.get("foreach", [""]):
            for key in stage.get("do", stage).get("params", []):
                value = params
                for step in key.replace("${item}", item).split("."):
                    assert step in value, f"{name}: {key} is not in {profile}"
                    value = value[step]
                assert not isinstance(value, dict), f"{name}: {key} is not a leaf"


def test_every_stage_says_what_it_is_for() -> None:
    assert all(stage.get("desc") for _, stage in stages())


def test_the_pin_has_all_stages_and_none_that_is_no_more() -> None:
    pinned = YAML(typ="safe").load((ROOT / "dvc.lock").read_text())["stages"]
    assert set(pinned) == set(stage_names(ROOT))
