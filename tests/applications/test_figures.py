"""Figures of the applications show what their tables say, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasta.applications.mixture import run_mixture
from pasta.applications.pareto import run_pareto
from pasta.applications.steering import curve
from reports.source.plots import applications as plots
from tests.applications.made_up import measured, random_scores, settings


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    scores = random_scores(12)
    values = measured(scores)
    return {
        **run_mixture(scores, values, settings(), 0),
        **run_pareto(scores, values, settings(), 0),
    }


def test_bars_are_as_long_as_wins_are_many(tables: dict[str, pd.DataFrame]) -> None:
    figure = plots.wins_figure(tables["wins"], {})
    assert figure is not None
    widths = sorted(bar.get_width() for bar in figure.axes[0].patches)  # type: ignore[attr-defined]
    assert widths == sorted(tables["wins"]["wins"])


def test_every_technique_has_a_point_and_the_front_a_name(tables: dict[str, pd.DataFrame]) -> None:
    figure = plots.pareto_figure(tables["places"], {"gradcam/resnet50": "GradCAM"})
    assert figure is not None
    [panel] = figure.axes
    points = panel.collections[-1].get_offsets()
    assert len(np.asarray(points)) == len(tables["places"])
    front = set(tables["places"].loc[tables["places"]["on_own_front"], "method"])
    named = {text.get_text().split("/")[0].lower() for text in panel.texts}
    assert named
    assert named <= front


def test_each_measure_has_a_panel(tables: dict[str, pd.DataFrame]) -> None:
    figure = plots.comparison_figure(tables["comparison"], {})
    assert figure is not None
    assert len(figure.axes) == 3
    rows = [
        {"image": image, "weight": weight, "score": weight, "faithfulness": -weight}
        for image in "abcdef"
        for weight in (0.0, 1.0)
    ]
    steering = plots.steering_figure(curve(pd.DataFrame(rows).assign(quality=np.nan), 20, 0))
    assert steering is not None
    assert [panel.get_title(loc="left") for panel in steering.axes] == [
        "predicted stars",
        "faithfulness correlation",
    ]


def test_empty_tables_give_no_figure(tables: dict[str, pd.DataFrame]) -> None:
    for figure, name in (
        (plots.wins_figure, "wins"),
        (plots.comparison_figure, "comparison"),
        (plots.pareto_figure, "places"),
    ):
        assert figure(tables[name].iloc[:0], {}) is None
    assert plots.steering_figure(pd.DataFrame({"weight": [], "measure": []})) is None
