"""The pipeline file: complete dependencies, sections of parameters, one folder a stage and item."""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

from pasta.config import profile_names, profile_text
from reports.source.catalog import names as report_names
from reports.source.data import REPORTS
from tests.conftest import ROOT
from tests.pipelines.imports import reached

# Code that reads parameters, checks, stores, tracks and spreads work, but never changes a result:
# values of parameters are dependencies of their own, and a table that breaks its contract stops a
# stage. The parameters know the settings of all packages; a stage that uses some has their package.
SETTINGS = [file.relative_to(ROOT) for file in sorted(ROOT.glob("pasta/**/settings.py"))]
PLUMBING = [
    *SETTINGS,
    *map(Path, ("analysis/__init__.py", "analysis/tables.py", "reports/__init__.py")),
    Path("pasta/datasets/vocabulary.py"),  # what tables are checked against
    *map(Path, ("reports/source/__init__.py", "reports/source/plots")),  # figures go to MLflow
    *(
        Path("pasta") / f"{name}.py"
        for name in (
            *(
                "__init__",
                "compute",
                "config",
                "contracts",
                "errors",
                "git",
                "json_files",
                "layout",
            ),
            *(
                "name_clash",
                "paths",
                "pinned",
                "processes",
                "progress",
                "readings",
                "registry",
                "resume",
                "sections",
            ),
            *("stage", "store", "tables", "text_files", "tracking"),
        )
    ),
]
DATA = Path("pipelines/data")
FIGURES = Path("reports/figures")
PIPELINE: dict[str, Any] = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())
STAGES = {name: stage.get("do", stage) for name, stage in PIPELINE["stages"].items()}


@lru_cache
def resolved() -> dict[str, Any]:
    """Every stage with its items, as DVC sees it."""
    with Repo(str(ROOT)) as repo:
        return {str(stage.name): stage for stage in repo.index.stages if stage.cmd}


def paths(things: Any) -> list[Path]:
    found = [Path(one.fs_path) for one in things if not getattr(one, "params", None)]
    return [path.relative_to(ROOT) for path in found if path.name != "params.yaml"]


@pytest.mark.parametrize("name", STAGES)
def test_every_module_a_stage_imports_is_among_its_dependencies(name: str) -> None:
    script = Path(f"pipelines/{name}.py")
    assert STAGES[name]["cmd"].split()[:3] == ["python", "-m", f"pipelines.{name}"]
    covered = [*map(Path, STAGES[name]["deps"]), *PLUMBING]
    missing = [
        str(file)
        for file in sorted(reached(ROOT / script, ROOT))
        if not any(file == path or path in file.parents for path in covered)
    ]
    assert not missing, f"{name} does not depend on {missing}"


@pytest.mark.parametrize("name", STAGES)
def test_dependencies_on_code_are_all_used_and_there(name: str) -> None:
    used = reached(ROOT / f"pipelines/{name}.py", ROOT)
    for dependency in map(Path, STAGES[name]["deps"]):
        if dependency.is_relative_to(DATA) or dependency.is_relative_to("pipelines/annotations"):
            continue
        if FIGURES in dependency.parents or str(dependency).startswith("${"):
            continue
        assert (ROOT / dependency).exists(), f"{name}: {dependency} is not there"
        if dependency.suffix == ".py":
            assert dependency in used, f"{name} depends on {dependency} for nothing"
        elif any((ROOT / dependency).rglob("*.py")):
            assert any(dependency in file.parents for file in used), f"{name}: {dependency}"


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_has_one_folder_for_each_item_and_says_what_it_is_for(name: str) -> None:
    stage = STAGES[name]
    assert stage["desc"]
    outs = [next(iter(out)) if isinstance(out, dict) else out for out in stage["outs"]]
    folders = [out for out in outs if Path(out).is_relative_to(DATA)]
    items = {"", "/${key}", "/${item}"}
    assert all(folder in {f"{DATA}/{name}{item}" for item in items} for folder in folders)
    assert len(folders) <= 1
    assert all(Path(out).is_relative_to("reports") for out in outs if out not in folders)


