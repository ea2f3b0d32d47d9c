"""Boxes of concepts: prompts, scores of phrases, overlap, the whole command, and bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from pasta import store
from pasta.commands.data import app
from pasta.datasets.files.base import Instance
from pasta.datasets.files.box_sheets import SIDE, draw_boxes, sample_items
from pasta.datasets.files.boxes import (
    Detector,
    box_dataset,
    choose_boxes,
    count_tokens,
    find_spans,
    open_detector,
    phrases_of,
    score_phrases,
    write_prompts,
)
from pasta.datasets.files.cats_dogs_cars import CatsDogsCars
from pasta.datasets.files.images import PixelBox
from pasta.datasets.records import Item
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError, PastaError
from tests.datasets import trees
from tests.datasets.detectors import tiny_detector, tokenizer

CONCEPTS = VOCABULARIES["catsdogscars"].concepts


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_detector(tmp_path_factory.mktemp("detector"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Images without boxes, of two shapes."""
    root = trees.cats_dogs_cars(tmp_path / "images")
    (root / "boxes.csv").unlink()
    trees.picture(root / "train/cats/tall.jpg", 30, 80, "olive")
    return root


def source(root: Path) -> CatsDogsCars:
    return CatsDogsCars(root, 0)


def test_the_39_concepts_become_prompts_that_fit(tmp_path: Path) -> None:
    words = tokenizer(tmp_path)
    phrases = phrases_of(CONCEPTS)
    assert len(phrases) == 39 and phrases["license plate"] == "license_plate"
    prompts = write_prompts(list(phrases), 13, words, 256)
    assert [len(prompt) for prompt in prompts] == [13, 13, 13]
    narrow = write_prompts(list(phrases), 39, words, 12)
    for division in (prompts, narrow):
        assert [phrase for prompt in division for phrase in prompt] == list(phrases)
    assert max(count_tokens(prompt, words) for prompt in narrow) <= 12
    with pytest.raises(PastaError, match="'license plate' has more than 4 tokens"):
        write_prompts(["head", "license plate"], 13, words, 4)
    with pytest.raises(PastaError, match="different phrases"):
        phrases_of(["license_plate", "license-plate"])


def test_scores_of_phrases_are_means_over_their_tokens(tmp_path: Path) -> None:
    words: Any = tokenizer(tmp_path)
    tokens = words("head. license plate. eye.")["input_ids"]
    spans = find_spans(tokens, words.convert_tokens_to_ids("."))
    assert words.convert_ids_to_tokens(tokens)[3:6] == ["lice", "##nse", "plate"]
    assert spans == [[1], [3, 4, 5], [7]]
    # Two boxes; probabilities .9 for "head", (.8, .5, .2) for "license plate", 0 beyond the text.
    probabilities = torch.zeros(2, 24)
    probabilities[0, 1], probabilities[1, 3:6] = 0.9, torch.tensor([0.8, 0.5, 0.2])
    scores = score_phrases(torch.logit(probabilities), spans)
    assert scores.numpy() == pytest.approx(np.array([[0.9, 0, 0], [0, 0.5, 0]]), abs=1e-6)


def test_fractions_become_pixels_and_weaker_boxes_of_one_concept_go() -> None:
    # Centre and size as fractions of an image of 200 x 100 pixels.
    boxes = torch.tensor(
        [
            [0.5, 0.5, 0.5, 0.5],  # 50 25 150 75
            [0.5, 0.5, 0.5, 0.4],  # inside of it, overlap .8
            [0.95, 0.5, 0.2, 0.5],  # sticks out on the right: 170 25 200 75
            [0.25, 0.25, 0.001, 0.5],  # less than a pixel wide
        ]
    )
    scores = torch.tensor([[0.9, 0.4], [0.8, 0.6], [0.0, 0.5], [0.9, 0.9]])
    corners, phrases, found = choose_boxes(boxes, scores, (200, 100), 0.4, 0.5)
    rows = [
        (phrase, round(score, 3), *map(round, box))
        for phrase, score, box in zip(
            phrases.tolist(), found.tolist(), corners.tolist(), strict=True
        )
    ]
    assert rows == [
        (0, 0.9, 50, 25, 150, 75),
        (1, 0.6, 50, 30, 150, 70),
        (1, 0.5, 170, 25, 200, 75),
    ]
    every = choose_boxes(boxes, scores, (200, 100), 0.4, 0.85)
    assert len(every[0]) == 5  # 0.8 overlap is allowed now, the narrow box never is


