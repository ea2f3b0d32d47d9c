"""Which rows the stages take of datasets of the papers' sizes, without a pixel.

P1's 908 photographs of MonuMAI and the 1,514 of its repository, PASCAL-Part's 10,103, the 53,051
indoor images of COCO and the 3,858 of Cats-Dogs-Cars, split as the importers split images.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from pasta.applications.prepared.candidates import share_of_search
from pasta.applications.prepared.masks import share_out
from pasta.config import Params
from pasta.datasets.files.base import assign_split
from pasta.explanations.samples import choose_fresh, choose_rated
from pasta.layout import groups
from pasta.sections import for_dataset
from tests.conftest import ROOT
from tests.test_params import profile

SIZES = {
    "monumai": (908, 1514),
    "pascalpart": (10_103, 13_192),
    "coco": (53_051,),
    "catsdogscars": (3858,),
}
CASES = [
    (name, dataset, size)
    for name in ("paper_p1", "paper_p2")
    for dataset, sizes in SIZES.items()
    for size in sizes
]


@cache
def rows_of_test(dataset: str, size: int) -> NDArray[np.int64]:
    """The test split that the importers make of so many images."""
    splits = np.array([assign_split(0, dataset, str(number), None) for number in range(size)])
    return np.flatnonzero(splits == "test")


@pytest.mark.parametrize(("name", "dataset", "size"), CASES)
def test_every_stage_finds_its_images_and_none_twice(name: str, dataset: str, size: int) -> None:
    params, test = profile(name), rows_of_test(dataset, size)
    rated = choose_rated(test, dataset, params)
    asked = for_dataset(params.explanations.images, dataset)
    assert len(rated) == len(set(rated)) == min(asked, len(test)) and set(rated) <= set(test)
    left = len(test) - len(rated)
    for number in fresh_numbers(params, dataset):
        fresh = choose_fresh(test, dataset, params, number)
        assert len(fresh) == min(number, left)
        assert set(fresh) <= set(test) and not set(fresh) & set(rated)


def fresh_numbers(params: Params, dataset: str) -> list[int]:
    """How many fresh images towers, candidates and masks ask for."""
    own = params.applications
    tuning = (for_dataset(number, dataset) for number in (own.tuning.search, own.tuning.held_out))
    chosen = {one.dataset: one for one in groups(params, ROOT)}
    masks = {one.dataset: number for one, number in share_out(list(chosen.values()), 50)}
    return [for_dataset(own.backbones.images, dataset), sum(tuning), masks[dataset]]


def test_monumai_as_published_is_explained_whole_and_left_out_of_the_applications() -> None:
    """908 photographs have 20 % to test: fewer than P2's 250."""
    params, test = profile("paper_p2"), rows_of_test("monumai", 908)
    assert 150 < len(test) < 215 and len(choose_rated(test, "monumai", params)) == len(test)
    assert len(choose_fresh(test, "monumai", params, 100)) == 0
    some = dict.fromkeys(params.datasets, 250) | {"monumai": 100}
    section = params.explanations.model_copy(update={"images": some})
    fewer = params.model_copy(update={"explanations": section})
    assert len(choose_rated(test, "monumai", fewer)) == 100
    assert len(choose_fresh(test, "monumai", fewer, 50)) == 50


def test_fewer_images_are_shared_out_between_search_and_comparison() -> None:
    for there in range(2, 100):
        first = share_of_search(there, 50, 50)
        assert 1 <= first < there and abs(2 * first - there) <= 1
    assert share_of_search(100, 50, 50) == 50 and share_of_search(100, 80, 20) == 80
