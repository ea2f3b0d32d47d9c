"""The report on a dataset's folder, whole, broken and missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pasta.datasets.files import FILES
from pasta.datasets.files.check import LAYOUTS, Finding, inspect
from pasta.errors import PastaError
from tests.datasets import trees
from tests.datasets.test_files_sources import BUILDERS, every


def bad(findings: list[Finding], *, classes: bool = False) -> list[Finding]:
    """What is not in order; that so few images do not fill each split is expected here."""
    return [
        one
        for one in findings
        if one.state != "ok" and (classes or not one.what.startswith("class "))
    ]


def test_every_dataset_has_a_layout() -> None:
    assert set(LAYOUTS) == set(FILES) == set(BUILDERS)


@every
def test_a_whole_tree(dataset: str, tmp_path: Path) -> None:
    findings = inspect(dataset, BUILDERS[dataset](tmp_path))
    assert not bad(findings)
    assert findings[-1].what == "sample"
    assert all(one.fix for one in bad(findings, classes=True))


@every
def test_nothing_there(dataset: str, tmp_path: Path) -> None:
    assert [one.state for one in inspect(dataset, tmp_path / "absent")] == ["missing"]
    findings = inspect(dataset, tmp_path)
    assert "missing" in {one.state for one in findings}
    assert all(one.fix for one in bad(findings))


@every
def test_each_missing_piece_is_reported_and_nothing_raised(dataset: str, tmp_path: Path) -> None:
    whole = BUILDERS[dataset](tmp_path / "whole")
    complete = inspect(dataset, whole)
    for number, piece in enumerate(sorted(whole.rglob("*"))):
        if piece.suffix == ".mat" or piece.stem == "000000000285":
            continue  # one image less, and no fault
        broken = tmp_path / str(number)
        shutil.copytree(whole, broken)
        victim = broken / piece.relative_to(whole)
        shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
        findings = inspect(dataset, broken)
        assert bad(findings) or findings != complete


def test_orphans_and_damaged_images(tmp_path: Path) -> None:
    trees.monumai(tmp_path)
    (tmp_path / "Gothic/5bgo0.jpg").unlink()
    (tmp_path / "Baroque/xml/5bba1.xml").unlink()
    trees.text(tmp_path / "Renaissance/5bre0.jpg", "no image")
    findings = inspect("monumai", tmp_path)
    details = {one.what: one.detail for one in findings}
    states = {one.what: one.state for one in findings}
    assert states["annotations without images"] == "problem"
    assert states["images without annotations"] == "problem"
    assert details["annotations without images"] == "1: Gothic/xml/5bgo0.xml"
    assert details["images without annotations"] == "1: Baroque/5bba1.jpg"
    samples = [one.detail for one in findings if one.what == "sample"]
    assert len(samples) == 2
    assert any("5bre0.jpg" in one for one in samples)


def test_unknown_dataset(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="Did you mean 'coco'"):
        inspect("cocoo", tmp_path)
