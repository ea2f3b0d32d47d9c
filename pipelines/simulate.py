"""DVC stage `simulate`: the answers that a study begins with, as a batch."""

from __future__ import annotations

import typer

from pasta.config import load_params
from pasta.errors import PastaError
from pasta.layout import groups
from pasta.paths import project_root
from pasta.stage import run_stage
from pasta.studies.batches import write_simulated
from pasta.studies.registry import load_study
from pasta.tracking import tracked_run


def main(name: str) -> None:
    """Let simulated people take part in a study, or read a release; else leave no answers."""
    params, root, explained = load_params(), project_root(), groups()
    study = load_study(name, params)
    if study.simulate is None:
        raise PastaError(f"the study {name!r} has no simulated people")
    with tracked_run(
        "annotations",
        f"simulate@{name}",
        f"{study.settings.get('source', '')} answers to {name}".strip(),
        about=f"The answers that the study {name!r} begins with: of simulated people, of a "
        "release, or none.",
        tags={"study": name, "dataset": ", ".join(dict.fromkeys(one.dataset for one in explained))},
        inputs=[group.explanations for group in explained]
        if study.reads is None
        else study.reads(root),
        params=study.settings,
    ) as run:
        simulated = study.simulate(explained, params)
        write_simulated(study, simulated, root)
        for reason, number in simulated.dropped.items():
            typer.echo(f"left out: {number:,} {reason}")
        run.log_metrics({table: len(part) for table, part in simulated.frames.items()})


if __name__ == "__main__":
    run_stage(main)
