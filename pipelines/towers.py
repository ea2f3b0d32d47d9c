"""DVC stage `towers`: the same methods on image towers of growing size."""

from __future__ import annotations

from pasta.applications.prepared.towers import prepare_towers
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import DATA, project_root
from pasta.resume import kept_units
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main() -> None:
    """Explain images that nobody has rated on every tower."""
    params, root = load_params(), project_root()
    data, own = root / DATA, params.applications.backbones
    inputs = [data / "clip", data / "images"]
    about = own.model_dump(exclude={"towers"})
    with (
        tracked_run(
            "applications",
            "towers",
            "towers of growing size",
            about="The same methods on image towers of growing size, for a score to compare.",
            inputs=inputs,
            params=about,
            tags={"dataset": ", ".join(own.datasets)},
        ) as run,
        kept_units("towers", inputs) as kept,
    ):
        images = prepare_towers(
            groups(params),
            params,
            root,
            data / "towers",
            kept,
        )
        run.log_metrics({"towers": len(own.towers), "images": images})


if __name__ == "__main__":
    run_stage(main)
