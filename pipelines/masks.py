"""DVC stage `masks`: what classifier and encoder say about RISE's masks, for steering."""

from __future__ import annotations

from pasta.applications.prepared.masks import prepare_masks
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import DATA, project_root
from pasta.resume import kept_units
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main() -> None:
    """Ask about thousands of masks of images that nobody has rated."""
    params, root = load_params(), project_root()
    data, own = root / DATA, params.applications.steering
    inputs = [data / "clip", data / "images", data / "train"]
    about = own.model_dump(exclude={"weights"})
    with (
        tracked_run(
            "applications",
            "masks",
            "masks of RISE",
            about="What the classifier and the encoder say about masks, for a score to weigh.",
            inputs=inputs,
            params=about,
            tags={"dataset": ", ".join(params.datasets), "encoder": params.embedding.encoder},
        ) as run,
        kept_units("masks", inputs) as kept,
    ):
        seconds = prepare_masks(
            groups(params),
            params,
            root,
            data / "masks",
            kept,
        )
        run.log_table(seconds, "seconds.csv")
        spent = float(seconds[["model", "vectors"]].to_numpy().sum())
        run.log_metrics({"images": len(seconds), "seconds": spent})


if __name__ == "__main__":
    run_stage(main)
