"""DVC stage `candidates`: maps under every setting that tuning is to choose among."""

from __future__ import annotations

from pasta.applications.prepared.candidates import prepare_candidates
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import DATA, project_root
from pasta.resume import kept_units
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main() -> None:
    """Explain images that nobody has rated under every setting."""
    params, root = load_params(), project_root()
    data, own = root / DATA, params.applications.tuning
    inputs = [data / "clip", data / "images", data / "train"]
    about = own.model_dump(include={"search", "held_out"})
    with (
        tracked_run(
            "applications",
            "candidates",
            "candidates of tuning",
            about="Maps under every setting that tuning is to choose among.",
            inputs=inputs,
            params=about,
            tags={"dataset": ", ".join(params.datasets)},
        ) as run,
        kept_units("candidates", inputs) as kept,
    ):
        images = prepare_candidates(
            groups(params),
            params,
            root,
            data / "candidates",
            kept,
        )
        run.log_metrics({"techniques": len(own.studies), "images": images})


if __name__ == "__main__":
    run_stage(main)
