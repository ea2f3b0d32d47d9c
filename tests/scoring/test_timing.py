"""Seconds of the score: of the right work, on the right number of explanations."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from torch import Tensor

from pasta import compute
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.scoring import timing
from pasta.scoring.settings import ScoringParams, StudiesParams, TimingParams
from pasta.scoring.timing import COLUMNS, choose_parts, measure_seconds
from tests.embedding.small import CONCEPT, NUMBER, SALIENCY, Counting, settings, write_group
from tests.scoring.planted import settings as network

NAP = 0.1  # seconds that the slow encoder needs for a batch


class Slow(Counting):
    """Takes its time over pictures."""

    def images(self, batch: Tensor) -> Tensor:
        time.sleep(NAP)
        return super().images(batch)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """The encoder that is opened."""
    encoder = Slow()
    monkeypatch.setattr(timing, "open_encoder", lambda *_: encoder)
    return encoder


@pytest.fixture
def group(tmp_path: Path) -> Group:
    """Six explanations of each of two saliency techniques and a concept one."""
    return write_group(tmp_path, not_ok=f"catsdogscars/0002/{'/'.join(SALIENCY[0])}")


def scoring(explanations: int) -> ScoringParams:
    return ScoringParams(
        linear=network(epochs=2),
        studies=StudiesParams(scorer="pasta-linear"),
        timing=TimingParams(explanations=explanations),
    )


def quiet(name: str, words: str) -> None:
    assert name and words


def test_each_step_is_measured_on_its_own_explanations(
    group: Group, tmp_path: Path, slow: Slow
) -> None:
    found = measure_seconds([group], settings(), scoring(100), tmp_path, 0, quiet)
    assert list(found.columns) == list(COLUMNS)
    assert found["step"].tolist() == ["embedding", "training", "inference"]
    assert set(found["device"]) == {"cpu"} and set(found["encoder"]) == {"counting"}
    assert found["scorer"].tolist() == ["", "pasta-linear", "pasta-linear"]
    usable = (len(SALIENCY) + len(CONCEPT)) * NUMBER - 1  # one shows nothing
    embedded, trained, new = found["n"]
    assert embedded == usable
    assert new == NUMBER  # the last technique
    assert 0 < trained < usable - new  # some are for validation
    # two saliency techniques in batches of four; warming up is not counted
    assert found["seconds"][0] >= 4 * NAP
    assert found["seconds"][2] < NAP  # the last technique has no pictures
    assert slow.pictures == 1 + 2 * NUMBER - 1


def test_given_vectors_have_no_seconds(group: Group, tmp_path: Path) -> None:
    given = settings(encoder="given", weights="mine")
    found = measure_seconds([group], given, scoring(100), tmp_path, 0, quiet)
    assert list(found.columns) == list(COLUMNS) and found.empty


def test_enough_techniques_are_taken_and_no_more(group: Group) -> None:
    assert [part.number for part in choose_parts([group], 6)] == [NUMBER - 1, NUMBER]
    assert len(choose_parts([group], 100)) == 3
    with pytest.raises(PastaError, match="fewer than two techniques"):
        choose_parts([], 5)


def test_a_chosen_device_is_used_and_given_back() -> None:
    before = compute.device()
    with compute.using(torch.device("meta")):
        assert compute.device().type == "meta"
    assert compute.device() == before
