"""Scoring maps against masks beside a loop over scikit-image and scikit-learn calls."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from scipy.stats import entropy, pearsonr, spearmanr
from skimage.metrics import mean_squared_error
from sklearn.metrics import jaccard_score, mean_absolute_error, roc_auc_score

from analysis.map_scores import score_maps

SIZE, MAPS, MASKS = 224, 10_000, 100
LOOPED = 6  # maps that the loop scores; it takes the same for each
THRESHOLDS = np.linspace(0.01, 1, 100)


def material(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smooth maps, and masks in steps of a tenth as ten people make them."""
    rng = np.random.default_rng(0)
    coarse = rng.random((number, 14, 14), dtype=np.float32)
    maps = np.kron(coarse, np.ones((1, 16, 16), np.float32))
    maps += 0.1 * rng.random(maps.shape, dtype=np.float32)
    masks = np.kron(rng.integers(0, 11, (MASKS, 14, 14)) / 10, np.ones((1, 16, 16)))
    masks /= masks.max((1, 2), keepdims=True)
    return maps, masks, np.arange(number) % MASKS


def looped(values: np.ndarray, mask: np.ndarray) -> dict[str, float]:
    """The same scores by the calls that one would write down."""
    wide = values.astype(np.float64)
    shown = (wide - wide.min()) / (wide.max() - wide.min())
    s, m, on = shown.ravel(), mask.ravel(), mask.ravel() >= 0.5
    inside = m > 0
    overlaps = [jaccard_score(on, s >= threshold) for threshold in THRESHOLDS]
    return {
        "agreement": 1 - mean_absolute_error(m, s),
        "squared": float(mean_squared_error(mask, shown)),
        "false_positive": mean_absolute_error(m[~inside], s[~inside]),
        "false_negative": mean_absolute_error(m[inside], s[inside]),
        "iou_best": max(overlaps),
        "iou_mean": float(np.mean(overlaps)),
        "pointing": float(on[np.argmax(s)]),
        "mass": s[on].sum() / s.sum(),
        "auc": roc_auc_score(on, s),
        "nss": float(((s - s.mean()) / s.std())[on].mean()),
        "correlation": float(pearsonr(s, m).statistic),
        "similarity": float(np.minimum(s / s.sum(), m / m.sum()).sum()),
        "divergence": float(entropy(m / m.sum(), s / s.sum() + np.finfo(float).eps)),
        "rank_correlation": float(spearmanr(s, m).statistic),
    }


EXACT = ("agreement", "false_positive", "false_negative", "pointing", "nss", "correlation",
         "similarity", "rank_correlation")  # fmt: skip


def test_scores_are_twenty_times_faster_than_a_loop_with_equal_values() -> None:
    maps, masks, which = material(300)
    started = time.perf_counter()
    found = score_maps(maps, masks, which=which)
    ours = (time.perf_counter() - started) / len(maps)
    started = time.perf_counter()
    expected = [looped(maps[n], masks[which[n]]) for n in range(LOOPED)]
    theirs = (time.perf_counter() - started) / LOOPED
    for number, row in enumerate(expected):
        for name in EXACT:
            assert found.loc[number, name] == pytest.approx(row[name], rel=1e-6), name
        # Judd's curve has points at marked pixels only, and all thresholds are more than a hundred.
        assert found.loc[number, "auc"] == pytest.approx(row["auc"], abs=1e-3)
        assert found.loc[number, "divergence"] == pytest.approx(row["divergence"], abs=1e-6)
        assert found.loc[number, "iou_best"] == pytest.approx(row["iou_best"], abs=5e-3)
        assert found.loc[number, "iou_mean"] == pytest.approx(row["iou_mean"], abs=1e-2)
    print(f"{1e3 * ours:.1f} ms a map, the loop {1e3 * theirs:.0f} ms: {theirs / ours:.0f} times")
    assert theirs / ours >= 20


def test_memory_is_flat_in_the_number_of_maps(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("maps")
    _, masks, _ = material(1)
    peaks = []
    for number in (100, 1_000):
        file = folder / f"{number}.npy"
        stored = np.lib.format.open_memmap(file, "w+", np.float32, (number, SIZE, SIZE))
        for row in range(number):
            stored[row] = np.random.default_rng(row).random((SIZE, SIZE), dtype=np.float32)
        del stored
        tracemalloc.start()
        score_maps(np.load(file, mmap_mode="r"), masks, which=np.arange(number) % MASKS)
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    print(f"peaks: {peaks[0]:.0f} and {peaks[1]:.0f} MB of 100 and 1,000 maps")
    assert peaks[1] < 1.2 * peaks[0]


def test_ten_thousand_maps_are_scored_in_one_call(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("many") / "maps.npy"
    maps, masks, _ = material(500)
    stored = np.lib.format.open_memmap(file, "w+", np.float32, (MAPS, SIZE, SIZE))
    for start in range(0, MAPS, len(maps)):
        stored[start : start + len(maps)] = maps
    del stored
    started = time.perf_counter()
    found = score_maps(np.load(file, mmap_mode="r"), masks, which=np.arange(MAPS) % MASKS)
    seconds = time.perf_counter() - started
    print(f"{MAPS:,} maps of {SIZE} px in {seconds:.0f} s")
    assert (found["status"] == "ok").all()
