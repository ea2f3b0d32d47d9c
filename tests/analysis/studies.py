"""Small rating studies with known properties."""

from __future__ import annotations

import numpy as np
import pandas as pd


def study(
    samples: int = 120,
    annotators: int = 8,
    questions: int = 3,
    noise: float = 0.7,
    votes: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Ratings of latent qualities; every sample is seen by ``votes`` random annotators."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, (samples, questions))
    rows = []
    for sample in range(samples):
        for annotator in sorted(rng.permutation(annotators)[:votes]):
            seen = quality[sample] + rng.normal(0, noise, questions)
            for question, rating in enumerate(np.clip(np.rint(seen), 1, 5).astype(int)):
                rows.append((f"s{sample:03d}", f"p{annotator}", f"Q{question + 1}", rating))
    frame = pd.DataFrame(rows, columns=["sample_id", "annotator_id", "question", "rating"])
    number = frame["sample_id"].str[1:].astype(int)
    frame["image_id"] = "i" + (number // 6).astype(str)
    frame["kind"] = np.where(number % 2 == 0, "saliency", "concept")
    return frame
