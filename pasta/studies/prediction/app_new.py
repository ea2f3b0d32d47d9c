"""`pasta study prediction new`: an experiment for the browser, from what its stage made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.config import load_params
from pasta.errors import PastaError
from pasta.explanations.rendering import overlay
from pasta.paths import project_root
from pasta.registry import did_you_mean
from pasta.seeds import generator
from pasta.studies.prediction.app_items import Experiment, write_study
from pasta.studies.prediction.design import make_plan, seats
from pasta.studies.prediction.settings import BASELINE, PredictionParams
from pasta.studies.prediction.shown import Shown, map_file, shown_experiments
from pasta.studies.prediction.study import VERSION

Pixels = NDArray[np.uint8]
_NOTHING = np.zeros((1, 1), np.float32)  # a map that leaves its image as it is


def prepare(folder: Path, only: str | None) -> tuple[int, str]:
    """Write the folder of a study with one experiment: ``only``, or the first one.

    Returns
    -------
    How many images are shown, and what they are called.
    """
    params = load_params()
    made = {one.experiment: one for one in shown_experiments(project_root())}
    if not made:
        raise PastaError("there are no images to show yet: `dvc repro experiments` makes them")
    if only is not None and only not in made:
        raise PastaError(f"there is no experiment {only!r}. {did_you_mean(only, list(made))}")
    shown = made[only or next(iter(made))]
    plan = app_plan(shown, params.prediction, params.seeds.simulating)
    experiment = shown_experiment(shown, params.prediction)
    write_study(folder, plan, experiment, VERSION)
    images = plan["image_id"].nunique() + len(experiment.practice)
    return images, f"images of the experiment {shown.experiment!r}"


def app_plan(shown: Shown, settings: PredictionParams, seed: int) -> pd.DataFrame:
    """Who sees what: the plan of the study, with the practice and the places of catch trials.

    Parameters
    ----------
    shown
        The experiment.
    settings, seed
        Of the study and of its plan.

    Returns
    -------
    DataFrame
        The columns of :func:`.design.make_plan`, and ``order`` within the session. A catch trial
        comes at a random place among the tests, the same for everybody who sees the same images.
    """
    design, name = settings.design, shown.experiment
    people = seats(name, settings.conditions, design.per_condition * len(settings.conditions))
    plan = make_plan(shown.pool, people, design, seed, name)
    plan["order"] = plan["position"].astype(float)
    places = plan["participant_id"].map(people.set_index("participant_id")["place"])
    catches = plan["phase"] == "catch"
    for (place, session), own in plan[catches].groupby([places[catches], "session"]):
        random = generator(seed, "study app", "catch", name, int(str(place)), int(str(session)))
        after = random.integers(0, design.test + 1, own["position"].max())
        # Two at the same place keep their order; thousandths tell them apart.
        shift = after[own["position"] - 1] + 0.5 + own["position"] / 1000
        plan.loc[own.index, "order"] = shift
    _, asked = practice_images(shown, design.practice)
    tests = pd.DataFrame(
        [
            {"image_id": image, "shown": label, "position": position, "order": float(position)}
            for position, (image, label) in enumerate(asked, start=1)
        ],
        columns=["image_id", "shown", "position", "order"],
    )
    who = people[["participant_id", "condition"]].merge(tests, how="cross")
    who = who.assign(experiment=name, session=0, phase="practice")
    whole: pd.DataFrame = pd.concat([who[list(plan)], plan], ignore_index=True)
    return whole


def practice_images(
    shown: Shown, tests: int
) -> tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]:
    """Examples and tests of the practice, each an image with the class shown; tests come last."""
    own = shown.images[shown.images["phase"] == "practice"]
    pairs = [(str(one), str(label)) for one, label in own[["image_id", "shown"]].to_numpy()]
    if pairs and len(pairs) < tests:
        raise PastaError(
            f"{shown.experiment}: the practice has {len(pairs)} images, but prediction.design "
            f"asks for {tests} tests; `dvc repro experiments` makes them anew"
        )
    first = len(pairs) - min(tests, len(pairs))
    return pairs[:first], pairs[first:]


def shown_experiment(shown: Shown, settings: PredictionParams) -> Experiment:
    """What an experiment shows, drawn as the project draws it; both pictures have one size."""
    missing = [
        one
        for one in settings.conditions
        if one != BASELINE and not map_file(shown.folder, one).is_file()
    ]
    if missing:
        raise PastaError(
            f"{shown.experiment}: there are no maps of the condition {missing[0]!r} yet: "
            "`dvc repro experiments` makes them"
        )
    classes = sorted(set(shown.pool["shown"]) | set(shown.pool["label"]))
    if len(classes) != 2:
        raise PastaError(f"{shown.experiment}: needs two classes, has {', '.join(classes)}")
    rows = dict(zip(shown.images["image_id"], shown.images["row"].astype(int), strict=True))

    @cache
    def maps(condition: str) -> tuple[NDArray[np.float16], bool] | None:
        found = shown.maps(condition)
        return None if found is None else (found, bool((np.asarray(found) < 0).any()))

    def image(name: str) -> Pixels:
        return overlay(np.asarray(shown.pixels[rows[name]]), _NOTHING, False, note=False)

    def explanation(condition: str, name: str) -> Pixels | None:
        found = maps(condition)
        if found is None:
            return None
        values, signed = found
        one = np.asarray(values[rows[name]], np.float32)
        return overlay(np.asarray(shown.pixels[rows[name]]), one, signed)

    examples, _ = practice_images(shown, settings.design.practice)
    return Experiment(shown.experiment, (classes[0], classes[1]), image, explanation, examples)
