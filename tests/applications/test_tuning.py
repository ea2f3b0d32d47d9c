"""Tuning: grids, the search and its memory, the choice, and the guard against over-optimising."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as some
from typer.testing import CliRunner

from pasta.applications.prepared.base import fresh_images
from pasta.applications.prepared.candidates import (
    Candidate,
    Grid,
    Layers,
    LiveSubject,
    make_grid,
    open_table,
    read_grid,
)
from pasta.applications.tuning import (
    CANDIDATE_COLUMNS,
    EACH,
    HELD_OUT,
    SEARCH,
    VERDICT_COLUMNS,
    Answer,
    Found,
    Tuned,
    best_of_each,
    candidate_table,
    choose,
    conclude,
    search,
    tune,
    verdict_table,
)
from pasta.commands.tune import tune as command
from pasta.errors import InputError, PastaError
from pasta.explanations.api import DEFAULTS
from pasta.explanations.attribution import shown_maps
from pasta.explanations.catalog import technique
from pasta.explanations.engine import Work, attributions
from pasta.models import checkpoint
from reports.source.plots.applications import tuning_figure
from tests.applications.small import DATASET, Small, small_project, with_classifier

LIME, GRADCAM = technique("lime/resnet50"), technique("gradcam/resnet50")
WIDTHS = {"kernel_width": [0.1, 0.25, 1.0]}


def answer(candidate: Candidate, score: Any, quality: Any = None) -> Answer:
    stars = np.asarray(score, np.float64)
    judged = np.full(len(stars), np.nan) if quality is None else np.asarray(quality, np.float64)
    return Answer(candidate, stars, judged)


def widths(*values: float, default: float = 0.25) -> Grid:
    return Grid(LIME, {"kernel_width": values}, {"kernel_width": default})


class TestGrid:
    def test_values_are_checked_and_equal_ones_are_there_once(self) -> None:
        grid = make_grid(LIME, {"kernel_width": [1, 0.25, 0.25], "segments": [5, 9]}, DEFAULTS)
        assert grid.choices == {"kernel_width": (1.0, 0.25), "segments": (5, 9)}
        assert grid.default == {"kernel_width": 0.25, "segments": 50} and len(grid) == 4
        assert list(grid.candidates())[1] == {"kernel_width": 1.0, "segments": 9}

    @pytest.mark.parametrize(
        ("key", "values", "problem"),
        [
            ("lime/resnet50", {"kernel_widht": [1.0]}, "no setting 'kernel_widht'.*kernel_width"),
            ("lime/resnet50", {}, "is empty"),
            ("lime/resnet50", {"kernel_width": []}, "no value for 'kernel_width'"),
            ("lime/resnet50", {"kernel_width": [-1.0]}, "kernel_width is -1.0, expected greater"),
            ("lime/resnet50", {"segments": [2.5]}, "segments is 2.5, expected a valid integer"),
            ("lime/resnet50", {"segments": [[2, 3]]}, "one value, not several"),
            ("fullgrad/resnet50", {"layer": ["x"]}, "has nothing to set"),
            ("lime_cbm/clip_qda", {"samples": [5]}, "needs a saliency technique"),
        ],
    )
    def test_what_cannot_be_tuned_is_an_error_that_says_why(
        self, key: str, values: Any, problem: str
    ) -> None:
        with pytest.raises(PastaError, match=problem):
            make_grid(technique(key), values, DEFAULTS)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [("", "empty"), ("{}", "empty"), ("- 1", "no grid"), ("a: 1", "no grid"), ("a: [", "read")],
    )
    def test_a_file_that_holds_no_grid_is_named(
        self, tmp_path: Path, text: str, problem: str
    ) -> None:
        file = tmp_path / "grid.yaml"
        file.write_text(text)
        with pytest.raises(InputError, match=f"grid.yaml: .*{problem}"):
            read_grid(file)

    @given(
        some.dictionaries(
            some.from_regex(r"[a-z_]{1,8}", fullmatch=True),
            some.lists(
                some.integers() | some.floats(allow_nan=False) | some.booleans(), max_size=4
            ),
            min_size=1,
        )
    )
    def test_a_grid_is_read_as_it_was_written(
        self, tmp_path_factory: pytest.TempPathFactory, values: dict[str, list[Any]]
    ) -> None:
        file = tmp_path_factory.mktemp("grid") / "grid.yaml"
        file.write_text(json.dumps(values).replace("Infinity", ".inf"))
        assert read_grid(file) == values

    def test_a_layer_has_one_name_however_it_is_counted(self, model: Any) -> None:
        layers = Layers(model, model.cam_layers()[-1])
        names = ["network.layer4.-1", "network.layer4.0", "network.layer1.-1"]
        grid = make_grid(GRADCAM, {"layer": names}, DEFAULTS, layers)
        assert grid.default == {"layer": "network.layer4.0"}
        assert grid.choices["layer"] == ("network.layer4.0", "network.layer1.0")
        with pytest.raises(PastaError, match=r"no layer 'network\.layer5'"):
            make_grid(GRADCAM, {"layer": ["network.layer5"]}, DEFAULTS, layers)


class Counted:
    """Prefers narrow kernels, and remembers which it was asked about."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def __call__(self, candidate: Candidate) -> Answer:
        width = float(candidate["kernel_width"])
        self.asked.append(width)
        return answer(candidate, [3 - width, 2.0, np.nan], [width, width, -width])


