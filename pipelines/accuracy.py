"""DVC stage `accuracy`: the classifiers of all groups in one table and figure (P1, Fig. 6)."""

from __future__ import annotations

from pasta import store
from pasta.layout import groups
from pasta.models.suite import collect, titles
from pasta.paths import DATA, FIGURES, project_root
from pasta.stage import run_stage
from reports.source.plots.classifiers import accuracy_figure
from reports.source.plots.style import style


def main() -> None:
    """Collect the accuracies of all trained classifiers."""
    root, scores = project_root(), collect(groups())
    with store.atomic(root / DATA / "accuracy" / "accuracy.csv") as temporary:
        scores.to_csv(temporary, index=False, lineterminator="\n")
    drawn = accuracy_figure(scores[scores["measure"] == "accuracy"], titles())
    with store.atomic(root / FIGURES / "accuracy.svg") as temporary, style():
        # the names of its parts are made on saving
        drawn.savefig(temporary, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    run_stage(main)
