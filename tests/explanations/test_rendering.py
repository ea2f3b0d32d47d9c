"""Pictures of explanations show what the numbers say, whatever the numbers, names and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.rendering import ConceptValues, HeatMap, Kind, Pixels

INKS = {1: rendering.FOR, -1: rendering.AGAINST}


def photo(height: int = 48, width: int = 48) -> Pixels:
    """Smooth colours with some noise, far from the colours of the heat maps."""
    rng = np.random.default_rng(1)
    rows, columns = np.mgrid[:height, :width]
    base = np.stack([rows * 2 + 60, columns * 2 + 70, 140 + 0 * rows], -1)
    return np.asarray(base + rng.integers(0, 12, base.shape), dtype=np.uint8)


def enlarged(image: Pixels, size: int) -> Pixels:
    return np.asarray(Image.fromarray(image).resize((size, size), Image.Resampling.LANCZOS))


def ramp(size: int = 48, low: float = 0.0) -> NDArray[np.float32]:
    return np.tile(np.linspace(low, 1, size, dtype=np.float32), (size, 1))


def is_colour(picture: Pixels, colour: tuple[int, int, int]) -> NDArray[np.bool_]:
    return np.asarray((picture == np.asarray(colour)).all(-1))


def bars(picture: Pixels) -> list[tuple[int, int]]:
    """Sign and length of each bar, from above: runs of rows in which a bar's colour occurs."""
    found: list[tuple[int, int]] = []
    previous = (0, 0)
    for row in picture[:, None]:
        lengths = {sign: int(is_colour(row, ink).sum()) for sign, ink in INKS.items()}
        sign = max(lengths, key=lambda key: lengths[key])
        current = (sign, lengths[sign]) if lengths[sign] else (0, 0)
        if current[1] and not previous[1]:
            found.append(current)
        previous = current
    return found


TextBox = tuple[float, float, float, float]


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> list[TextBox]:
    """Where the texts of a picture are, filled while it is drawn."""
    found: list[TextBox] = []
    write = ImageDraw.ImageDraw.multiline_text

    def spy(self: ImageDraw.ImageDraw, *arguments: Any) -> None:
        place, text, _, face, anchor, spacing, align = arguments
        if text:
            found.append(self.multiline_textbbox(place, text, face, anchor, spacing, align))
        write(self, *arguments)

    monkeypatch.setattr(ImageDraw.ImageDraw, "multiline_text", spy)
    return found


# Maps


def test_a_positive_map_mixes_image_and_inferno_by_the_documented_weights() -> None:
    image, heat = photo(), ramp()
    strength = heat.astype(np.float64)[..., None]
    weight = rendering.DIM + (rendering.GLOW - rendering.DIM) * strength
    colour = 255 * colormaps["inferno"](np.rint(255 * heat).astype(int))[..., :3]
    expected = (1 - weight) * image + weight * colour
    drawn = rendering.overlay(image, heat, signed=False, size=48)
    assert np.abs(drawn - expected).max() <= 1


def test_the_hottest_pixel_has_the_hottest_colour_and_is_the_brightest_on_an_even_image() -> None:
    grey = np.full((31, 31, 3), 120, np.uint8)
    heat = np.zeros((31, 31), np.float32)
    heat[7, 22], heat[20, 5] = 1, 0.5
    drawn = rendering.overlay(grey, heat, signed=False, size=93)
    light = drawn.astype(int).sum(-1)
    assert np.unravel_index(light.argmax(), light.shape) == (7 * 3 + 1, 22 * 3 + 1)
    hottest = 0.25 * 120 + 0.75 * 255 * np.asarray(colormaps["inferno"](255)[:3])
    assert drawn[22, 67] == pytest.approx(hottest, abs=1)


def test_lightness_rises_with_the_value() -> None:
    grey = np.full((4, 256, 3), 128, np.uint8)
    light = rendering.blend(grey, ramp(256)[:4], signed=False) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light[0]) > -1.0).all()  # one level of rounding
    assert light[0, -1] - light[0, 0] > 100


def test_where_a_signed_map_is_zero_the_image_is_unchanged() -> None:
    image = photo()
    heat = np.zeros((48, 48), np.float32)
    heat[:8, :8], heat[-8:, -8:] = 1, -1
    drawn, plain = rendering.overlay(image, heat, signed=True, size=96), enlarged(image, 96)
    untouched = np.ones((96, 96), bool)
    untouched[:18, :18] = untouched[-18:, -18:] = False
    assert (drawn[untouched] == plain[untouched]).all()
    assert (drawn[~untouched] != plain[~untouched]).any(-1).mean() > 0.7