class TestSearch:
    def test_all_candidates_are_asked_once_in_the_order_of_the_grid(self) -> None:
        evaluate = Counted()
        found = search(widths(0.1, 0.25, 0.5), evaluate)
        assert evaluate.asked == [0.25, 0.1, 0.5]
        assert [one.candidate["kernel_width"] for one in found.answers] == [0.1, 0.25, 0.5]

    def test_few_trials_are_as_many_as_wanted_and_the_same_again(self) -> None:
        grid = widths(*(0.1 * step for step in range(1, 31)), default=5.0)
        first, second = Counted(), Counted()
        found = search(grid, first, trials=8)
        assert 1 <= len(found.answers) <= 8 and len(first.asked) == len(found.answers) + 1
        search(grid, second, trials=8)
        assert first.asked == second.asked


def found(default: Any, *others: Any) -> Found:
    rest = [answer({"kernel_width": 0.1 * place}, one) for place, one in enumerate(others, 1)]
    return Found(answer({"kernel_width": 9.0}, default), rest)


class TestChoice:
    def test_the_best_mean_wins_up_or_down(self) -> None:
        three = found([2, 2], [3, 3], [1, 1.5])
        assert choose(three).winner is three.answers[0]
        assert choose(three, direction=-1).winner is three.answers[1]

    def test_ties_are_kept_and_the_default_stays(self) -> None:
        three = found([2, 3], [3, 2], [1, 1])
        choice = choose(three)
        assert choice.winner is three.default and choice.tied == [three.default, three.answers[0]]
        assert not choice.all_same
        table = candidate_table("t", three, choice, 50, 0)
        assert table["tied"].tolist() == [True, True, False]
        assert "ties with" in conclude(verdict_of(three), choice)[0]

    def test_if_all_are_the_same_nothing_is_chosen_and_it_is_said(self) -> None:
        three = found([2, 3], [2, 3], [3, 2])
        choice = choose(three)
        assert choice.all_same and choice.winner is three.default
        assert "all candidates have the same score" in conclude(verdict_of(three), choice)[0]

    def test_nobody_wins_by_failing_on_hard_images(self) -> None:
        three = found([3, 1, np.nan], [5, np.nan, np.nan], [2, 1.5, np.nan])
        choice = choose(three)
        assert choice.compared == [three.default, three.answers[1]]
        assert choice.winner is three.default  # 2.0 to 1.75, where both have a score
        table = candidate_table("t", three, choice, 50, 0)
        assert table["missing"].tolist() == [1, 2, 1]
        assert table["score"].tolist() == pytest.approx([2, 5, 1.75])

    def test_if_no_map_shows_anything_the_default_stays(self) -> None:
        two = found([np.nan, np.nan], [np.nan, np.nan])
        assert choose(two).winner is two.default and choose(two).all_same

    def test_the_best_of_each_image_is_never_scored_lower_but_may_be_worse(self) -> None:
        two = Found(
            answer({"kernel_width": 9.0}, [2, 3, np.nan], [0.0, 1.0, 2.0]),
            [answer({"kernel_width": 0.1}, [4, 1, np.nan], [-1.0, 0.0, 0.0])],
        )
        best = best_of_each(two)
        assert best["score"][:2].tolist() == [4, 3] and best["quality"].tolist() == [-1, 1, 2]

    @pytest.mark.parametrize(
        ("gain", "words"), [(0.5, "better served"), (-0.5, "worse served"), (0.0, "not clear")]
    )
    def test_the_judge_and_not_the_score_says_who_is_better_served(
        self, gain: float, words: str
    ) -> None:
        base = np.linspace(-1, 1, 12)
        two = Found(
            answer({"kernel_width": 9.0}, base + 3, base), [answer({"kernel_width": 0.1}, base + 4)]
        )
        default = {"score": base + 3, "quality": base, "faithfulness": base}
        tuned = {"score": base + 4, "quality": base + gain, "faithfulness": base - 1}
        verdict = verdict_table("t", two, choose(two), tuned, default, 100, 0)
        assert tuple(verdict) == VERDICT_COLUMNS
        own = verdict.set_index(["part", "measure"])["estimate"]
        assert own[(HELD_OUT, "score")] == pytest.approx(1)
        assert own[(HELD_OUT, "faithfulness")] == pytest.approx(-1)
        assert words in conclude(verdict, choose(two))[-1]


