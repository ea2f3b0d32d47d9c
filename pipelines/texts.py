"""DVC stage `texts`: texts, a classifier of them, the weights of their words, and metrics."""

from __future__ import annotations

from pasta import compute
from pasta.config import load_params
from pasta.paths import DATA, project_root
from pasta.stage import run_stage
from pasta.texts.stage import TextStudy, study_texts
from pasta.texts.tables import STAGE
from pasta.tracking import Run, require_tracking, tracked_run


def main() -> None:
    """Train a classifier of texts, explain test texts by all methods and measure the weights."""
    require_tracking()
    compute.limit_threads()  # these networks are too small to share the work of one pass
    params, root = load_params(), project_root()
    seeds = {
        "drawing": params.seeds.drawing,
        "splitting": params.seeds.splitting,
        "training": params.seeds.training,
        "explaining": params.seeds.explaining,
        "measuring": params.seeds.measuring,
    }
    study = study_texts(params.texts, root, seeds, root / DATA / STAGE)
    with tracked_run(
        "explanations",
        STAGE,
        "words of texts",
        about="Words of texts weighed by methods of explanation, and metrics of the weights.",
        params=params.texts.model_dump(mode="json"),
        tags={"model": params.texts.classifier},
    ) as run:
        _track(run, study)


def _track(run: Run, study: TextStudy) -> None:
    keys = ["method", "metric"]
    means = study.metrics.groupby(keys, sort=False)["value"].mean().dropna().reset_index()
    run.log_metrics(
        {
            "accuracy": study.accuracy,
            "explanations": len(study.explanations),
            "without_weights": int((study.explanations["status"] != "ok").sum()),
            "unusable_files": len(study.problems),
            **dict(zip(means["metric"] + "." + means["method"], means["value"], strict=True)),
        }
    )
    if study.history is not None:
        run.log_curve("loss", study.history.loss)
        run.log_curve("validation", study.history.validation)
    table = means.pivot(index="method", columns="metric", values="value")
    run.log_table(table.reset_index(), "metrics.csv")


if __name__ == "__main__":
    run_stage(main)
