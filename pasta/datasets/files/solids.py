"""Volumes and point clouds as their authors publish them: MedMNIST3D, ModelNet40, ShapeNet, CoMA.

Points are drawn from the surface of a mesh, or chosen from those of a cloud, by the name of the
item alone. Clouds come out centred, with the farthest point at distance 1, and with z up.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import map_coordinates

from pasta.datasets.drawn.clouds import normalise_points, sample_surface, surface_areas
from pasta.datasets.files.base import (
    FILES,
    FileSource,
    Found,
    Given,
    Instance,
    Orphans,
    assign_split,
)
from pasta.datasets.files.meshes import Cloud, read_cloud, read_mesh, require_numbers
from pasta.datasets.records import SPLITS, Item, Record, Region, box_of_part
from pasta.errors import InputError, PastaError
from pasta.seeds import generator

MESHES, CLOUDS = (".off", ".ply"), (".npz", ".txt")
NO_H5PY = "reading .h5 files needs h5py: pip install 'pasta-xai[volumes]'"
GIVEN: Mapping[str, Given] = {"train": "train", "test": "test"}  # folders that say it
_PREFIXES = {"train": "train", "validation": "val", "test": "test"}  # of MedMNIST's arrays


class SolidSource(FileSource):
    """A dataset of volumes or clouds; it has no pictures to read and no annotations beside them."""

    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """There are no pictures."""
        raise PastaError(f"{self.dataset}/{item.image_id} is no image")

    def find_orphans(self) -> Orphans:
        """Nothing is annotated in files of its own."""
        return Orphans([], [])

    def record(self, item: Item, values: NDArray[Any], parts: NDArray[np.uint8]) -> Record:
        """Make a record of what was read, with the boxes of its parts."""
        size, names = len(values), self.vocabulary.concepts
        points = values if self.vocabulary.modality == "point cloud" else None
        regions = tuple(
            Region(names[value - 1], box_of_part(parts == value, points))
            for value in np.unique(parts)
            if value
        )
        source = self.relative(self.path(item))
        return Record(item.label, values, parts, regions, source, size, size)


class MedMnist3d(SolidSource):
    """One ``.npz`` file with the volumes and labels of three splits, at 28 or 64 voxels a side."""

    def required_paths(self) -> Sequence[str]:
        """Return the file."""
        return [self.file.name]

    @property
    def file(self) -> Path:
        """Return the file of 28 voxels a side, or else a larger one."""
        usual = self.root / f"{self.dataset}.npz"
        larger = sorted(self.root.glob(f"{self.dataset}_*.npz"))
        return larger[0] if larger and not usual.is_file() else usual

    def path(self, item: Item) -> Path:  # noqa: ARG002 (all items share the file)
        """Return the file that holds all items."""
        return self.file

    def find_images(self) -> Iterable[Found]:
        """List the items without their splits, which are the dataset's own."""
        return (Found(item.image_id, item.label, None) for item in self.items())

    def items(self) -> Sequence[Item]:
        """List every volume with the split that its authors gave it."""
        classes, file = self.vocabulary.classes, self.file
        found = []
        for split in SPLITS:
            labels = _read_array(file, f"{_PREFIXES[split]}_labels").ravel()
            for row, label in enumerate(labels.tolist()):
                if not 0 <= int(label) < len(classes):
                    raise InputError(
                        f"the label {label}",
                        file=file,
                        row=row,
                        column=f"{_PREFIXES[split]}_labels",
                        expected=f"0 to {len(classes) - 1}",
                    )
                found.append(Item(f"{split}_{row:04d}", split, classes[int(label)]))
        return found

    def load(self, item: Item, size: int) -> Record:
        """Load one volume; another size is interpolated linearly."""
        file, number = self.path(item), int(item.image_id.rpartition("_")[2])
        column = f"{_PREFIXES[item.split]}_images"
        volumes = _read_array(file, column)
        where: dict[str, Any] = {"file": file, "row": number, "column": column}
        if volumes.ndim != 4:
            shape = " x ".join(map(str, volumes.shape))
            raise InputError(
                f"volumes of the shape {shape}", file=file, column=column,
                expected="n x depth x height x width",
            )  # fmt: skip
        volume = volumes[number]
        if len(set(volume.shape)) > 1:
            raise InputError(
                f"a volume of {' x '.join(map(str, volume.shape))} voxels", **where,
                expected="cubes: as many voxels along each axis, equally far apart",
            )  # fmt: skip
        if volume.min() == volume.max():
            raise InputError("a constant volume", **where, expected="something to see")
        # early editions of the shapes hold 0 and 1
        values = volume.astype(np.float32) * (255 if volume.max() <= 1 else 1)
        fitted = fit_volume(values, size).round().clip(0, 255).astype(np.uint8)
        return self.record(item, fitted[..., None], np.zeros(fitted.shape, np.uint8))


