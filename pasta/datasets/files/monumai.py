"""MonuMAI: facades in four styles with boxes around their architectural elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from xml.etree.ElementTree import Element

from PIL import Image

from pasta.datasets.files.base import (
    FILES,
    FileSource,
    Found,
    Instance,
    Orphans,
    index_by_stem,
    is_inside,
    list_image_files,
)
from pasta.datasets.files.images import PixelBox, decode, decode_as
from pasta.datasets.files.xml_files import number_in, parse_xml, text_in
from pasta.datasets.records import Item
from pasta.errors import InputError
from pasta.registry import did_you_mean

INNER = "MonuMAI_dataset"  # where a clone of the official repository has the styles

# The names in the released XML files are Spanish; the English ones are those of the dataset's
# description where they differ from our concepts.
NAMES: Mapping[str, str] = {
    "arco-herradura": "horseshoe-arch",
    "arco-lobulado": "lobed-arch",
    "arco-apuntado": "pointed-arch",
    "arco-conopial": "ogee-arch",
    "arco-trilobulado": "trefoil-arch",
    "serliana": "serliana",
    "columna-salomonica": "solomonic-column",
    "pinaculo-gotico": "pinnacle-gothic",
    "ojo-de-buey": "porthole",
    "fronton-partido": "broken-pediment",
    "arco-medio-punto": "rounded-arch",
    "dintel-adovelado": "flat-arch",
    "fronton-curvo": "segmental-pediment",
    "fronton": "triangular-pediment",
    "vano-adintelado": "lintelled-doorway",
    "gothic-pinnacle": "pinnacle-gothic",
}


@FILES.register("monumai")
class MonuMai(FileSource):
    """One folder for each style, with the annotations in its subfolder ``xml``."""

    dataset = "monumai"
    complete: ClassVar[bool] = True

    def required_paths(self) -> Sequence[str]:
        """Return the folder of each style and of its annotations."""
        folders = [self.base / style for style in self.vocabulary.classes]
        return [self.relative(one) for folder in folders for one in (folder, folder / "xml")]

    @property
    def base(self) -> Path:
        """Return the folder with the styles: the root itself, or the one inside of a clone."""
        inner = self.root / INNER
        return inner if inner.is_dir() else self.root

    @cached_property
    def _pictures(self) -> dict[str, Path]:
        pictures: list[Path] = []
        for style in self.vocabulary.classes:
            files = list_image_files(self.base / style)
            if not files:
                raise InputError(
                    f"no images of the class {style}{self._hint(style)}",
                    file=self.base / style,
                    expected="a folder with JPEG files and a subfolder xml",
                )
            pictures += files
        return index_by_stem(pictures)

    def _hint(self, style: str) -> str:
        """Suggest a folder that was perhaps meant, e.g. one in lower case."""
        if (self.base / style).is_dir() or not self.base.is_dir():
            return ""
        folders = {path.name: path for path in self.base.iterdir() if path.is_dir()}
        return f"; is it {did_you_mean(style, folders)}" if folders else ""

    def find_images(self) -> Iterator[Found]:
        """List every image of the four styles."""
        for stem, path in self._pictures.items():
            yield Found(stem, path.parent.name, None)

    def path(self, item: Item) -> Path:
        """Return the image file of an item."""
        if item.image_id not in self._pictures:
            raise InputError(f"there is no image {item.image_id!r}", file=self.base)
        return self._pictures[item.image_id]

    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """Read one image and the boxes of its elements."""
        path = self.path(item)
        file = _annotation(path)
        annotation = parse_xml(file)
        size = annotation.find("size")
        width = 0 if size is None else int(number_in(size, "width", file))
        height = 0 if size is None else int(number_in(size, "height", file))
        # Some annotation tools leave the size at 0: then there is nothing to compare.
        image = decode_as(path, width, height, file) if width and height else decode(path)
        return image, [self._instance(one, image, file) for one in annotation.iter("object")]

    def _instance(self, element: Element, image: Image.Image, file: Path) -> Instance:
        name = text_in(element, "name", file)
        concept = self.concept(name)
        if concept is None:
            hint = did_you_mean(name, [*NAMES, *self.vocabulary.concepts])
            raise InputError(f"{name!r} is no element of MonuMAI. {hint}", file=file)
        corners = element.find("bndbox")
        if corners is None:
            raise InputError(f"the element {name!r} has no <bndbox>", file=file)
        box = PixelBox(
            *(number_in(corners, edge, file) for edge in ("xmin", "ymin", "xmax", "ymax"))
        )
        if box.area == 0 or not is_inside(box, *image.size):
            raise InputError(
                f"the box {tuple(box)} of {name!r} is inverted or not inside of the image",
                file=file,
                expected=f"xmin < xmax <= {image.width} and ymin < ymax <= {image.height}",
            )
        return Instance(concept, box)

    def concept(self, name: str) -> str | None:
        """Return our concept for a name in an XML file, which may also be our own name."""
        plain = name.strip().lower().replace("_", "-").replace(" ", "-")
        return plain if plain in self.vocabulary.concepts else NAMES.get(plain)

    def find_orphans(self) -> Orphans:
        """Find images without an XML file and the reverse."""
        missing = [path for path in self._pictures.values() if not _annotation(path).is_file()]
        stems = {(path.parent.name, path.stem) for path in self._pictures.values()}
        extra = [
            file
            for style in self.vocabulary.classes
            for file in sorted((self.base / style / "xml").glob("[!.]*.xml"))
            if (style, file.stem) not in stems
        ]
        return Orphans(list(map(self.relative, missing)), list(map(self.relative, extra)))


def _annotation(image: Path) -> Path:
    return image.parent / "xml" / f"{image.stem}.xml"
