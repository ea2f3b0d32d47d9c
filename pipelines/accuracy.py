"""DVC stage `accuracy`: the classifiers of all groups in one table and figure (P1, Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pasta import store
from pasta.explanations.techniques import BACKBONE_TITLES
from pasta.layout import Group, groups
from pasta.paths import DATA, FIGURES, project_root
from pasta.stage import run_stage
from reports.source.plots.classifiers import accuracy_figure
from reports.source.plots.style import style


def main() -> None:
    """Collect the accuracies of all trained classifiers."""
    root, scores = project_root(), collect(groups())
    with store.atomic(root / DATA / "accuracy" / "accuracy.csv") as temporary:
        scores.to_csv(temporary, index=False, lineterminator="\n")
    trained = set(scores["model"])
    titles = {name: title for name, title in BACKBONE_TITLES.items() if name in trained}
    drawn = accuracy_figure(scores[scores["measure"] == "accuracy"], titles)
    with store.atomic(root / FIGURES / "accuracy.svg") as temporary, style():
        # the names of its parts are made on saving
        drawn.savefig(temporary, format="svg", metadata={"Date": None})


def collect(groups: Sequence[Group]) -> pd.DataFrame:
    """The scores of several groups as one tidy table."""
    rows = [
        {
            "dataset": group.dataset,
            "model": model,
            "measure": measure,
            "n": own["n"],
            **own[measure],
        }
        for group in groups
        for model, own in store.read_json(group.models / "accuracy.json").items()
        for measure in ("accuracy", "macro_f1")
    ]
    columns = ["dataset", "model", "measure", "n", "estimate", "low", "high"]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)


if __name__ == "__main__":
    run_stage(main)
