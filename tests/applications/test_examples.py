"""Examples with their votes, the ranking behind `pasta best`, and figures of the applications."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from pasta.applications.best import Best, best_picture, rank, score_answers
from pasta.applications.examples import COLUMNS, examples, rated, run_examples
from pasta.applications.mixture import TIE, run_mixture
from pasta.applications.pareto import run_pareto
from pasta.applications.steering import curve
from pasta.errors import PastaError
from pasta.explanations.catalog import technique
from pasta.explanations.single import Answer
from pasta.scoring.score import PastaScore, Score
from pasta.seeds import generator
from reports.source.plots import applications as plots
from tests.applications.made_up import measured, random_scores, scored, settings
from tests.scoring.small_scorer import SIDE, heat, make_root, make_scorer, pictures, tiny

torch.set_num_threads(1)


def voted(scores: pd.DataFrame, question: str = "Q1", seed: int = 0) -> pd.DataFrame:
    votes = generator(seed, "votes").integers(1, 6, (len(scores), 5))
    counts = (votes[:, :, None] == np.arange(1, 6)).sum(1)
    return pd.DataFrame(
        {
            "sample_id": scores["sample_id"],
            "question": question,
            "mode": 1 + counts.argmax(1),
            "mean": votes.mean(1),
            **{f"votes_{star}": counts[:, star - 1] for star in range(1, 6)},
            "simulated": True,
        }
    )


def test_best_and_worst_are_by_score_and_surprises_by_distance_to_the_votes() -> None:
    scores = random_scores(8)
    found = rated(scores, voted(scores), "Q1")
    table = examples(found, 2)
    assert list(table.columns) == list(COLUMNS)
    pool = found[found["held_out"]]
    firsts = table[table["place"] == 1].set_index("group")
    assert firsts.loc["best", "score"] == pool["score"].max()
    assert firsts.loc["worst", "score"] == pool["score"].min()
    assert firsts.loc["better than predicted", "surprise"] == pool["surprise"].max()
    assert firsts.loc["worse than predicted", "surprise"] == pool["surprise"].min()
    np.testing.assert_allclose(table["surprise"], table["mean"] - table["score"])


def test_no_image_and_no_technique_is_shown_twice_in_a_group() -> None:
    scores = random_scores(10)
    table = examples(rated(scores, voted(scores), "Q1"), 4)
    for _, own in table.groupby("group"):
        assert own["image_id"].is_unique
        assert own["technique"].is_unique
        assert own["place"].tolist() == list(range(1, len(own) + 1))


def test_only_held_out_images_are_shown_while_there_are_any() -> None:
    scores = random_scores(8)
    assert examples(rated(scores, voted(scores), "Q1"), 3)["held_out"].all()
    seen = scores.assign(held_out=False)
    table = examples(rated(seen, voted(seen), "Q1"), 3)
    assert len(table)
    assert not table["held_out"].any()


def test_where_nobody_was_kinder_than_predicted_nothing_is_called_so() -> None:
    scores = scored([[1.0, 1.0, 1.0, 1.0]])
    votes = voted(scores).assign(mean=2.0)
    groups = set(run_examples({"Q1": scores}, _both(votes), settings())["examples"]["group"])
    assert groups == {"best", "worst", "worse than predicted"}


def _both(votes: pd.DataFrame) -> pd.DataFrame:
    """Votes on another question beside those on the first."""
    return pd.concat([votes, votes.assign(question="Q2", mean=5.0)], ignore_index=True)


def test_explanations_without_votes_on_the_question_are_an_error() -> None:
    scores = random_scores(4)
    with pytest.raises(PastaError, match="votes on Q3"):
        rated(scores, voted(scores), "Q3")


def answer(method: str, shown: np.ndarray) -> Answer:
    image = pictures(1)[0]
    return Answer(
        technique(f"{method}/resnet50"),
        image,
        "cat",
        0.9,
        "cat",
        shown.astype(np.float32),
        (),
        "ok",
    )


def score(stars: float) -> Score:
    return Score("Q1", stars, None, None, None, True, "ok" if np.isfinite(stars) else "constant")


def test_equal_scores_share_a_place_and_what_has_no_score_has_none() -> None:
    good = np.array([0.2, 0.8, np.nan, 0.8 - TIE / 8, 0.1])
    answers = [answer("gradcam", heat(1)[0]) for _ in good]
    found = rank(answers, [score(1 + 4 * value) for value in good], good)
    assert [one.place for one in found] == [1, 1, 3, 4, None]
    assert [one.tied for one in found] == [True, True, False, False, False]


def test_a_slow_slope_of_scores_is_no_tie() -> None:
    good = np.array(
        [0.5 - step * TIE * 0.2 for step in range(5)]
    )  # each within a tie of the one before
    answers = [answer("gradcam", heat(1)[0]) for _ in good]
    found = rank(answers, [score(1 + 4 * value) for value in good], good)
    assert [one.place for one in found] == [1, 1, 3, 3, 5]


def test_answers_are_scored_as_they_would_be_one_by_one(tmp_path: Path) -> None:
    encoder = tiny()
    folder = make_scorer(make_root(tmp_path, encoder), encoder)
    metric = PastaScore.load("Q1", folder, encoder=encoder, batch_size=4)
    maps = heat(3)
    signed = 2 * maps[1] - 1
    answers = [
        answer("gradcam", maps[0]),
        answer("lime", signed),
        answer("eigencam", maps[2]),
        answer("gradcam++", np.zeros((SIDE, SIDE))),
    ]
    found = score_answers(metric, answers, "catsdogscars")
    for one, own in zip(answers[:3], found, strict=False):
        negative = one.technique.method == "lime"
        alone = metric.score(image=one.pixels, saliency=one.shown, label="cat", signed=negative)
        assert own.score == pytest.approx(float(alone), abs=1e-4)  # type: ignore[arg-type]
    assert np.isnan(found[3].score)
    weak = PastaScore.load("Q3", folder, encoder=encoder)
    warned = score_answers(weak, answers, "catsdogscars")
    assert [one.warning for one in found] == [""] * 4
    assert {one.warning for one in warned} == {"the scorer hardly predicts Q3: held-out kappa 0.10"}
    good = np.array([(one.score - 1) / 4 for one in found])
    best = Best("Q1", "?", rank(answers, found, good), False)
    assert best.ranked[-1].answer is answers[3]
    assert 590 <= best_picture(best, 2).shape[1] <= 600  # three tiles


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
