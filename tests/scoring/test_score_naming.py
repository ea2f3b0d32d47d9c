"""Names of files are read from both ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasta.errors import InputError
from pasta.scoring.files import KNOWN, Named, parse_name

PAIRS = [(dataset, label) for dataset, labels in KNOWN.items() for label in labels]


@given(st.sampled_from(PAIRS), st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True))
def test_what_was_written_is_read(pair: tuple[str, str], image_id: str) -> None:
    dataset, label = pair
    name = f"{dataset}_{image_id}_{label}"
    for suffix in (".png", ".npy", ".json"):
        assert parse_name(Path("somewhere") / f"{name}{suffix}") == Named(dataset, image_id, label)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    try:
        found = parse_name(text)
    except InputError as error:
        assert "expected a name like" in str(error)
    else:
        assert found.label in KNOWN[found.dataset]
        assert found.image_id


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("catsdogscars_0052_cats.png", Named("catsdogscars", "0052", "cat")),
        ("catsdogscars_137_dog.npy", Named("catsdogscars", "137", "dog")),
        ("coco_7_sports_and_leisure.json", Named("coco", "7", "sports_and_leisure")),
        ("monumai_3_Hispanic-Muslim.npy", Named("monumai", "3", "Hispanic-Muslim")),
    ],
)
def test_released_names(name: str, expected: Named) -> None:
    assert parse_name(name) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("heat.npy", r"heat.npy: the name is not made of three parts"),
        ("coco_12.npy", r"coco_12.npy: the name is not made of three parts"),
        ("coco__workplace.npy", r"not made of three parts"),
        ("cocoa_12_workplace.npy", r"no dataset called 'cocoa'. Did you mean 'coco'"),
        ("coco_12_work_place.npy", r"no class called 'work_place'. Did you mean 'workplace'"),
        ("coco_12_cat.npy", r"coco has no class called 'cat'"),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_name(name)


def test_a_scorers_own_classes_decide() -> None:
    own = {"birds": ("great_tit", "tit"), "birds_north": ("owl",)}
    assert parse_name("birds_1_great_tit.npy", own) == Named("birds", "1", "great_tit")
    assert parse_name("birds_north_1_owl.npy", own) == Named("birds_north", "1", "owl")
