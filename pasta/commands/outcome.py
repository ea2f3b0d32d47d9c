"""`pasta outcome`: what the last run of the pipeline made, and how long each stage took."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def outcome() -> None:
    """Print the stages with their seconds and memory, the reports, and what was found.

    Memory is that of the largest process of a stage.
    """
    from pasta import store
    from pasta.commands.show import console, print_table
    from pasta.paths import DATA, FIGURES, TIMINGS, project_root

    root = project_root()
    found = [store.read_json(file) for file in (root / TIMINGS).glob("*.json")]
    by_stage = {note["stage"]: note for note in found}
    notes = [by_stage[name] for name in stage_names(root) if name in by_stage]
    rows = [(n["stage"], f"{n['seconds']:.1f}", f"{n['peak_mebibytes']:,}") for n in notes]
    total = f"{sum(note['seconds'] for note in notes):.1f} s in all, without DVC's own time"
    columns = ("stage", "seconds", "MiB")
    print_table("Stages, as last run", columns, rows, numbers=columns[1:], caption=total)
    for file in sorted((root / FIGURES.parent).glob("*.pdf")):
        console().print(f"[green]made[/] {file.relative_to(root)}")
    if (root / DATA / "analysis").is_dir():
        _say_findings(root / DATA)


def stage_names(root: Path) -> list[str]:
    """The stages of the pipeline as it is now; a stage for each item has one name for each."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe")
    params = yaml.load((root / "params.yaml").read_text())

    def items(stage: dict[str, Any]) -> list[str]:
        found = stage.get("foreach", [""])
        return list(params[found.strip("${}")] if isinstance(found, str) else found)

    stages = yaml.load((root / "dvc.yaml").read_text())["stages"]
    return [
        f"{name}@{item}" if item else name
        for name, stage in stages.items()
        for item in items(stage)
    ]


def _say_findings(data: Path) -> None:
    from pasta.commands.show import console
    from reports.pages.findings import headline_findings
    from reports.parts import any_simulated, parts

    votes = "simulated votes, which say nothing about people" if any_simulated(data) else "votes"
    console().print(f"\n[bold]What was found[/] (from {votes})")
    for sentence in headline_findings(parts(data)):
        console().print(f"- {sentence}", highlight=False)