def test_a_signed_map_is_red_for_and_blue_against_with_equal_weight() -> None:
    grey = np.full((2, 2, 3), 128, np.uint8)
    drawn = rendering.blend(grey, np.array([[1.0, -1.0], [0.5, -0.5]]), signed=True)
    for place, sign in enumerate((1, -1)):
        full = 0.2 * 128 + 0.8 * np.asarray(INKS[sign])
        assert drawn[0, place] == pytest.approx(full, abs=1)
        assert drawn[1, place] == pytest.approx(0.5 * full + 0.5 * 128, abs=1)


def test_the_colours_for_and_against_are_equally_light() -> None:
    from skimage.color import rgb2lab

    lightness = rgb2lab(np.array([[rendering.FOR, rendering.AGAINST]]) / 255)[0, :, 0]
    assert abs(lightness[0] - lightness[1]) < 1.5


def test_values_beyond_the_scale_are_shown_as_its_ends() -> None:
    image = photo()
    low, high = -3 * ramp(low=-1.0), 3 * ramp(low=-1.0)
    for signed, least in ((True, -1), (False, 0)):
        for heat in (low, high):
            inside = rendering.blend(image, np.clip(heat, least, 1), signed)
            assert (rendering.blend(image, heat, signed) == inside).all()


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.7, np.nan, np.inf])
def test_a_map_that_says_nothing_leaves_the_image_bare_and_says_so(
    signed: bool, value: float
) -> None:
    image, heat = photo(), np.full((12, 12), value, np.float32)
    plain = enlarged(image, 200)
    assert (rendering.overlay(image, heat, signed, 200, note=False) == plain).all()
    noted = rendering.overlay(image, heat, signed, 200)
    assert (noted[:160] == plain[:160]).all()
    assert is_colour(noted[-6:], rendering.INK).mean() > 0.5  # the band of the note


@pytest.mark.parametrize("size", [96, 97, 144, 288])
def test_the_note_is_inside_and_hides_no_more_than_half(size: int, boxes: list[TextBox]) -> None:
    rendering.overlay(photo(), np.full((5, 5), 0.5), False, size)
    ((left, up, right, down),) = boxes
    assert 0 <= left < right <= size
    assert size / 2 - 4 <= up < down <= size


def test_a_very_small_picture_has_no_note() -> None:
    assert (rendering.overlay(photo(), np.zeros((5, 5)), False, 48) == photo()).all()


def test_one_value_that_is_not_a_number_spoils_the_whole_map() -> None:
    image, heat = photo(), ramp()
    heat[3, 3] = np.nan
    drawn = rendering.overlay(image, heat, False, 48, note=False)
    assert (drawn == image).all()


@pytest.mark.parametrize(
    ("values", "flat", "reason"),
    [
        ([0.0, 0.0], True, "all zero"),
        ([0.0, np.nan], True, "not a number"),
        ([0.4, 0.4 + 1e-3], True, "same everywhere"),
        ([0.4, 0.4], False, ""),
        ([0.4, 0.5], True, ""),
    ],
)
def test_the_note_names_the_reason(values: list[float], flat: bool, reason: str) -> None:
    text = rendering.emptiness(np.array(values), flat).replace(rendering.NO_BREAK, " ")
    assert text == (f"no explanation ({reason})" if reason else "")


