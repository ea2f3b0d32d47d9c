"""Tables of applications with known effects, made by the applications' own functions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pasta.applications.backbones import SCORE_COLUMNS, summarise_towers, tower_trends
from pasta.applications.examples import run_examples
from pasta.applications.mixture import run_mixture
from pasta.applications.pareto import run_pareto
from pasta.applications.steering import curve
from pasta.applications.tuning import Answer, Found, candidate_table, choose, verdict_table
from pasta.seeds import generator
from tests.applications.made_up import measured, random_scores, settings


def mixture() -> dict[str, pd.DataFrame]:
    scores = random_scores(12)
    values = measured(scores)
    stars = [f"votes_{star}" for star in range(1, 6)]
    labels = pd.DataFrame({"sample_id": scores["sample_id"], "question": "Q1"}).assign(
        **dict.fromkeys(stars, 1), mode=3, mean=3.0, simulated=True
    )
    fold = scores.assign(fold=scores["image"].str[-1].astype(int) % 3)
    return {
        **run_mixture(scores, values, settings(), 0, fold),
        **run_pareto(scores, values, settings(), 0),
        **run_examples({"Q1": scores}, labels, settings()),
    }


def steering(images: int = 6, gain: float = 1.0) -> dict[str, pd.DataFrame]:
    """Lambda adds to the score, takes from faithfulness, and changes the quality by ``gain``."""
    noise = [0.1 if image % 2 else -0.1 for image in range(images)]
    rows = [
        {
            "image": f"coco/{image}", "weight": weight, "score": 2 + weight + noise[image],
            "faithfulness": -0.5 * weight, "quality": gain * weight + noise[image] * weight,
            "equal": False, "familiar": image > 0, "predicted": "dog", "held_out": True,
        }
        for image in range(images)
        for weight in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    steered = pd.DataFrame(rows)
    return {"steered": steered, "curve": curve(steered, 100, 0)}


def backbones(fall: float = -1.0) -> dict[str, pd.DataFrame]:
    """Two towers; on the large one the scores of activation-based methods differ by ``fall``."""
    noise = generator(0, "towers").normal(0, 0.1, 8)
    rows = [
        ("coco", str(image), tower, method, family, size, "dog", True, "ok",
         3 + noise[image] + (fall if tower == "wide" and family == "activation" else 0.0), 0.5)
        for tower, size in (("narrow", 1000), ("wide", 2_000_000))
        for method, family in (("gradcam", "activation"), ("rise", "perturbation"))
        for image in range(8)
    ]  # fmt: skip
    scores = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
    towers = pd.DataFrame(
        {
            "tower": ["narrow", "wide"], "parameters": [1000, 2_000_000], "size": 96,
            "accuracy": [0.7, 0.9], "positions": 72, "median": 1.0, "fence": 3.0, "largest": 4.0,
            "outliers": [0.01, 0.05], "background": 0.4, "in_background": [0.1, 0.8],
        }
    )  # fmt: skip
    summary, trends = summarise_towers(scores, 100, 0), tower_trends(scores, 100, 0)
    return {"scores": scores, "towers": towers, "summary": summary, "trends": trends}


def tuning(gain: float = 0.3, technique: str = "lime/resnet50") -> dict[str, pd.DataFrame]:
    """Kernel width 0.1 scores better by half a star; true quality changes by ``gain``."""
    base = np.linspace(2, 3, 8)
    answers = [
        Answer({"kernel_width": 0.25}, base, base - 3),
        Answer({"kernel_width": 0.1}, base + 0.5, base - 3 + gain),
    ]
    found = Found(answers[0], answers)
    choice = choose(found)
    spread = np.linspace(-0.02, 0.02, 8)
    default = {"score": base, "quality": base, "faithfulness": base}
    tuned = {
        "score": base + 0.4 + spread,
        "quality": base + gain + spread,
        "faithfulness": base - 0.2 + spread,
    }
    return {
        "candidates": candidate_table(technique, found, choice, 100, 0),
        "verdict": verdict_table(technique, found, choice, tuned, default, 100, 0),
    }
