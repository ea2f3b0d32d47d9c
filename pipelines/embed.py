"""DVC stage `embed`: the vectors of all explanations, in every way a study needs."""

from __future__ import annotations

from pasta.config import load_params
from pasta.embedding.stage import embed_groups
from pasta.embedding.stored import variants
from pasta.layout import groups
from pasta.paths import project_root
from pasta.progress import lines
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main() -> None:
    """Embed the explanations of all groups: the usual way, and with one thing changed at a time."""
    params, root = load_params(), project_root()
    every, settings = groups(params, root), params.embedding
    inputs = [group.explanations for group in every]
    plain = settings.model_dump(mode="json")
    with (
        tracked_run(
            "explanations",
            "embed",
            f"embeddings by {settings.encoder}",
            about="Vectors of all explanations, in every way that a study of the score compares.",
            inputs=inputs,
            params=plain,
            tags={
                "dataset": ", ".join(dict.fromkeys(group.dataset for group in every)),
                "encoder": settings.encoder,
            },
        ) as run,
        lines("embeddings") as say,
    ):
        ways = variants(settings, params.seeds.training)
        seconds = embed_groups(every, ways, root, say, params)
        run.log_metrics({"seconds": float(seconds["seconds"].sum())})
        run.log_table(seconds, "seconds.csv")


if __name__ == "__main__":
    run_stage(main)
