"""`pasta outcome`: what the last run of the pipeline made, and how long each stage took."""

from __future__ import annotations

from pathlib import Path


def outcome() -> None:
    """Print the stages with their seconds and memory, the reports, and what was found."""
    from pasta import store
    from pasta.commands.show import console, print_table
    from pasta.paths import DATA, FIGURES, TIMINGS, project_root

    root = project_root()
    notes = [store.read_json(file) for file in sorted((root / TIMINGS).glob("*.json"))]
    rows = [(n["stage"], f"{n['seconds']:.1f}", f"{n['peak_mebibytes']:,}") for n in notes]
    total = f"{sum(note['seconds'] for note in notes):.1f} s in all"
    columns = ("stage", "seconds", "MiB")
    print_table("Stages, as last run", columns, rows, numbers=columns[1:], caption=total)
    for file in sorted((root / FIGURES.parent).glob("*.pdf")):
        console().print(f"[green]made[/] {file.relative_to(root)}")
    if (root / DATA / "analysis").is_dir():
        _say_findings(root / DATA)


def _say_findings(data: Path) -> None:
    from pasta.commands.show import console
    from reports.pages.findings import headline_findings
    from reports.parts import any_simulated, parts

    votes = "simulated votes, which say nothing about people" if any_simulated(data) else "votes"
    console().print(f"\n[bold]What was found[/] (from {votes})")
    for sentence in headline_findings(parts(data)):
        console().print(f"- {sentence}", highlight=False)
