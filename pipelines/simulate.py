"""DVC stage `simulate`: the votes of simulated raters, as a batch of annotations."""

from __future__ import annotations

from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import project_root
from pasta.stage import run_stage
from pasta.studies.ratings.simulation.study import simulated_study, write_study
from pasta.studies.ratings.study import PLANTED, SIMULATED
from pasta.tracking import tracked_run


def main() -> None:
    """Let simulated raters rate the explanations of all groups; with real ones, leave no votes."""
    params, root, explained = load_params(), project_root(), groups()
    with tracked_run(
        "annotations",
        "simulate",
        params.annotations.source,
        inputs=[group.explanations for group in explained],
        params=params.annotations.model_dump(mode="json"),
    ) as run:
        study = simulated_study(explained, params)
        write_study(study, params, root / SIMULATED, root / PLANTED)
        run.log_metrics({name: len(part) for name, part in study.annotations.parts().items()})


if __name__ == "__main__":
    run_stage(main)
