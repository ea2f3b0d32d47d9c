"""`pasta outcome`: what the last run of the pipeline made, and how long each stage took."""

from __future__ import annotations

from pathlib import Path


def outcome() -> None:
    """Print the stages with their seconds and memory, and where the results are."""
    from pasta import store
    from pasta.commands.show import console, print_table
    from pasta.paths import FIGURES, TIMINGS, project_root

    root = project_root()
    notes = [store.read_json(file) for file in sorted((root / TIMINGS).glob("*.json"))]
    rows = [(n["stage"], f"{n['seconds']:.1f}", f"{n['peak_mebibytes']:,}") for n in notes]
    total = f"{sum(note['seconds'] for note in notes):.1f} s in all"
    columns = ("stage", "seconds", "MiB")
    print_table("Stages, as last run", columns, rows, numbers=columns[1:], caption=total)
    for file in _results(root / FIGURES):
        console().print(f"[green]made[/] {file.relative_to(root)}")


def _results(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.*"), *folder.parent.glob("*.pdf")])
