"""Readers of volumes and point clouds, on tiny files in the layouts of the originals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pasta.datasets.build import build_dataset, chosen_items
from pasta.datasets.drawn.clouds import normalise_points
from pasta.datasets.files import file_source, solids
from pasta.datasets.files.check import inspect
from pasta.datasets.files.meshes import read_cloud, read_mesh
from pasta.datasets.files.solids import fit_volume
from pasta.datasets.settings import DatasetParams
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import InputError, PastaError

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 1]])
TRIANGLES = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]  # the sides of a pyramid
SQUARE = (0, 1, 2, 3)


def off(file: Path, corners: NDArray[Any] = CORNERS, glued: bool = False) -> Path:
    faces = [SQUARE, *TRIANGLES]
    lines = [f"OFF{'' if glued else chr(10)}{len(corners)} {len(faces)} 0"]
    lines += [" ".join(map(str, corner)) for corner in corners]
    lines += [" ".join(map(str, (len(face), *face))) for face in faces]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# a pyramid\n" * (not glued) + "\n".join(lines) + "\n")
    return file


def ply(file: Path, kind: str, faces: bool = True) -> Path:
    every = [SQUARE, *TRIANGLES] if faces else []
    header = f"""ply
format {kind} 1.0
comment a pyramid
element vertex {len(CORNERS)}
property float x
property float y
property float z
property uchar red
element face {len(every)}
property list uchar int vertex_indices
end_header
"""
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == "ascii":
        rows = [f"{x} {y} {z} 7" for x, y, z in CORNERS]
        rows += [" ".join(map(str, (len(face), *face))) for face in every]
        file.write_text(header + "\n".join(rows) + "\n")
        return file
    order = "<" if kind == "binary_little_endian" else ">"
    table = np.zeros(len(CORNERS), [("p", f"{order}f4", 3), ("red", "u1")])
    table["p"] = CORNERS
    body = table.tobytes()
    for face in every:
        body += bytes([len(face)]) + np.array(face, f"{order}i4").tobytes()
    file.write_bytes(header.encode() + body)
    return file


@pytest.mark.parametrize("kind", ["off", "glued", "ascii", "binary_little_endian",
                                  "binary_big_endian"])  # fmt: skip
def test_every_format_gives_the_same_mesh(kind: str, tmp_path: Path) -> None:
    file = (
        off(tmp_path / "a.off", glued=kind == "glued")
        if kind in ("off", "glued")
        else ply(tmp_path / "a.ply", kind)
    )
    mesh = read_mesh(file)
    np.testing.assert_allclose(mesh.corners, CORNERS)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], *map(list, TRIANGLES)]


def changed(text: str, first: str, second: str) -> str:
    assert first in text
    return text.replace(first, second, 1)


@pytest.mark.parametrize(("change", "message"), [
    (lambda text: text[:-12], "cannot be read: .* follow|cut off"),
    (lambda text: changed(text, "0.5 0.5 1", "0.5 nan 1"), "point 4 is at"),
    (lambda text: changed(text, "3 0 1 4", "3 0 1 9"), "a face names the corner 9"),
    (lambda text: changed(text, "OFF", "FOO"), "does not begin with OFF"),
    (lambda _: "OFF\n1 0 0\n0 0 0\n", "a mesh without faces"),
    (lambda _: "", "does not begin with OFF"),
])  # fmt: skip
def test_a_damaged_mesh_is_named(
    change: Callable[[str], str], message: str, tmp_path: Path
) -> None:
    file = off(tmp_path / "a.off")
    file.write_text(change(file.read_text()))
    with pytest.raises(InputError, match=rf"a\.off.*({message})"):
        read_mesh(file)


def test_a_damaged_ply_is_named(tmp_path: Path) -> None:
    file = ply(tmp_path / "a.ply", "binary_little_endian")
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"a\.ply.*cannot be read"):
        read_mesh(file)
    text = ply(tmp_path / "b.ply", "ascii")
    text.write_text(text.read_text()[:-8])
    with pytest.raises(InputError, match=r"b\.ply.*cut off"):
        read_mesh(text)
    with pytest.raises(InputError, match=r"c\.ply.*a mesh without faces"):
        read_mesh(ply(tmp_path / "c.ply", "ascii", faces=False))
    with pytest.raises(InputError, match=r"d\.ply.*no such file"):
        read_mesh(tmp_path / "d.ply")


def modelnet(root: Path) -> Path:
    for number, label in enumerate(vocabulary("modelnet40").classes):
        for split, count in (("train", 12), ("test", 1)):
            for one in range(count if number < 2 else 1):
                off(root / label / split / f"{label}_{split}_{one}.off", CORNERS * (1, 2, 3))
    return root


def test_points_of_a_mesh_lie_on_it_and_are_the_same_each_time(tmp_path: Path) -> None:
    source = file_source("modelnet40", modelnet(tmp_path), 0)
    items = source.items()
    assert {one.split for one in items} == {"train", "validation", "test"}
    assert len(items) == 2 * 13 + 38 * 2
    chosen = next(one for one in items if one.label == "bed")
    record = source.load(chosen, 200)
    assert record.image.shape == (200, 3) and record.image.dtype == np.float32
    assert np.linalg.norm(record.image, axis=1).max() == pytest.approx(1)
    assert np.array_equal(record.image, source.load(chosen, 200).image)
    assert not record.parts.any()
    assert record.source.startswith(f"bed/{'test' if chosen.split == 'test' else 'train'}/bed_")
    # four sides and a bottom: every point is on one of five planes
    planes = np.unique(np.round(record.image, 6), axis=0)
    assert len(planes) == 200


def test_a_folder_of_meshes_becomes_a_dataset(tmp_path: Path) -> None:
    source = file_source("modelnet40", modelnet(tmp_path / "root"), 0)
    section = DatasetParams(source="files", root="x", train=4, validation=1, test=2, size=64)
    items = chosen_items(source, section)
    build_dataset("modelnet40", source, items, 64, tmp_path / "out")
    data = open_dataset(tmp_path / "out")
    assert data.pixels.shape == (7, 64, 3) and data.parts.shape == (7, 64)
    assert all(one.state == "ok" for one in inspect("modelnet40", tmp_path / "root")
               if not one.what.startswith("class "))  # fmt: skip


def rows_of(points: NDArray[Any], part: int) -> str:
    return "\n".join(f"{x} {y} {z} 0 0 1 {part}.0" for x, y, z in points) + "\n"


def shapenet(root: Path, points: NDArray[Any], part: int = 2) -> Path:
    for folder in solids.ShapeNetPart.folders.values():
        (root / folder).mkdir(parents=True)
        (root / folder / "a1.txt").write_text(rows_of(points, part))
    return root


def test_rows_of_points_keep_their_parts(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    source = file_source("shapenetpart", shapenet(tmp_path, points), 0)
    item = next(one for one in source.items() if one.label == "airplane")
    record = source.load(item, 32)
    assert record.parts.tolist() == [3] * 32
    assert [one.concept for one in record.regions] == ["airplane_part_3"]
    # y is up in the file, z here
    every = source.load(item, 50).image
    expected = normalise_points(np.stack([points[:, 0], -points[:, 2], points[:, 1]], 1))
    order, other = np.argsort(every[:, 0]), np.argsort(expected[:, 0])
    np.testing.assert_allclose(every[order], expected[other], atol=1e-6)


@pytest.mark.parametrize(("text", "message"), [
    ("", "an empty cloud"),
    ("1 2 3\n4 5\n", "cannot be read"),
    ("1 2 3\nnan 5 6\n", r"point 1 is at \(nan"),
    ("1 2 3\n" * 40, "40 points, 39 of them at the place of another.*at least 32 different"),
    ("1 2 3\n4 5 6\n", "2 points .*at least 32 different points"),
    ("1 2 3 0 0 1 77\n", "1 points"),
])  # fmt: skip
def test_a_bad_cloud_is_named_and_nothing_is_stored(
    text: str, message: str, tmp_path: Path
) -> None:
    root = shapenet(tmp_path / "root", np.random.default_rng(0).normal(size=(50, 3)))
    (root / solids.ShapeNetPart.folders["bag"] / "a1.txt").write_text(text)
    source = file_source("shapenetpart", root, 0)
    item = next(one for one in source.items() if one.label == "bag")
    with pytest.raises(InputError, match=rf"a1\.txt.*{message}"):
        source.load(item, 32)
    with pytest.raises(InputError):
        build_dataset("shapenetpart", source, source.items(), 32, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.parquet"))
    assert not list((tmp_path / "out").glob("*.npy"))


def test_a_part_that_the_dataset_does_not_have_is_named(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    source = file_source("shapenetpart", shapenet(tmp_path, points, part=50), 0)
    with pytest.raises(InputError, match=r"the part 50 \(expected 0 to 49"):
        source.load(source.items()[0], 32)


def test_clouds_in_arrays(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    np.savez(tmp_path / "a.npz", points=points, parts=np.arange(20))
    cloud = read_cloud(tmp_path / "a.npz")
    assert np.array_equal(cloud.points, points) and cloud.parts is not None
    np.savez(tmp_path / "b.npz", points=points[:, :2])
    with pytest.raises(InputError, match=r"b\.npz.*shape \(20, 2\) .*n x 3"):
        read_cloud(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", points=points, parts=np.arange(19))
    with pytest.raises(InputError, match=r"c\.npz.*parts do not fit"):
        read_cloud(tmp_path / "c.npz")


def medmnist(root: Path, **changes: Any) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    random, arrays = np.random.default_rng(0), {}
    for split, count in (("train", 6), ("val", 4), ("test", 4)):
        arrays[f"{split}_images"] = random.integers(0, 256, (count, 8, 8, 8), np.uint8)
        arrays[f"{split}_labels"] = (np.arange(count) % 2)[:, None].astype(np.uint8)
    np.savez(root / "adrenalmnist3d.npz", **{**arrays, **changes})
    return root


def test_medmnist_has_its_own_splits_and_values(tmp_path: Path) -> None:
    root = medmnist(tmp_path / "root")
    source = file_source("adrenalmnist3d", root, 0)
    items = source.items()
    assert [one.split for one in items] == ["train"] * 6 + ["validation"] * 4 + ["test"] * 4
    assert [one.label for one in items[:2]] == ["normal", "hyperplasia"]
    build_dataset("adrenalmnist3d", source, items, 8, tmp_path / "out")
    data = open_dataset(tmp_path / "out")
    with np.load(root / "adrenalmnist3d.npz") as arrays:
        assert np.array_equal(data.pixels[6:10, ..., 0], arrays["val_images"])
    assert source.load(items[0], 16).image.shape == (16, 16, 16, 1)
    assert all(one.state == "ok" for one in inspect("adrenalmnist3d", root))


def test_shapes_of_0_and_1_become_black_and_white(tmp_path: Path) -> None:
    masks = np.zeros((6, 8, 8, 8), np.uint8)
    masks[:, 2:5] = 1
    source = file_source("adrenalmnist3d", medmnist(tmp_path, train_images=masks), 0)
    assert set(np.unique(source.load(source.items()[0], 8).image)) == {0, 255}


CUBES = np.random.default_rng(1).integers(0, 256, (6, 8, 8, 8), np.uint8)


@pytest.mark.parametrize(("changes", "message"), [
    ({"train_images": CUBES[:, 0]}, "6 x 8 x 8.*expected n x depth x height x width"),
    ({"train_images": CUBES[:, :4]}, "4 x 8 x 8 voxels.*expected cubes"),
    ({"train_images": np.full_like(CUBES, 3)}, "row 0.*a constant volume"),
    ({"train_labels": np.full((6, 1), 9)}, "row 0.*the label 9.*0 to 1"),
    ({"spacing": np.array([1.0, 1.0, 2.5])}, "voxels are 1.0, 1.0, 2.5 apart"),
])  # fmt: skip
def test_a_bad_volume_is_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    source = file_source("adrenalmnist3d", medmnist(tmp_path, **changes), 0)
    with pytest.raises(InputError, match=rf"(?s)adrenalmnist3d\.npz.*{message}"):
        source.load(source.items()[0], 8)


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    source = file_source("adrenalmnist3d", tmp_path, 0)
    with pytest.raises(InputError, match="no such file"):
        source.items()
    (tmp_path / "adrenalmnist3d.npz").write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="cannot be read"):
        source.items()


def test_volumes_are_interpolated_linearly() -> None:
    ramp = np.broadcast_to(np.arange(8, dtype=np.float32), (8, 8, 8))
    found = fit_volume(np.ascontiguousarray(ramp), 4)
    np.testing.assert_allclose(found[1, 2], [0.5, 2.5, 4.5, 6.5], atol=1e-6)


def test_a_person_of_coma_is_in_one_split(tmp_path: Path) -> None:
    for person in range(12):
        for label in ("bareteeth", "mouth_up"):
            folder = tmp_path / f"FaMoS_{person:03d}" / label
            for frame in range(2):
                ply(folder / f"{label}.{frame:06d}.ply", "binary_little_endian")
    source = file_source("coma", tmp_path, 0)
    items = source.items()
    assert len(items) == 12 * 4 and {one.label for one in items} == {"bareteeth", "mouth_up"}
    split = {one.image_id.partition(".")[0]: one.split for one in items}
    assert all(split[one.image_id.partition(".")[0]] == one.split for one in items)
    assert len(set(split.values())) > 1
    assert source.load(items[0], 64).image.shape == (64, 3)


def test_packed_clouds_need_their_extra(tmp_path: Path) -> None:
    (tmp_path / "ply_data_train0.h5").write_bytes(b"\x89HDF nothing")
    with pytest.raises(PastaError, match=r"train0\.h5"):
        file_source("modelnet40", tmp_path, 0).items()