def test_nothing_a_stage_makes_stays_when_it_runs_again() -> None:
    assert "persist" not in (ROOT / "dvc.yaml").read_text()


@pytest.mark.parametrize("profile", profile_names(ROOT))
def test_parameters_of_stages_are_in_every_profile(profile: str) -> None:
    params = YAML(typ="safe").load(profile_text(profile, ROOT))
    for name, stage in STAGES.items():
        items = PIPELINE["stages"][name].get("foreach", [""])
        if isinstance(items, str):
            items = reduce(getitem, items.strip("${}").split("."), params)
        for key in stage.get("params", []):
            for item in items:
                value: Any = params
                named = items[item] if isinstance(items, dict) else item
                filled = key.replace("${key}", str(item)).replace("${item}", str(named))
                for field, value_of in named.items() if isinstance(named, dict) else ():
                    filled = filled.replace(f"${{item.{field}}}", str(value_of))
                for step in filled.split("."):
                    assert step in value, f"{name}: {key} is not in the profile {profile}"
                    value = value[step]


# Seeds in modules that a stage imports, in functions that it does not call.
NOT_CALLED = {
    "gallery": {"drawing", "splitting"},
    "simulate": {"analysing"},
    "votes": {"simulating", "analysing"},
    "applications": {"explaining"},
    "analyse": {"explaining", "measuring", "simulating"},
    "timing": {"explaining"},
}


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_declares_the_seeds_that_it_reads_and_no_others(name: str) -> None:
    declared = {key for key in STAGES[name].get("params", []) if key.startswith("seed")}
    code = [(ROOT / file).read_text() for file in reached(ROOT / f"pipelines/{name}.py", ROOT)]
    read = {found for text in code for found in re.findall(r"params\.seeds\.(\w+)", text)}
    assert declared == {f"seeds.{one}" for one in read - NOT_CALLED.get(name, set())}


def test_training_anew_redraws_nothing() -> None:
    """`dvc exp run -S seeds.training=1`."""
    drawn = {"images"}
    for seed in ("training", "explaining", "measuring", "simulating", "analysing"):
        readers = {name for name in STAGES if f"seeds.{seed}" in STAGES[name].get("params", [])}
        assert readers and not readers & drawn


def test_every_data_folder_a_stage_reads_is_made_by_a_stage() -> None:
    made = [path for stage in resolved().values() for path in paths(stage.outs)]
    for name, stage in resolved().items():
        for path in paths(stage.deps):
            if path.is_relative_to(DATA) or path.is_relative_to(FIGURES):
                known = any(path.is_relative_to(one) or path in one.parents for one in made)
                assert known, f"{name} reads {path}, which no stage makes"


@pytest.mark.parametrize("name", report_names())
def test_a_report_declares_every_folder_that_it_reads(name: str) -> None:
    declared = paths(resolved()[f"report@{name}"].deps)
    entry = REPORTS.entry(name).metadata
    wanted = [DATA / folder for folder in entry["reads"]]
    wanted += [FIGURES / picture for picture in entry.get("figures", ())]
    lacking = [path for path in wanted if not any(path.is_relative_to(one) for one in declared)]
    assert not lacking, f"report@{name} reads {lacking}"


def test_the_pin_has_all_stages_and_none_that_is_no_more() -> None:
    pinned = YAML(typ="safe").load((ROOT / "dvc.lock").read_text())["stages"]
    assert set(pinned) == set(resolved())


def test_the_pipeline_can_be_read() -> None:
    assert len((ROOT / "dvc.yaml").read_text().splitlines()) <= 350


FORBIDDEN = re.compile(
    r"persist:|persist=|fingerprint|sys\.modules\[|os\._exit|\bgc\.|get_context\(.fork|importlib\.reload"
)


@pytest.mark.parametrize("folder", ["pasta", "pipelines", "analysis", "reports"])
def test_there_is_no_second_build_system_and_no_trick_with_processes(folder: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        if DATA not in file.relative_to(ROOT).parents
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if FORBIDDEN.search(line)
    ]
    assert not found