def thin_out(boxes: np.ndarray, scores: np.ndarray, overlap: float) -> list[int]:
    """The best box, then the best that overlaps none of them too much, and so on."""
    chosen: list[int] = []
    for place in np.argsort(-scores, kind="stable"):
        x0, y0, x1, y1 = boxes[place]
        free = True
        for other in chosen:
            a0, b0, a1, b1 = boxes[other]
            inner = max(min(x1, a1) - max(x0, a0), 0) * max(min(y1, b1) - max(y0, b0), 0)
            union = (x1 - x0) * (y1 - y0) + (a1 - a0) * (b1 - b0) - inner
            free = free and inner / union <= overlap
        if free:
            chosen.append(int(place))
    return chosen


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_thinning_out_agrees_with_a_plain_loop(seed: int, overlap: float) -> None:
    random = np.random.default_rng(seed)
    boxes = np.hstack([random.uniform(0.3, 0.7, (12, 2)), random.uniform(0.1, 0.5, (12, 2))])
    scores = random.permutation(np.linspace(0.1, 0.9, 24)).reshape(12, 2)
    corners, phrases, found = choose_boxes(
        torch.tensor(boxes), torch.tensor(scores), (300, 200), 0.3, overlap
    )
    edges = np.hstack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
    pixels = edges * [300, 200, 300, 200]
    for phrase in range(2):
        good = np.flatnonzero(scores[:, phrase] >= 0.3)
        expected = good[thin_out(pixels[good], scores[good, phrase], overlap)]
        assert found[phrases == phrase].numpy() == pytest.approx(scores[expected, phrase])
        assert corners[phrases == phrase].numpy() == pytest.approx(pixels[expected], abs=1e-3)


def test_the_command_writes_boxes_that_the_importer_reads_and_a_sheet(
    root: Path, model: Path
) -> None:
    command = ["boxes", "catsdogscars", "--root", str(root), "--model", str(model)]
    done = CliRunner().invoke(app, [*command, "--threshold", "0.6", "--sample", "2"])
    assert done.exit_code == 0, done.output
    table = pd.read_csv(root / "boxes.csv")
    assert list(table.columns) == ["file", "concept", "x0", "y0", "x1", "y1", "score"]
    assert table["score"].min() >= 0.6 and set(table["concept"]) <= set(CONCEPTS)
    records = source(root)
    items = records.items()
    assert len(items) == 10
    found = {item.image_id: len(records.load(item, 32).regions) for item in items}
    assert sum(found.values()) > 0
    head = table[table["concept"] == "head"]["file"].nunique()
    line = next(line for line in done.output.splitlines() if line.strip().startswith("head "))
    assert line.split()[1] == str(head)
    assert (root / "boxes.pdf").read_bytes().startswith(b"%PDF")
    refused = CliRunner().invoke(app, command)
    assert "already there; --overwrite" in str(refused.exception)
    before = (root / "boxes.csv").read_bytes()
    again = CliRunner().invoke(app, [*command, "--threshold", "0.6", "--overwrite"])
    assert again.exit_code == 0 and (root / "boxes.csv").read_bytes() == before


def test_random_weights_need_a_configuration_only(root: Path, tmp_path: Path) -> None:
    bare = tiny_detector(tmp_path / "bare", weights=False)
    command = ["boxes", "catsdogscars", "--root", str(root), "--model", str(bare)]
    done = CliRunner().invoke(app, [*command, "--weights", "random", "--threshold", "0.1"])
    assert done.exit_code == 0, done.output
    assert "random weights: these boxes mean nothing" in done.output
    missing = CliRunner().invoke(app, [*command, "--overwrite"])
    assert "cannot be loaded as a Grounding DINO network" in str(missing.exception)


def test_a_corrected_table_is_drawn_again(root: Path) -> None:
    command = ["boxes", "catsdogscars", "--root", str(root), "--only-sheet", "--sample", "1"]
    trees.text(
        root / "boxes.csv", "file,concept,x0,y0,x1,y1", "train/cats/cat0.jpg,head,20,10,40,30"
    )
    assert CliRunner().invoke(app, command).exit_code == 0
    (root / "boxes.csv").write_text("file,concept,x0,y0,x1,y1\ntrain/cats/cat0.jpg,head,20,1")
    half = CliRunner().invoke(app, command)
    assert isinstance(half.exception, InputError)
    assert half.exception.row == 2 and "4 cells" in str(half.exception)


