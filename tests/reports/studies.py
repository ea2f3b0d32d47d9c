"""Small studies with known effects, for the reports' tests."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pypdfium2
from matplotlib.figure import Figure

from reports.source.typesetting import Report, compile_pdf

TECHNIQUES = ("gradcam/resnet50", "lime/vit_b_16", "clip_qda/clip_qda")
QUESTIONS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")


def rated(images: int = 12, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Metric values, labels and samples: "sparseness" knows the rating, the others nothing."""
    rng = np.random.default_rng(seed)
    samples, labels, values = [], [], []
    for image in range(images):
        for technique in TECHNIQUES:
            method, backbone = technique.split("/")
            name = f"coco/{image}/{technique}"
            kind = "concept" if method == "clip_qda" else "saliency"
            samples.append((name, "coco", str(image), method, backbone, kind))
            quality = rng.normal()
            for question in QUESTIONS:
                mean = float(np.clip(3 + quality + 0.5 * rng.normal(), 1, 5))
                labels.append((name, question, round(mean), mean))
            if kind == "concept":
                continue
            for metric, variant, side, value in (
                ("faithfulness", "road text", "higher", rng.normal()),
                ("max_sensitivity", "gaussian", "lower", rng.normal()),
                ("sparseness", "", "lower", quality + 0.1 * rng.normal()),
            ):
                gone = metric == "faithfulness" and image == 0
                status = "zero" if gone else "ok"
                number = np.nan if gone else value
                values.append((name, metric, variant, number, side, status, 0.01))
    return (
        pd.DataFrame(values, columns=["sample_id", "metric", "variant", "value", "direction",
                                      "status", "seconds"]),
        pd.DataFrame(labels, columns=["sample_id", "question", "mode", "mean"]),
        pd.DataFrame(samples, columns=["sample_id", "dataset", "image_id", "method", "backbone",
                                       "kind"]),
    )  # fmt: skip


def as_read(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables as they come back from CSV files: empty texts have become missing values."""
    return {
        name: pd.read_csv(io.StringIO(table.to_csv(index=False))) for name, table in tables.items()
    }


def said(value: Any) -> str:
    """All texts among the values of a report; the cells of a row stand in one line."""
    if isinstance(value, Report):
        return said(value.content)
    if isinstance(value, Mapping):
        return "\n".join(said(one) for one in value.values())
    if isinstance(value, list | tuple):
        cut = " | " if value and all(isinstance(one, str) for one in value) else "\n"
        return cut.join(said(one) for one in value)
    return value if isinstance(value, str) else ""


def figures(value: Any) -> list[Figure | Path]:
    """All pictures among the values of a report."""
    if isinstance(value, Figure | Path):
        return [value]
    if isinstance(value, Mapping):
        return figures(list(value.values()))
    return [own for one in value for own in figures(one)] if isinstance(value, list) else []


def printed(report: Report) -> str:
    """The text of the PDF, without its line ends and hyphens."""
    pdf = pypdfium2.PdfDocument(compile_pdf(report, {}))
    pages = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    pdf.close()
    return re.sub(r"\s+", " ", re.sub("[\ufffe\x02]\\s*", "", "\n".join(pages)))
