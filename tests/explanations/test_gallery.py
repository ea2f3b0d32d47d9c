"""Galleries and sheets hold every explanation once, in its place, under its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.gallery import LEGEND, Entry, draw, enlarge, gallery, sheet
from pasta.explanations.rendering import ConceptValues, Explanation, HeatMap, Pixels

Columns = dict[str, tuple[NDArray[np.float32], bool]]
CELL = 60


def photos(count: int, size: int = 24) -> Pixels:
    return np.random.default_rng(2).integers(0, 255, (count, size, size, 3), dtype=np.uint8)


def heat(count: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((count, 24, 24), dtype=np.float32)


def example(rows: int = 3) -> tuple[Pixels, Columns, list[str]]:
    columns: Columns = {
        "Grad-CAM": (heat(rows, 1), False),
        "Deep Feature Factorization": (heat(rows, 2), False),
        "LIME": (2 * heat(rows, 3) - 1, True),
    }
    return photos(rows), columns, [f"class_{row} (97 %)" for row in range(rows)]


def place_of(part: Pixels, figure: Figure) -> Any:
    """The axes that show a picture, of which there is one."""
    (found,) = [
        axes
        for axes in figure.axes
        if axes.images and np.array_equal(np.asarray(axes.images[0].get_array()), part)
    ]
    return found


def corner(axes: Any) -> tuple[int, int]:
    """Left and lower edge in pixels."""
    axes.figure.canvas.draw()
    box = axes.get_window_extent()
    return round(box.x0), round(box.y0)


def test_every_map_is_in_its_row_and_column_under_its_name() -> None:
    images, methods, names = example()
    figure = gallery(images, methods, names, "ResNet50", cell=CELL, blocks=1)
    draw(figure)
    for column, image in enumerate(images):
        first = place_of(enlarge(image, CELL), figure)
        assert first.get_title().replace("\n", " ") == f"class {column} (97 %)"
        left, low = corner(first)
        for place, (name, (maps, signed)) in enumerate(methods.items(), 1):
            axes = place_of(rendering.overlay(image, maps[column], signed, CELL), figure)
            assert corner(axes) == pytest.approx((left, low - place * (CELL + 6)), abs=1)
            box = axes.get_window_extent()
            assert (box.width, box.height) == pytest.approx((CELL, CELL), abs=0.5)
            assert axes.get_ylabel().replace("\n", " ") == (name if column == 0 else "")
    assert [text.get_text() for text in figure.texts] == ["ResNet50"]


def test_the_second_block_stands_beside_the_first_with_the_other_methods() -> None:
    images, methods, names = example()
    figure = gallery(images, methods, names, "ResNet50", cell=CELL, blocks=2)
    draw(figure)
    first = corner(place_of(enlarge(images[0], CELL), figure))
    grad, deep, lime = (
        corner(place_of(rendering.overlay(images[0], maps[0], signed, CELL), figure))
        for maps, signed in methods.values()
    )
    assert grad == pytest.approx((first[0], first[1] - CELL - 6), abs=1)
    assert deep[1] == pytest.approx(first[1], abs=1) and lime[1] == pytest.approx(grad[1], abs=1)
    assert deep[0] == lime[0] > first[0] + len(images) * CELL


def test_eight_maps_of_a_row_are_as_wide_as_fifteen_millimetres_on_a_page() -> None:
    images, methods, names = example(4)
    picture = draw(gallery(images, methods, names, "ResNet50", cell=112))
    assert picture.width > 8 * 112 and 166 * 112 / picture.width > 14


def test_a_picture_shows_the_maps_inside_a_white_margin() -> None:
    images, columns, names = example()
    page = np.asarray(draw(gallery(images, columns, names, "A title", cell=CELL))).astype(int)
    assert (page[:10] == 255).all() and (page[:, :10] == 255).all()
    assert (page[-10:] == 255).all() and (page[:, -10:] == 255).all()
    maps = 3 * 4 * CELL**2
    assert (page < 250).any(2).sum() > 0.8 * maps


def test_legends_are_shown_for_the_kinds_that_occur() -> None:
    images, columns, names = example()
    positive, signed = rendering.legend("positive", LEGEND), rendering.legend("signed", LEGEND)
    both = gallery(images, columns, names, "")
    place_of(positive, both)
    place_of(signed, both)
    only = gallery(images, {"LIME": columns["LIME"]}, names, "")
    place_of(signed, only)
    with pytest.raises(ValueError, match="not enough values"):
        place_of(positive, only)


def test_maps_without_content_and_single_rows_make_a_gallery() -> None:
    maps = heat(1, 4)
    maps[0] = np.nan
    figure = gallery(photos(1), {"RISE": (maps, False)}, ["cat"], "One", cell=31)
    found = [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]
    np.testing.assert_array_equal(found[1], rendering.overlay(photos(1)[0], maps[0], False, 31))
    assert draw(figure).height > 31


def test_what_does_not_fit_together_is_an_error() -> None:
    images, columns, names = example()
    columns["RISE"] = (heat(2, 5), False)
    with pytest.raises(PastaError, match="method 'RISE' has 2 entries for 3 images"):
        gallery(images, columns, names, "")
    with pytest.raises(PastaError, match="list of titles has 1 entries for 3 images"):
        gallery(images, {}, names[:1], "")
    with pytest.raises(PastaError, match="no explanations"):
        sheet(photos(1)[0], [], "Nothing")


def entries() -> list[Entry]:
    found = [
        Entry(group, f"Method {number}", HeatMap(heat(1, 10 * place + number)[0], number == 2))
        for place, group in enumerate(("ResNet50", "ViT-B/16"))
        for number in range(5)
    ]
    values = np.linspace(-1, 0.8, 12)
    chart: Explanation = ConceptValues([f"concept {place}" for place in range(12)], values)
    return [*found, Entry("CLIP-QDA", "SHAP on concepts", chart)]


@pytest.mark.parametrize("across", [1, 3])
def test_a_sheet_holds_every_technique_group_by_group(across: int) -> None:
    image = photos(1)[0]
    figure = sheet(image, entries(), "Everything", CELL, across)
    draw(figure)
    places = []
    for entry in entries():
        axes = place_of(rendering.picture(image, entry.explanation, CELL, 2 * CELL + 6), figure)
        assert axes.get_title("left").replace("\n", " ") == entry.title
        places.append(corner(axes))
    tops = [low for _, low in places]
    assert tops == sorted(tops, reverse=True)
    assert len(set(tops)) == (5 if across == 3 else 11)  # rows of two backbones, and the concepts
    headings = [text.get_text() for text in figure.texts]
    assert headings == ["Everything", "ResNet50", "ViT-B/16", "CLIP-QDA"]


def test_pictures_of_two_runs_are_equal() -> None:
    one, other = (draw(sheet(photos(1)[0], entries(), "Again")).tobytes() for _ in range(2))
    assert one == other