def verdict_of(whole: Found) -> Any:
    score = {"score": whole.default.score}
    return verdict_table("t", whole, choose(whole), score, score, 50, 0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A small project with a classifier that has random weights."""
    project = with_classifier(small_project(tmp_path_factory.mktemp("project")))
    own = project.params.applications.model_copy(update={"subsets": 10, "resamples": 100})
    return replace(project, params=project.params.model_copy(update={"applications": own}))


@pytest.fixture(scope="module")
def model(small: Small) -> Any:
    return checkpoint.load(small.group.models / "resnet50", small.params, small.root)[0]


def tuned(small: Small, key: str, values: Any, **options: Any) -> Tuned:
    groups, numbers = [small.group], (3, 5)
    table = open_table(technique(key), values, groups, small.params, small.root, numbers, "a.key")
    return tune(table, small.params, small.scorer, {DATASET: None}, **options)


class TestMaps:
    def test_lime_candidates_share_passes_and_are_what_lime_gives(
        self, small: Small, model: Any
    ) -> None:
        fresh = fresh_images(small.group, small.params, 3, "")
        subject = LiveSubject(fresh, model, LIME, small.params)
        methods = small.params.explanations.methods
        for width, penalty in ((0.1, 1.0), (0.6, 0.2)):
            changed = methods.lime.model_copy(update={"kernel_width": width, "penalty": penalty})
            work = Work(
                subject.view,
                lambda part: fresh.images[part],
                subject.targets,
                methods.model_copy(update={"lime": changed}),
                small.params.seeds.explaining,
            )
            [part] = attributions(work, ["lime"])
            own = subject.shown({"kernel_width": width, "penalty": penalty})
            assert np.allclose(own, shown_maps(part.raw, "signed"), atol=1e-4)
        assert len(subject._lime) == 1
        subject.shown({"samples": 10})
        assert len(subject._lime) == 2

    def test_a_candidates_layer_is_the_one_that_is_looked_at(
        self, small: Small, model: Any
    ) -> None:
        fresh = fresh_images(small.group, small.params, 2, "")
        subject = LiveSubject(fresh, model, GRADCAM, small.params)
        usual, early = subject.shown({}), subject.shown({"layer": "network.layer1.0"})
        assert np.array_equal(usual, subject.shown({"layer": "network.layer4.0"}))
        assert not np.allclose(usual, early)


class TestTune:
    def test_a_layer_is_tuned_and_the_winner_is_compared_on_other_images(
        self, small: Small
    ) -> None:
        values = {"layer": [f"network.layer{stage}.-1" for stage in (2, 3, 4)]}
        heard: list[str] = []
        result = tuned(small, "gradcam/resnet50", values, tell=lambda one, _: heard.append(one.key))
        assert heard == 3 * ["gradcam/resnet50"]
        assert tuple(result.candidates) == CANDIDATE_COLUMNS and len(result.candidates) == 3
        best = int(result.candidates["score"].to_numpy().argmax())
        assert result.candidates["winner"].tolist() == [place == best for place in range(3)]
        images = result.images
        chosen = set(images.loc[images["part"] == SEARCH, "image_id"])
        others = set(images.loc[images["part"] == HELD_OUT, "image_id"])
        assert (len(chosen), len(others)) == (3, 5) and not chosen & others
        own: Any = result.verdict.set_index(["part", "measure"])
        assert own.loc[(HELD_OUT, "score"), "n"] <= 5
        held_out = images[images["part"] == HELD_OUT].groupby("candidate")["score"].mean()
        default = held_out[str(result.candidates["candidate"].iloc[0])]
        assert own.loc[(HELD_OUT, "score"), "second"] == pytest.approx(default)
        assert own.loc[(EACH, "score"), "estimate"] >= 0
        assert ("held-out", "quality") not in own.index  # nobody was simulated
        assert len(tuning_figure(result.candidates, result.verdict).axes) == 3
        assert tuned(small, "gradcam/resnet50", values).verdict.equals(result.verdict)

    def test_a_grid_of_the_default_alone_is_refused(self, small: Small) -> None:
        with pytest.raises(PastaError, match="default only"):
            tuned(small, "lime/resnet50", {"kernel_width": [0.25]})

    def test_too_few_images_are_said_before_any_work(
        self, small: Small, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Those that are there are shared out between search and comparison."""
        where = ([small.group], small.params, small.root)
        table = open_table(LIME, WIDTHS, *where, (8, 5), "some.keys")
        assert "10 test images that nobody has rated, not 13 (some.keys)" in capsys.readouterr().err
        (search,), (held_out,) = table.search, table.held_out
        assert (len(search.fresh), len(held_out.fresh)) == (6, 4)
        section = small.params.explanations.model_copy(update={"images": 99})
        all_rated = small.params.model_copy(update={"explanations": section})
        with pytest.raises(PastaError, match=r"no dataset has test images left .*some\.keys"):
            open_table(LIME, WIDTHS, where[0], all_rated, where[2], (8, 5), "some.keys")


def test_the_command_prints_the_verdict_and_tracks_each_candidate(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small.root)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    (small.group.explanations).mkdir(parents=True)
    (small.group.explanations / "explanations.parquet").touch()  # says that the stage has run
    grid = tmp_path / "grid.yaml"
    grid.write_text("kernel_width: [0.1, 0.25, 1.0]\n")
    app = typer.Typer()
    app.command()(command)
    numbers = ["--dataset", "catsdogscars", "--search", "3", "--held-out", "5", "--subsets", "10"]
    given_ = ["--technique", "lime/resnet50", "--grid", str(grid), *numbers]
    done = CliRunner().invoke(app, [*given_, "--json"], catch_exceptions=False)
    report = json.loads(done.stdout)
    assert report["default"] == {"kernel_width": 0.25} and len(report["candidates"]) == 3
    assert {row["part"] for row in report["verdict"]} == {SEARCH, HELD_OUT, EACH}
    runs = mlflow.search_runs(experiment_names=["explanations"], output_format="list")
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if run not in parents]
    assert [run.info.run_name for run in parents] == ["tune lime/resnet50"]
    scores = {run.data.params["kernel_width"]: run.data.metrics["score"] for run in children}
    assert scores == pytest.approx(
        {row["candidate"].split()[-1]: row["score"] for row in report["candidates"]}
    )
    again = CliRunner().invoke(app, given_, catch_exceptions=False)
    assert "kernel_width 0.25" in again.stdout and "default" in again.stdout
    unknown = CliRunner().invoke(app, [*given_[:3], str(tmp_path / "no.yaml"), *numbers])
    assert isinstance(unknown.exception, PastaError)


def test_the_help_teaches_what_a_grid_is() -> None:
    app = typer.Typer()
    app.command()(command)
    words = CliRunner().invoke(app, ["--help"]).stdout
    for part in ("kernel_width:", "layer", "over-optimised", "--trials", "nested run"):
        assert part in words