@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 3), (37, 53), (96, 96)])
@pytest.mark.parametrize("size", [31, 97, 288])
def test_all_sizes_of_image_map_and_picture_fit(height: int, width: int, size: int) -> None:
    heat = np.random.default_rng(0).random((14, 9)).astype(np.float16)
    drawn = rendering.overlay(photo(height, width), heat, False, size)
    assert drawn.shape == (size, size, 3)
    assert drawn.dtype == np.uint8
    if height != width:  # margins keep the proportions
        assert (drawn[0, 0] == 255).all()
        assert (drawn[size // 2, size // 2] != 255).any()


# Concepts


def test_bars_are_ordered_and_as_long_as_their_values_say() -> None:
    values = np.array([0.2, -1.0, 0.8, -0.05, 0.6, -0.4])
    found = bars(rendering.concept_bars(list("abcdef"), values))
    expected = [-1.0, 0.8, 0.6, -0.4, 0.2, -0.05]
    assert [sign for sign, _ in found] == [int(np.sign(value)) for value in expected]
    longest = found[0][1]
    assert longest > 80
    for (_, length), value in zip(found, expected, strict=True):
        assert abs(length - longest * abs(value)) <= 1.5  # rounding, and the zero line


def test_only_the_strongest_concepts_are_shown_and_ties_keep_their_order() -> None:
    names = [f"number {place}" for place in range(40)]
    values = np.linspace(-1, 1, 40)
    assert len(bars(rendering.concept_bars(names, values, top=7))) == 7
    order = np.array([0, 39, 1, 38, 2])  # |value|: two by two alike
    alone = rendering.concept_bars([names[place] for place in order], values[order])
    assert (rendering.concept_bars(names, values, top=5) == alone).all()


@pytest.mark.parametrize(
    ("values", "where"), [([3.0, 1.0], "left"), ([-3.0, -1.0], "right"), ([3.0, -3.0], "middle")]
)
def test_bars_start_left_right_or_in_the_middle(values: list[float], where: str) -> None:
    drawn = rendering.concept_bars(["a", "b"], np.array(values))
    columns = [np.flatnonzero(is_colour(drawn, ink).any(0)) for ink in INKS.values()]
    both = np.concatenate(columns)
    left, right = int(both.min()), int(both.max())
    if where == "middle":
        reds, blues = columns
        assert blues.max() < reds.min()
        assert abs(len(reds) - len(blues)) <= 2
    else:
        edges = {"left": left, "right": drawn.shape[1] - right}
        assert edges[where] < 40


def test_a_zero_among_negative_values_has_its_number_inside_the_picture() -> None:
    drawn = rendering.concept_bars(["a", "b"], np.array([-1.0, 0.0]))
    lower = drawn[36:64]
    ink = np.flatnonzero((lower < 200).all(-1).any(0))
    assert (ink < drawn.shape[1] - 2).all()
    assert ((ink > 200) & (ink < 425)).any()  # the "0" left of the zero line


NAMES = [
    "eye",
    "a rather long description of a part that somebody wrote without thinking of charts",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen",
    "naïve façade, œil-de-bœuf",
    "Ελληνικός κίονας",
    "license_plate",
    "猫",
    "",
]


@pytest.mark.parametrize("size", [(432, 288), (288, 144), (151, 97), (90, 40), (1000, 60)])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_no_name_and_no_number_is_clipped(
    size: tuple[int, int], count: int, boxes: list[TextBox]
) -> None:
    """Every text's box lies inside the picture, and no two texts of a chart overlap."""
    names = [NAMES[place % len(NAMES)] for place in range(count)]
    values = np.linspace(-1, 0.9, count)
    high, wide, _ = rendering.concept_bars(names, values, top=count, size=size).shape
    assert wide == size[0]
    assert high >= size[1]
    assert len(boxes) >= sum(map(bool, names))
    for left, up, right, down in boxes:
        assert 0 <= left <= right <= wide
        assert 0 <= up <= down <= high
    for number, (left, up, right, down) in enumerate(boxes):
        for other in boxes[:number]:
            apart = right <= other[0] or other[2] <= left or down <= other[1] or other[3] <= up
            assert apart, (boxes[number], other)


def test_the_picture_has_the_size_that_was_asked_for_unless_names_need_more() -> None:
    values = np.linspace(1, 2, 40)
    names = [f"concept {place}" for place in range(40)]
    assert rendering.concept_bars(names, values).shape == (288, 432, 3)
    assert len(rendering.concept_bars(names, values, top=40)) > 288


@pytest.mark.parametrize("values", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], []])
def test_concepts_without_values_are_a_note_and_no_bars(values: list[float]) -> None:
    drawn = rendering.concept_bars(["a"] * len(values), np.array(values))
    assert drawn.shape == (288, 432, 3)
    assert bars(drawn) == []
    assert is_colour(drawn, rendering.QUIET).any()


def test_names_and_values_must_be_as_many() -> None:
    with pytest.raises(PastaError, match="2 concept names but 3 values"):
        rendering.concept_bars(["a", "b"], np.ones(3))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.5, -0.25, 0.0], ["+0.50", "−0.25", "0"]),
        ([123.4, -5.0], ["+123", "−5"]),
        ([3.14159, -0.001], ["+3.1", "≈ 0"]),
        ([0.031, 0.002], ["+0.031", "+0.002"]),
        ([2e-7, -1e-7], ["+2e−07", "−1e−07"]),
        ([5e8, 1.0], ["+5e+08", "+1e+00"]),
    ],
)
def test_numbers_suit_the_largest_value(values: list[float], texts: list[str]) -> None:
    assert rendering._numbers(np.array(values)) == texts


