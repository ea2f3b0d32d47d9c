"""Small studies of all three kinds in a folder, made of random pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.seeds import generator
from pasta.studies.app.design import Settings, Step, Writer
from pasta.studies.app.texts import CONSENT_TEXT, THANKS_TEXT, named_texts
from pasta.studies.attention.app_items import Heat, Image, Shown, Words
from pasta.studies.attention.app_items import write_study as write_attention
from pasta.studies.prediction.app_items import Experiment
from pasta.studies.prediction.app_items import write_study as write_prediction

SIDE = 96
CLASSES = ("husky", "wolf")
CONDITIONS = ("baseline", "gradcam")


def pixels(*name: str | int) -> NDArray[np.uint8]:
    """A picture of coarse random squares."""
    coarse = generator(1, "picture", *name).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return np.kron(coarse, np.ones((SIDE // 8, SIDE // 8, 1), np.uint8))


def plain_study(folder: Path, seats: int, items: int = 3, votes: int | None = None) -> Path:
    """A study without pictures whose pages ask for one whole number each.

    Item k is on the seats k, k + 1, ... (modulo), on ``votes`` of them; by default on all.
    """
    folder.mkdir(parents=True)
    writer = Writer(folder)
    field = {"rating": {"type": "whole", "low": 1, "high": 10}}
    for item in range(items):
        about = {"sample_id": f"made/{item}/plain/none"}
        page = {"class": "cat", "lowest": "bad", "highest": "good", "scale": 10}
        writer.item(f"i{item}", Step("goodness", "goodness", page, field, about=about))
    own: list[list[str]] = [[] for _ in range(seats)]
    for item in range(items):
        for vote in range(votes or seats):
            own[(item * (votes or seats) + vote) % seats].append(f"i{item}")
    for one in own:
        writer.seat(one)
    settings = Settings(kind="attention", title="A plain study", demographics=False)
    writer.write(settings, named_texts(CONSENT_TEXT, "# What to do\n\nAnswer.\n", THANKS_TEXT))
    return folder


def prediction_study(folder: Path, participants: int = 4, stop: bool = True) -> Path:
    """An experiment with two conditions, and the full design of three sessions."""
    folder.mkdir(parents=True)
    rows = []
    for number in range(participants):
        about = {"participant_id": f"n{number:02d}", "condition": CONDITIONS[number % 2]}
        for position in range(1, 6):
            rows.append(_trial(about, 0, "practice", position, f"practice{position}"))
        for session in (1, 2, 3):
            training = [f"s{session}-training{place}" for place in range(1, 6)]
            for position, image in enumerate(training, start=1):
                rows.append(_trial(about, session, "training", position, image))
            for position in range(1, 8):
                rows.append(_trial(about, session, "test", position, f"s{session}-test{position}"))
            rows.append({**_trial(about, session, "catch", 1, training[2]), "order": 3.5})
    plan = pd.DataFrame(rows)
    plan["order"] = plan["order"].fillna(plan["position"])
    experiment = Experiment(
        "biased",
        CLASSES,
        lambda image: pixels("image", image),
        lambda condition, image: None if condition == "baseline" else pixels(condition, image),
        [("practice-a", CLASSES[0]), ("practice-b", CLASSES[1])],
    )
    write_prediction(folder, plan, experiment, stop=stop)
    return folder


def shown_class(image: str) -> str:
    """What the model says of an image."""
    return CLASSES[int(generator(1, "class", image).integers(2))]


def _trial(
    about: dict[str, str], session: int, phase: str, position: int, image: str
) -> dict[str, object]:
    trial = {"session": session, "phase": phase, "position": position, "image_id": image}
    return {**about, **trial, "shown": shown_class(image), "order": None}


def attention_study(folder: Path, people: int = 3) -> Path:
    """Two checks, then an image, a text and an explanation for everybody."""
    folder.mkdir(parents=True)
    shown: dict[str, Shown] = {
        "made/check1": Image(pixels("check1"), "cat", check=True),
        "made/check2": Image(pixels("check2"), "car", check=True),
        "made/cat": Image(pixels("cat"), "cat"),
        "text1": Words(
            ["The", "film", "was", "a", "joy", "from", "the", "first", "minute", "."],
            "a good review",
        ),
        "made/cat/gradcam/resnet50": Heat(pixels("heat"), "cat"),
    }
    rows = [
        {"annotator_id": f"n{number:02d}", "item": item, "position": position}
        for number in range(people)
        for position, item in enumerate(shown, start=1)
    ]
    write_attention(folder, pd.DataFrame(rows), shown)
    return folder