def fit_volume(values: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Interpolate a cube linearly at another number of voxels a side.

    >>> fit_volume(np.arange(8, dtype=np.float32).reshape(2, 2, 2), 2)[0, 1]
    array([2., 3.], dtype=float32)
    """
    side = len(values)
    if side == size:
        return values
    axis = (np.arange(size) + 0.5) * side / size - 0.5
    places = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"))
    found: NDArray[np.float32] = map_coordinates(values, places, order=1, mode="nearest")
    return found


@lru_cache(maxsize=6)
def _read_array(file: Path, name: str) -> NDArray[Any]:
    if not file.is_file():
        raise InputError("there is no such file", file=file, expected="a file of MedMNIST3D")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            if "spacing" in arrays and len(set(np.ravel(arrays["spacing"]).tolist())) > 1:
                spacing = ", ".join(map(str, np.ravel(arrays["spacing"]).tolist()))
                raise InputError(
                    f"voxels are {spacing} apart", file=file, column="spacing",
                    expected="the same along each axis",
                )  # fmt: skip
            found: NDArray[Any] = arrays[name]
            return found
    except KeyError:
        raise InputError(f"there is no array {name}", file=file, expected=name) from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        expected = "a whole .npz file"
        raise InputError(f"cannot be read: {error}", file=file, expected=expected) from None


class CloudFiles(SolidSource):
    """Meshes and clouds in folders, one file for each."""

    y_up: ClassVar[bool] = False  # whether y is up in the files, as in computer graphics
    folders: ClassVar[Mapping[str, str]] = {}  # classes to folders that are called otherwise

    def required_paths(self) -> Sequence[str]:
        """Return the folder of each class."""
        return [self.folders.get(label, label) for label in self.vocabulary.classes]

    def find_images(self) -> Iterator[Found]:
        """List every mesh and cloud."""
        for label in self.vocabulary.classes:
            folder = self.root / self.folders.get(label, label)
            for file in list_solids(folder):
                within = file.relative_to(folder).parts[0]
                given = GIVEN.get(within)
                yield Found(self._name(file), label, given)

    def _name(self, file: Path) -> str:
        return ".".join(file.relative_to(self.root).with_suffix("").parts).replace(" ", "_")

    def path(self, item: Item) -> Path:
        """Return the file of an item."""
        known = self._paths()
        if item.image_id not in known:
            raise InputError(f"there is no item {item.image_id!r}", file=self.root)
        return known[item.image_id]

    def _paths(self) -> dict[str, Path]:
        if not hasattr(self, "_known"):
            self._known = {self._name(file): file for file in list_solids(self.root)}
        return self._known

    def load(self, item: Item, size: int) -> Record:
        """Draw as many points from the surface of a mesh, or choose them among those of a cloud."""
        file = self.path(item)
        rng = generator(self.seed, "points", self.dataset, item.image_id)
        if file.suffix in MESHES:
            mesh = read_mesh(file)
            if not surface_areas(*mesh).sum() > 0:
                raise InputError("the triangles have no area", file=file, expected="a surface")
            points, parts = sample_surface(*mesh, size, rng)[0], np.zeros(size, np.uint8)
        else:
            points, parts = choose_points(read_cloud(file), size, rng, file)
        return self.cloud(item, points, parts, file)

    def cloud(
        self, item: Item, points: NDArray[np.floating[Any]], parts: NDArray[np.uint8], file: Path
    ) -> Record:
        """Make a record of points, upright, centred and scaled."""
        if parts.max() > len(self.vocabulary.concepts):
            raise InputError(
                f"the part {parts.max() - 1}",
                file=file,
                expected=f"0 to {len(self.vocabulary.concepts) - 1}",
            )
        if self.y_up:
            points = np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)
        return self.record(item, normalise_points(points).astype(np.float32), parts)


def list_solids(folder: Path) -> list[Path]:
    """List the meshes and clouds below a folder, without hidden files."""
    known = (*MESHES, *CLOUDS)
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix in known and not any(one.startswith(".") for one in file.parts)
    )


def choose_points(
    cloud: Cloud, number: int, rng: np.random.Generator, file: Path
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Choose different points of a cloud at random, with the value of the part of each.

    Raises
    ------
    InputError
        There are not so many different points.
    """
    points, first = np.unique(cloud.points, axis=0, return_index=True)
    if len(points) < number:
        same = len(cloud.points) - len(points)
        twice = f", {same} of them at the place of another" if same else ""
        raise InputError(
            f"{len(cloud.points)} points{twice}",
            file=file,
            expected=f"at least {number} different points",
        )
    chosen = rng.choice(len(points), number, replace=False)
    parts = np.zeros(number, np.uint8)
    if cloud.parts is not None:
        parts = np.minimum(cloud.parts[first[chosen]] + 1, 255).astype(np.uint8)
    return points[chosen], parts


class ModelNet40(CloudFiles):
    """Meshes in ``<class>/train/*.off`` and ``<class>/test/*.off``, or the same clouds in HDF5."""

    dataset = "modelnet40"

    def required_paths(self) -> Sequence[str]:
        """Return the folders of the classes, or the HDF5 files."""
        packed = _list_packed(self.root)
        return [self.relative(file) for file in packed] or super().required_paths()

    def find_images(self) -> Iterator[Found]:
        """List every mesh, or every cloud of the HDF5 files."""
        for file in _list_packed(self.root):
            given: Given = "test" if "test" in file.stem else "train"
            for row, label in enumerate(_read_packed(file, "label").ravel().tolist()):
                yield Found(f"{file.stem}.{row}", self.vocabulary.classes[int(label)], given)
        if not _list_packed(self.root):
            yield from super().find_images()

    def path(self, item: Item) -> Path:
        """Return the file of an item, or the HDF5 file that it is in."""
        packed = self.root / f"{item.image_id.rpartition('.')[0]}.h5"
        return packed if packed.is_file() else super().path(item)

    def load(self, item: Item, size: int) -> Record:
        """Load one cloud; those of HDF5 files have y up."""
        file = self.path(item)
        if file.suffix != ".h5":
            return super().load(item, size)
        points = np.asarray(_read_packed(file, "data")[int(item.image_id.rpartition(".")[2])])
        x, y, z = points.astype(np.float64).T
        upright = np.stack([x, -z, y], axis=1)
        require_numbers(upright, file)
        rng = generator(self.seed, "points", self.dataset, item.image_id)
        return self.cloud(item, *choose_points(Cloud(upright, None), size, rng, file), file)


def _list_packed(root: Path) -> list[Path]:
    return sorted(root.glob("[!.]*.h5"))


@lru_cache(maxsize=6)
def _read_packed(file: Path, name: str) -> NDArray[Any]:
    """Read one array of an HDF5 file."""
    try:
        h5py = import_module("h5py")  # an extra: few datasets need it
    except ImportError:
        raise PastaError(f"{file}: {NO_H5PY}") from None
    try:
        with h5py.File(file) as arrays:
            found: NDArray[Any] = np.asarray(arrays[name])
            return found
    except (OSError, KeyError) as error:
        expected = f"a whole HDF5 file with {name}"
        raise InputError(f"cannot be read: {error}", file=file, expected=expected) from None


class ShapeNetPart(CloudFiles):
    """Clouds in ``<synset>/*.txt``, whose rows end with the part; meshes will do, without parts."""

    dataset = "shapenetpart"
    y_up: ClassVar[bool] = True
    folders: ClassVar[Mapping[str, str]] = {
        "airplane": "02691156", "bag": "02773838", "cap": "02954340", "car": "02958343",
        "chair": "03001627", "earphone": "03261776", "guitar": "03467517", "knife": "03624134",
        "lamp": "03636649", "laptop": "03642806", "motorbike": "03790512", "mug": "03797390",
        "pistol": "03948459", "rocket": "04099429", "skateboard": "04225987", "table": "04379243",
    }  # fmt: skip


class Coma(CloudFiles):
    """Meshes in ``<person>/<expression>/*.ply``; a person is in one split only."""

    dataset = "coma"
    y_up: ClassVar[bool] = True

    def required_paths(self) -> Sequence[str]:
        """Return nothing: people are called as they like."""
        return []

    def find_images(self) -> Iterator[Found]:
        """List every mesh whose folder is called as an expression."""
        for file in list_solids(self.root):
            if file.parent.name in self.vocabulary.classes:
                yield Found(self._name(file), file.parent.name, None)

    def items(self) -> Sequence[Item]:
        """List every mesh; the split is drawn for each person."""
        found = []
        for image_id, label, _ in sorted(self.find_images()):
            person = image_id.partition(".")[0]
            found.append(Item(image_id, assign_split(self.seed, "coma", person, None), label))
        return found


class VesselMnist3d(MedMnist3d):
    """VesselMNIST3D."""

    dataset = "vesselmnist3d"


class AdrenalMnist3d(MedMnist3d):
    """AdrenalMNIST3D."""

    dataset = "adrenalmnist3d"


class OrganMnist3d(MedMnist3d):
    """OrganMNIST3D."""

    dataset = "organmnist3d"


SOLIDS: tuple[type[SolidSource], ...] = (
    VesselMnist3d,
    AdrenalMnist3d,
    OrganMnist3d,
    ModelNet40,
    ShapeNetPart,
    Coma,
)
for _source in SOLIDS:
    FILES.register(_source.dataset)(_source)