# Letters


def test_wrapped_lines_fit_and_lose_nothing() -> None:
    face = rendering.font(12)
    for text in NAMES:
        for width in (30, 80, 200):
            wrapped = rendering.wrap(text, width, face)
            assert rendering.extent(wrapped, face)[0] <= width
            assert wrapped.replace("\n", "").replace(" ", "") == text.replace(" ", "")


def test_words_are_broken_only_if_they_must_be_and_percentages_never() -> None:
    face = rendering.font(12)
    assert rendering.wrap("Deep Feature Factorization", 90, face) == "Deep Feature\nFactorization"
    width = face.getlength("potted plant (71")
    assert rendering.wrap("potted plant (71 %)", width, face) == "potted plant\n(71 %)"
    assert rendering.wrap("pointed-arch", 60, face) == "pointed-\narch"


def test_letters_beyond_ascii_are_in_the_font() -> None:
    face = rendering.font(20)
    missing = bytes(face.getmask("\uffff"))
    for letter in "äéñœŁκЖ−≈%":
        assert bytes(face.getmask(letter)) != missing, letter


# Cards


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.93, "93 %"),
        (0.9949, "99 %"),
        (0.9999, "over 99 %"),
        (1.0, "100 %"),
        (0.001, "under 1 %"),
        (0.0, "0 %"),
    ],
)
def test_only_certainty_is_called_100_percent(probability: float, text: str) -> None:
    assert rendering.says("traffic_light", probability) == (
        f"The model says: traffic light ({text})"
    )


def test_a_card_holds_the_image_and_the_explanation_as_they_are() -> None:
    image, top, right = photo(), rendering.STRIP + rendering.GAP, 96 + rendering.GAP
    heat = HeatMap(ramp(), signed=False)
    drawn = rendering.card(image, heat, "cat", 0.93, size=96)
    assert (drawn[top : top + 96, :96] == enlarged(image, 96)).all()
    expected = rendering.overlay(image, heat.shown, False, 96)
    assert (drawn[top : top + 96, right:] == expected).all()
    assert (drawn[:top] < 100).any()  # the caption
    assert (drawn[top + 96 :, right:] < 180).any()  # the legend
    concepts = ConceptValues(["a", "b"], np.array([1.0, -1.0]))
    wide = rendering.card(image, concepts, "cat", 0.93, size=96)
    assert (wide[top : top + 96, right:] == rendering.picture(image, concepts, 96)).all()


def test_another_prediction_gives_another_caption() -> None:
    heat = HeatMap(ramp(), signed=False)
    first, second = (rendering.card(photo(), heat, name, 0.9) for name in ("cat", "dog"))
    differs = np.flatnonzero((first != second).any((1, 2)))
    assert len(differs)
    assert differs.max() < rendering.STRIP + rendering.GAP


def test_legends_run_from_cold_to_hot_and_from_against_to_for() -> None:
    kinds: tuple[Kind, ...] = ("positive", "signed", "concepts")
    for kind in kinds:
        drawn = rendering.legend(kind, 300)
        assert drawn.shape == (rendering.STRIP, 300, 3)
        line = drawn[rendering.STRIP // 2].astype(int)
        coloured = line[np.ptp(line, axis=1) > 40]
        first, last = coloured[0], coloured[-1]
        if kind == "positive":
            assert last.sum() > first.sum()
        else:
            assert first[2] > first[0]  # blue
            assert last[0] > last[2]  # red
    assert is_colour(rendering.legend("concepts"), rendering.FOR).any()


def test_the_same_input_gives_the_same_pixels_and_inputs_stay_unchanged() -> None:
    image, heat, values = photo(), ramp(low=-1.0), np.array([0.5, -1.0])
    copies = [part.tobytes() for part in (image, heat, values)]

    def everything() -> list[Pixels]:
        return [
            rendering.card(image, HeatMap(heat, signed=True), "cat", 0.5),
            rendering.card(image, ConceptValues(["eye", "ear"], values), "cat", 0.5),
        ]

    for first, second in zip(everything(), everything(), strict=True):
        assert np.array_equal(first, second)
    assert [part.tobytes() for part in (image, heat, values)] == copies
