"""DVC stage `candidates`: maps under every setting that tuning is to choose among."""

from __future__ import annotations

from pasta.applications.prepared.candidates import count_units, prepare_candidates
from pasta.layout import groups
from pasta.params import load_params
from pasta.paths import DATA, project_root
from pasta.progress import bar
from pasta.resume import kept_units
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main() -> None:
    """Explain images that nobody has rated under every setting."""
    params, root = load_params(), project_root()
    data, own, every = root / DATA, params.applications.tuning, groups(params)
    inputs = [data / "clip", data / "images", data / "train"]
    about = own.model_dump(include={"search", "held_out"})
    with (
        tracked_run("applications", "candidates", "candidates of tuning", params=about),
        kept_units("candidates", inputs) as kept,
        bar("candidates", count_units(every, params), "units") as line,
    ):
        prepare_candidates(
            every,
            params,
            root,
            data / "candidates",
            kept,
            lambda words: line.advance(words=words),
        )


if __name__ == "__main__":
    run_stage(main)
