"""Masks in folders and in the released layout, fixations and clicks, and scoring against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.io import savemat
from typer.testing import CliRunner

from analysis.map_scores import score_maps
from pasta.cli import app
from pasta.errors import InputError, PastaError
from pasta.studies.attention.mask_files import read_masks
from pasta.studies.attention.recorded import (
    Points,
    masks_of,
    read_clicks,
    read_osie,
    read_salicon,
    smooth,
    width_in_pixels,
)

SIZE = (24, 32)


def write(mask: np.ndarray, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.rint(255 * mask).astype(np.uint8)).save(file)


def released_tree(root: Path) -> None:
    """The released layout, with what goes wrong in it: every trouble once."""
    mask, part = np.zeros(SIZE), np.zeros(SIZE)
    part[4:20, 4:20] = 1
    mask[6:12, 6:12] = 0.5
    mask[6:9, 6:9] = 1
    folder, parts, images = (
        root / name for name in ("human attention mask", "object_segmentation_mask", "org_img")
    )
    for name in ("cat1", "cat2", "cat3", "cat4", "dog1", "dog2"):
        write(np.zeros(SIZE), images / f"{name}.jpg")
        write(part, parts / f"{name}.png")
    write(np.zeros(SIZE), images / "dog9.jpg")  # an image without a mask
    write(mask, folder / "cat1.jpg.jpg")
    write(np.pad(mask, 2), folder / "cat2.png")  # a border of two pixels
    write(np.zeros(SIZE), folder / "cat3.png")  # nothing
    write(mask[:, :20], folder / "cat4.png")  # another size
    spill = mask.copy()
    spill[21:24] = 1
    write(spill, folder / "dog1.png")
    (folder / "dog2.png").write_bytes(b"no picture")
    write(mask, folder / "bird1.png")  # no image of this name


def test_a_tree_in_the_released_layout_is_read_with_its_mismatches_listed(tmp_path: Path) -> None:
    released_tree(tmp_path)
    found = read_masks(tmp_path)
    assert set(found.masks) == {"cat1", "cat2", "dog1", "bird1"}
    said = {Path(one.file).name: f"{one.problem}, {one.done}" for one in found.troubles}
    assert "a border of 2 pixels, cut off" in said["cat2.png"]
    assert "mask of nothing, left out" in said["cat3.png"]
    assert "24 x 20 pixels, its image 24 x 32, left out" in said["cat4.png"]
    assert "lies outside the object, clipped" in said["dog1.png"]
    assert "cannot be read" in said["dog2.png"]
    assert "there is no mask of this image" in said["dog9"]
    birds = [one.problem for one in found.troubles if "bird1" in one.file]
    assert birds == ["there is no image of this name", "there is no segmentation of this name"]
    np.testing.assert_allclose(found.masks["cat2"], found.masks["dog1"], atol=0.01)
    assert found.masks["cat1"].max() == 1 and found.objects["cat1"].sum() == 256


def test_masks_in_class_folders_have_the_class_in_their_name(tmp_path: Path) -> None:
    mask = np.zeros(SIZE)
    mask[3:6, 3:6] = 1
    for label in ("cat", "dog"):
        write(mask, tmp_path / "human_attention_mask" / label / "1.png")
    assert set(read_masks(tmp_path).masks) == {"cat/1", "dog/1"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.full(SIZE, np.nan), "NaN"),
        (-np.ones(SIZE), "negative"),
        (np.ones((2, *SIZE)), "the shape 2 x 24 x 32"),
    ],
)
def test_an_array_that_is_no_mask_is_left_out(tmp_path: Path, values: Any, words: str) -> None:
    np.save(tmp_path / "bad.npy", values)
    np.save(tmp_path / "good.npy", np.eye(24, 32))
    found = read_masks(tmp_path)
    assert list(found.masks) == ["good"] and words in found.troubles[0].problem


def test_a_folder_without_masks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no masks"):
        read_masks(tmp_path)
    write(np.zeros(SIZE), tmp_path / "a.png")
    with pytest.raises(PastaError, match=r"none of 1 masks.*mask of nothing"):
        read_masks(tmp_path)


def test_fixations_of_osie_are_smoothed_by_their_duration(tmp_path: Path) -> None:
    person = {"fix_x": [5.0, 20.0], "fix_y": [6.0, 10.0], "fix_duration": [100.0, 300.0]}
    odd = {"fix_x": [5.0], "fix_y": [6.0, 1.0], "fix_duration": [100.0]}
    image = np.zeros(1, dtype=[("img", object), ("subjects", object)])
    subjects = np.empty(2, dtype=object)
    subjects[:] = [person, odd]
    image[0] = ("1001.jpg", subjects)
    savemat(tmp_path / "fixations.mat", {"fixations": image})
    points, troubles = read_osie(tmp_path / "fixations.mat")
    assert [one.image for one in points] == ["1001"]
    assert len(troubles) == 1 and "subject 1" in troubles[0].file
    mask = masks_of(points, SIZE, 2.0).masks["1001"]
    assert divmod(int(mask.argmax()), SIZE[1]) == (10, 20)
    assert mask[6, 5] == pytest.approx(1 / 3, rel=0.01)


def test_fixations_of_salicon_come_as_mat_or_json(tmp_path: Path) -> None:
    gaze = np.zeros(2, dtype=[("fixations", object)])
    gaze[0] = (np.array([[6.0, 7.0], [21.0, 11.0]]),)
    gaze[1] = (np.array([[6.0, 7.0]]),)
    (tmp_path / "mat").mkdir()
    savemat(tmp_path / "mat" / "COCO_1.mat", {"gaze": gaze, "resolution": [24, 32]})
    savemat(tmp_path / "mat" / "COCO_2.mat", {"other": 1})
    points, sizes, troubles = read_salicon(tmp_path / "mat")
    assert sizes == {"COCO_1": SIZE} and troubles[0].file == "COCO_2.mat"
    content = {
        "images": [{"id": 1, "file_name": "COCO_1.jpg", "height": 24, "width": 32}],
        "annotations": [
            {"image_id": 1, "worker_id": 3, "fixations": [[7, 6], [11, 21]]},
            {"image_id": 1, "worker_id": 4, "fixations": [[7, 6]]},
            {"image_id": 9, "worker_id": 4, "fixations": [[7, 6]]},
        ],
    }
    (tmp_path / "salicon.json").write_text(json.dumps(content))
    others, known, more = read_salicon(tmp_path / "salicon.json")
    assert known == sizes and "annotation 2" in more[0].file
    ours, theirs = (masks_of(one, sizes, 1.5).masks["COCO_1"] for one in (points, others))
    np.testing.assert_allclose(ours, theirs)
    assert divmod(int(ours.argmax()), SIZE[1]) == (6, 5)


def test_clicks_of_bubbleview_are_told_by_line_where_they_are_no_numbers(tmp_path: Path) -> None:
    file = tmp_path / "clicks.csv"
    file.write_text(
        "filename,workerId,x,y\na.png,w1,4,5\na.png,w2,no,5\na.png,w1,90,5\nb.png,w1,1,1\n"
    )
    points, troubles = read_clicks(file)
    assert [one.file for one in troubles] == ["clicks.csv, line 3"]
    found = masks_of(points, SIZE, 1.0, troubles)
    assert set(found.masks) == {"a", "b"}
    assert any("1 points of w1 lie outside" in one.problem for one in found.troubles)
    file.write_text("picture,x\n1,2\n")
    with pytest.raises(InputError, match="lacks columns"):
        read_clicks(file)


def test_the_width_of_the_gaussian_is_stated_in_pixels_or_degrees() -> None:
    assert width_in_pixels(7.0) == width_in_pixels(degrees=0.5, per_degree=14.0) == 7
    for wrong in ({}, {"pixels": 1.0, "degrees": 1.0}, {"degrees": 1.0}, {"pixels": -1.0}):
        with pytest.raises(PastaError):
            width_in_pixels(**wrong)


def test_a_smoothed_point_is_a_gaussian() -> None:
    one = Points("a", "p", np.array([16.0]), np.array([12.0]), np.ones(1))
    mask = smooth([one], SIZE, 3.0)
    assert mask[12, 19] == pytest.approx(np.exp(-0.5), rel=1e-6)


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["attention", *words])


def test_the_command_scores_maps_against_a_folder_of_masks(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    masks = np.round(rng.random((3, 16, 16)) * 10) / 10
    for name, mask in zip(("a", "b", "c"), masks, strict=True):
        (tmp_path / "masks").mkdir(exist_ok=True)
        np.save(tmp_path / "masks" / f"{name}.npy", mask)
    maps = rng.random((4, 16, 16)).astype(np.float32)
    np.save(tmp_path / "maps.npy", maps)
    (tmp_path / "names.txt").write_text("b\na\nb\nd\n")
    arguments = ("score", str(tmp_path / "maps.npy"), "--masks", str(tmp_path / "masks"))
    found = run(
        *arguments, "--names", str(tmp_path / "names.txt"), "--out", str(tmp_path / "o.csv")
    )
    assert found.exit_code == 0, found.output
    assert "d: no mask" in found.output and "agreement" in found.output
    table = pd.read_csv(tmp_path / "o.csv")
    expected = score_maps(maps[:3], masks[[1, 0, 1]] / masks[[1, 0, 1]].max((1, 2), keepdims=True))
    np.testing.assert_allclose(table["agreement"], expected["agreement"])
    assert "4 maps and 3 masks" in str(run(*arguments).exception)


def test_the_command_makes_pictures_of_clicks(tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text("image,x,y\na,4,5\n")
    words = ("masks", str(tmp_path / "clicks.csv"), str(tmp_path / "out"), "--form", "clicks")
    assert "--size HxW" in str(run(*words, "--width", "2").exception)
    assert run(*words, "--width", "2", "--size", "24x32").exit_code == 0
    assert read_masks(tmp_path / "out").masks["a"].shape == SIZE
