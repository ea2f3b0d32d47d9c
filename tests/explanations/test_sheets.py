"""Galleries and sheets hold every explanation once, in its place, whole and readable."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

from pasta.errors import PastaError
from pasta.explanations import rendering, sheets
from pasta.explanations.rendering import ConceptValues, Explanation, HeatMap, Kind, Pixels
from pasta.explanations.sheets import Entry, gallery, sheet

Columns = dict[str, tuple[NDArray[np.float32], bool]]
CELL = 60


def photos(count: int, size: int = 24) -> Pixels:
    """Noise: no part of a picture looks like another."""
    return np.random.default_rng(2).integers(0, 255, (count, size, size, 3), dtype=np.uint8)


def heat(count: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((count, 24, 24), dtype=np.float32)


def pixels(picture: Image.Image) -> Pixels:
    return np.asarray(picture)


def place_of(part: Pixels, whole: Image.Image) -> tuple[int, int]:
    """Where a picture holds another, exactly once: left and top."""
    page = pixels(whole)
    high, wide, _ = part.shape
    rows, columns = len(page) - high + 1, page.shape[1] - wide + 1
    # most places differ in a few pixels already, so only the rest is compared as a whole
    alike = np.ones((rows, columns), bool)
    for row in range(0, high, max(high // 7, 1)):
        column = (row * 5) % wide
        alike &= (page[row : row + rows, column : column + columns] == part[row, column]).all(-1)
    found = [
        (int(left), int(top))
        for top, left in np.argwhere(alike)
        if (page[top : top + high, left : left + wide] == part).all()
    ]
    assert len(found) == 1, found
    return found[0]


def drawn(image: Pixels, shown: NDArray[np.float32], signed: bool) -> Pixels:
    return rendering.overlay(image, shown, signed, CELL)


def example(rows: int = 3) -> tuple[Pixels, Columns, list[str]]:
    columns: Columns = {
        "Grad-CAM": (heat(rows, 1), False),
        "Deep Feature Factorization": (heat(rows, 2), False),
        "LIME": (2 * heat(rows, 3) - 1, True),
    }
    return photos(rows), columns, [f"class {row} (97 %)" for row in range(rows)]


def test_every_map_is_in_its_row_and_column_with_equal_gaps() -> None:
    images, columns, names = example()
    page = gallery(images, columns, names, "ResNet50", cell=CELL)
    places = np.array(
        [
            [place_of(drawn(image, maps[row], signed), page) for maps, signed in columns.values()]
            for row, image in enumerate(images)
        ]
    )
    step = CELL + sheets.GAP
    assert (np.diff(places[..., 0], axis=1) == step).all()
    assert (np.diff(places[..., 1], axis=0) == step).all()
    for row, image in enumerate(images):
        large = Image.fromarray(image).resize((CELL, CELL), Image.Resampling.LANCZOS)
        left, top = place_of(np.asarray(large), page)
        assert (left, top) == (places[row, 0, 0] - step, places[row, 0, 1])


def test_the_page_is_white_with_a_margin_around() -> None:
    page = pixels(gallery(*example(), title="A title", cell=CELL))
    margin = sheets.MARGIN
    frame = np.ones(page.shape[:2], bool)
    frame[margin:-margin, margin:-margin] = False
    assert (page[frame] == 255).all()


@pytest.mark.parametrize("cell", [33, 60, 144])
def test_titles_of_columns_stay_inside_their_columns(cell: int) -> None:
    """The strip of titles is white in every gap between columns."""
    images, columns, names = example()
    page = gallery(images, columns, names, "", cell=cell)
    tops, lefts = [], []
    for maps, signed in columns.values():
        left, top = place_of(rendering.overlay(images[0], maps[0], signed, cell), page)
        lefts.append(left)
        tops.append(top)
    titles = pixels(page)[sheets.MARGIN : tops[0]]
    for left in lefts:
        assert (titles[:, left - sheets.GAP + 1 : left - 1] == 255).all()
        dark = np.flatnonzero((titles[:, left : left + cell] < 120).any((1, 2)))
        assert len(titles) - dark.max() < sheets.GAP + 8  # but there is a title, just above


def test_long_titles_wrap_between_words() -> None:
    wide = sheets._words("Deep Feature Factorization", 100, 13)
    single = sheets._words("Deep", 100, 13)
    assert wide.height == 2 * single.height
    letters = sheets._letters([("Deep Feature Factorization", 80)])
    assert rendering.SMALLEST < letters < sheets.LETTERS
    assert rendering.font(letters).getlength("Factorization") <= 80
    assert rendering.font(letters + 1).getlength("Factorization") > 80


def test_row_titles_stand_beside_the_middle_of_their_rows() -> None:
    images, columns, _ = example()
    page = gallery(images, columns, ["cat", "dog", "car"], "", cell=144)
    for row, image in enumerate(images):
        large = Image.fromarray(image).resize((144, 144), Image.Resampling.LANCZOS)
        left, top = place_of(np.asarray(large), page)
        beside = pixels(page)[top : top + 144, : left - sheets.GAP]
        dark = np.flatnonzero((beside < 120).any((1, 2)))
        assert abs(dark.mean() - 72) < 8, row


def legend(kind: Kind) -> Pixels:
    """As galleries have it: twice as large, like their letters."""
    return pixels(ImageOps.scale(Image.fromarray(rendering.legend(kind, sheets.LEGEND)), 2))


def test_legends_are_shown_for_the_kinds_that_occur() -> None:
    images, columns, names = example()
    both = gallery(images, columns, names, "", cell=CELL)
    place_of(legend("positive"), both)
    place_of(legend("signed"), both)
    only = {"LIME": columns["LIME"]}
    page = gallery(images, only, names, "", cell=CELL)
    place_of(legend("signed"), page)
    with pytest.raises(AssertionError):
        place_of(legend("positive"), page)


def test_headers_go_upwards_and_no_letter_is_lost() -> None:
    strip = sheets._turned("Deep Feature Factorization", CELL)
    assert strip.width == CELL < strip.height
    upright = pixels(strip.rotate(-90, expand=True))
    face = rendering.font(sheets.GALLERY_LETTERS)
    long, _ = rendering.extent("Deep Feature Factorization", face)
    assert abs(upright.shape[1] - long) <= 2
    dark = np.flatnonzero((upright < 120).any((0, 2)))
    assert dark.min() < 6 and dark.max() > long - 6


@pytest.mark.parametrize("cell", [31, 144])
def test_one_row_and_one_column_and_an_odd_size_make_a_gallery(cell: int) -> None:
    maps = heat(1, 4)
    page = gallery(photos(1), {"RISE": (maps, False)}, ["cat"], "One", cell=cell)
    left, top = place_of(rendering.overlay(photos(1)[0], maps[0], False, cell), page)
    assert left > cell and top > 0  # beside the image, below the titles


def test_maps_without_content_do_not_spoil_a_gallery() -> None:
    images, columns, names = example()
    columns["Grad-CAM"][0][0] = 0
    columns["LIME"][0][1] = np.nan
    page = gallery(images, columns, names, "", cell=144)
    empty = rendering.overlay(images[1], columns["LIME"][0][1], True, 144)
    left, top = place_of(empty, page)
    assert left > 3 * 144 and top > 144  # in the last column, below the first row


def test_a_column_with_too_few_rows_is_an_error() -> None:
    images, columns, names = example()
    columns["RISE"] = (heat(2, 5), False)
    with pytest.raises(PastaError, match="column 'RISE' has 2 entries for 3 images"):
        gallery(images, columns, names, "")
    with pytest.raises(PastaError, match="row titles has 1 entries for 3 images"):
        gallery(images, {}, names[:1], "")


def entries() -> list[Entry]:
    found = [
        Entry(group, f"Method {number}", HeatMap(heat(1, 10 * place + number)[0], number == 2))
        for place, group in enumerate(("ResNet50", "ViT-B/16"))
        for number in range(5)
    ]
    values = np.linspace(-1, 0.8, 12)
    chart: Explanation = ConceptValues([f"concept {place}" for place in range(12)], values)
    return [*found, Entry("CLIP-QDA", "SHAP on concepts", chart)]


def test_a_sheet_holds_every_technique_group_by_group() -> None:
    image = photos(1)[0]
    page = sheet(image, entries(), "Everything", cell=CELL, across=3)
    wide = 2 * CELL + sheets.GAP
    places = [
        place_of(rendering.picture(image, entry.explanation, CELL, wide), page)
        for entry in entries()
    ]
    tops = [top for _, top in places]
    assert tops == sorted(tops)
    assert len(set(tops)) == 5  # two rows of maps for each of two backbones, and the concepts
    assert len({left for left, _ in places[:3]}) == 3
    within, between = tops[3] - tops[0], tops[5] - tops[3]
    assert between > within  # a new group starts with a heading


@pytest.mark.parametrize("across", [1, 4])
def test_a_sheet_of_one_technique(across: int) -> None:
    image, entry = photos(1)[0], entries()[0]
    page = sheet(image, [entry], "One", across=across)
    left, top = place_of(rendering.picture(image, entry.explanation, 176), page)
    assert left == sheets.MARGIN and top > sheets.MARGIN


def test_a_sheet_needs_explanations() -> None:
    with pytest.raises(PastaError, match="no explanations"):
        sheet(photos(1)[0], [], "Nothing")


def test_files_of_two_runs_are_equal_byte_by_byte() -> None:
    def saved(page: Image.Image, form: str) -> bytes:
        stream = io.BytesIO()
        page.save(stream, form)
        return stream.getvalue()

    for form in ("PNG", "JPEG"):
        first, second = (gallery(*example(), title="Again", cell=CELL) for _ in range(2))
        assert saved(first, form) == saved(second, form)
        one, other = (sheet(photos(1)[0], entries(), "Again") for _ in range(2))
        assert saved(one, form) == saved(other, form)