def test_boxes_are_drawn_where_they_are() -> None:
    image = Image.new("RGB", (400, 200), "white")
    drawn = draw_boxes(image, [Instance("wheel", PixelBox(100, 50, 300, 150))], CONCEPTS)
    assert drawn.size == (SIDE, SIDE // 2)
    coloured = np.argwhere(np.asarray(drawn).sum(2) < 700)
    (top, left), (bottom, right) = coloured.min(0), coloured.max(0)
    scale = SIDE / 400
    assert abs(left - 100 * scale) <= 2 and abs(right - 300 * scale) <= 2
    assert abs(top - 50 * scale) <= 2 and abs(bottom - 150 * scale) <= 2


def test_a_sample_changes_little_when_images_are_added() -> None:
    items = [Item(f"image{number}", "train", "cat") for number in range(50)]
    first = sample_items(items, 10, 0)
    more = sample_items([*items, Item("new", "train", "cat")], 10, 0)
    assert len(set(first) & set(more)) >= 9 and first != sample_items(items, 10, 1)
    assert first == sample_items(items[::-1], 10, 0)


def test_a_run_that_stopped_goes_on(root: Path, model: Path) -> None:
    detector = Detector(str(model))
    bad = root / "train/dogs/dog1.jpg"
    whole = bad.read_bytes()
    bad.write_bytes(whole[:200])
    with pytest.raises(InputError, match=r"1 of 10 images cannot be read: train/dogs/dog1\.jpg"):
        box_dataset(source(root), detector, batch=1)
    assert not (root / "boxes.csv").exists()
    kept = next((root / ".boxes.csv.unfinished").iterdir())
    assert len(list(kept.iterdir())) == 10
    with np.load(next(kept.iterdir())) as found:
        names = found.files
    # Finished units are taken as they stand: say that nothing was found in any.
    empty: dict[str, Any] = {
        "image": np.empty(0, np.int64),
        "phrase": np.empty(0, np.int64),
        "corners": np.empty((0, 4), np.float32),
        "score": np.empty(0, np.float32),
        "problems": np.array([""]),
    }
    assert set(names) == set(empty)
    for file in kept.iterdir():
        np.savez(file, **empty)
    bad.write_bytes(whole)
    table, _ = box_dataset(source(root), detector, batch=1)
    assert set(table["file"]) == {"train/dogs/dog1.jpg"}


def test_unreadable_images_are_left_out_if_asked_for(root: Path, model: Path) -> None:
    (root / "train/dogs/dog1.jpg").write_text("not an image")
    table, left_out = box_dataset(source(root), Detector(str(model)), lenient=True)
    assert [line.split(":")[0] for line in left_out] == ["train/dogs/dog1.jpg"]
    assert "train/dogs/dog1.jpg" not in set(table["file"]) and table["file"].nunique() == 9


def test_wrong_roots_folders_and_networks(root: Path, model: Path, tmp_path: Path) -> None:
    detector = Detector(str(model))
    with pytest.raises(PastaError, match=r"no such folder(?s:.*)boxes\.csv"):
        box_dataset(source(tmp_path / "nowhere"), detector)
    with pytest.raises(PastaError, match=r"cannot be loaded as a Grounding DINO network"):
        box_dataset(source(root), Detector(str(tmp_path)))
    other = shutil.copytree(model, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "encoder_layers": 3}))
    with pytest.raises(PastaError, match=r"no weights for .*encoder"):
        box_dataset(source(root), Detector(str(other)))
    with (
        store.exclusive(root / ".boxes.csv.lock"),
        pytest.raises(PastaError, match="another command is making"),
    ):
        box_dataset(source(root), detector)
    with pytest.raises(PastaError, match=r"no box in 10 images.*--threshold"):
        box_dataset(source(root), detector, threshold=1.1)
    shutil.rmtree(root / "train/cars")
    with pytest.raises(InputError, match="no images of car"):
        box_dataset(source(root), detector)
    done = CliRunner().invoke(app, ["boxes", "monumai", "--root", str(root)])
    assert "boxes are for class folders" in str(done.exception)
    assert not (root / "boxes.csv").exists()


def test_the_network_is_the_one_of_the_folder(model: Path) -> None:
    _, network = open_detector(Detector(str(model)))
    _, drawn = open_detector(Detector(str(model), random=True))
    assert type(network) is type(drawn) and not network.training
    assert type(network).__name__ == "GroundingDinoForObjectDetection"
    first = next(iter(network.parameters()))
    assert not torch.equal(first, next(iter(drawn.parameters())))
