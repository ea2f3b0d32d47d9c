"""No page but the last is half empty, and no page has a wide gap in its middle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
import pytest
from numpy.typing import NDArray
from PIL import Image

from pasta.studies.ratings.analyses.correlation import correlation_tables
from pasta.studies.ratings.protocol import load_protocol
from reports.source.catalog import describe_questions
from reports.source.pages.agreement import agreement_report
from reports.source.pages.correlation import correlation_report
from reports.source.pages.replication import replication_report
from reports.source.pages.score import score_report
from reports.source.replication.collected import beside_papers
from reports.source.replication.errata import errata_table
from reports.source.replication.rows import published_tables
from reports.source.replication.table import replication_table
from reports.source.typesetting import Report, compile_pdf
from tests.reports import test_applications_pages as applications
from tests.reports import test_dataset_pages as dataset
from tests.reports.applications_made_up import backbones, mixture, steering, tuning
from tests.reports.studies import as_read, rated
from tests.reports.test_predictions import predictions
from tests.reports.test_score_pages import differences, summary
from tests.studies.ratings.analysed import agreement_and_bias

DPI = 50
GAP = 15  # millimetres between lines that still look like one text
HEAD, FOOT = 24, 22  # millimetres of the page's margins


def covered(page: NDArray[np.uint8]) -> float:
    """The share of a page's text area that lies within or near what is printed."""
    area = page[round(HEAD / 25.4 * DPI) : -round(FOOT / 25.4 * DPI)]
    ink = np.flatnonzero((area < 250).any(axis=1))
    if not len(ink):
        return 0.0
    reach = GAP / 25.4 * DPI
    edges = np.concatenate([[0], ink, [len(area) - 1]])
    empty = np.diff(edges)
    return float(1 - empty[empty > reach].sum() / len(area))


def pages(report: Report) -> list[NDArray[np.uint8]]:
    asked = describe_questions(load_protocol("p2"))
    whole = replace(report, questions=asked, drawn=["COCO", "MonuMAI"])
    facts = {"Commit": "0123456789ab", "Data": [f"folder{place} md5" for place in range(8)]}
    pdf = pypdfium2.PdfDocument(compile_pdf(whole, facts))
    found = [np.asarray(page.render(scale=DPI / 72).to_pil().convert("L")) for page in pdf]
    pdf.close()
    return found


def grey(file: Path, size: tuple[int, int]) -> Path:
    """A picture without content."""
    Image.new("RGB", size, "grey").save(file)
    return file


def make(name: str, folder: Path) -> Report:
    values, labels, samples = rated()
    correlations = correlation_tables(values, labels, samples, resamples=50)
    scored = {"summary": summary(), "differences": differences(), "predictions": predictions()}
    if name == "agreement":
        votes = pd.concat([labels.assign(annotator_id=f"a{place}") for place in range(8)])
        given = np.random.default_rng(0).integers(1, 6, len(votes))
        return agreement_report(agreement_and_bias(votes.assign(rating=given)), True)
    if name == "correlation":
        return correlation_report(as_read(correlations), published_tables(), True)
    if name == "score":
        return score_report(as_read(scored), published_tables(), True)
    if name == "replication":
        ours = beside_papers({"correlation": correlations, "score": scored}, {})
        papers = published_tables()
        rows = replication_table(papers, as_read(ours))
        return replication_report(rows, True, errata_table(papers))
    if name == "dataset":
        names = ("datasets", "resnet50", "vit_b_16", "clip_zero_shot", "concepts")
        found = dataset.report(folder)
        shown = {one: grey(folder / f"{one}.png", (2400, 1500)) for one in names}
        return replace(found, content={**found.content, "pictures": shown})
    parts = {"mixture": mixture(), "steering": steering(), "backbones": backbones(),
             "tuning": tuning()}  # fmt: skip
    files = {one: grey(folder / f"{one}.jpg", (1800, 1000)) for one in applications.NAMES}
    return applications.report({key: as_read(own) for key, own in parts.items()}, files, True)


@pytest.mark.parametrize(
    "name", ["agreement", "correlation", "score", "replication", "dataset", "applications"]
)
def test_every_page_but_the_last_is_more_than_half_full(name: str, tmp_path: Path) -> None:
    found = [covered(page) for page in pages(make(name, tmp_path))]
    assert len(found) > 1
    assert min(found[:-1]) > 0.5, [round(share, 2) for share in found]


def test_an_empty_and_a_half_empty_page_would_be_seen() -> None:
    page = np.full((585, 413), 255, np.uint8)
    assert covered(page) == 0
    page[60:250:4] = 0
    assert 0.3 < covered(page) < 0.5
    page[500:530:4] = 0  # a foot does not fill the gap above it
    assert covered(page) < 0.6
