"""DVC stage `timing`: how long the score takes on this machine; nothing depends on its table."""

from __future__ import annotations

import time

from pasta import store
from pasta.compute import limit_threads
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import SECONDS, project_root
from pasta.progress import lines
from pasta.scoring.timing import measure_seconds
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main() -> None:
    """Measure embedding, training and inference on the CPU and, where there is one, on a GPU."""
    root, params = project_root(), load_params()
    limit_threads()
    every, embedding = groups(params, root), params.embedding
    started = time.perf_counter()
    with lines("timing") as say:
        seed = params.seeds.training
        found = measure_seconds(every, embedding, params.scoring, root, seed, say)
    with store.atomic(root / SECONDS) as temporary:
        found.to_csv(temporary, index=False, lineterminator="\n")
    with tracked_run(
        "scorers",
        "timing",
        "seconds of the score",
        about="Seconds of embedding, training and inference (P1, Table 2) on this machine.",
        inputs=[group.explanations for group in every],
        params=params.scoring.timing.model_dump(),
        tags={"encoder": embedding.encoder, "scorer": params.scoring.studies.scorer},
        seconds=time.perf_counter() - started,
    ) as run:
        run.log_table(found, "seconds.csv")
        run.log_metrics(
            {
                f"{row['encoder']}.{row['device']}.{row['step']}": float(row["seconds"])
                for row in found.to_dict("records")
            }
        )


if __name__ == "__main__":
    run_stage(main)
