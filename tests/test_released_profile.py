"""`pasta profile use released --root FOLDER`, and `pasta data` on releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pasta.cli import app
from pasta.config import checked_params, load_params, profile_text
from pasta.datasets.released import FILE
from pasta.errors import PastaError
from tests.conftest import ROOT, copy_project
from tests.release_generator import Settings, generate


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile") / "release"
    generate(folder, Settings(images=8, techniques=2, people=2, size=16))
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to be in."""
    project = copy_project(tmp_path / "project", "demo")
    monkeypatch.chdir(project)
    return project


def pasta(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_profiles_are_laid_one_over_the_other() -> None:
    text = profile_text(["released", "ci"], ROOT, {"root": "/data/PASTA"})
    both = checked_params(Path("both.yaml"), text)
    assert both.profile == "released-ci" and both.release.root == "/data/PASTA"
    assert {own.source for own in both.datasets.values()} == {"released"}
    assert both.image_size == 48 and both.embedding.encoder == "tiny-clip"
    assert both.embedding.image == "seen" and both.annotations.source == "released"
    alone = checked_params(Path("one.yaml"), profile_text("released", ROOT))
    assert alone.embedding.encoder == "siglip-vit-l-16-384" and alone.clip.weights == "none"
    with pytest.raises(PastaError, match="there is no profile called 'relaesed'"):
        profile_text(["relaesed", "ci"], ROOT)


def test_the_folder_of_a_release_is_looked_at_and_written_down(here: Path, release: Path) -> None:
    told = pasta("profile", "use", "released", "ci", "--root", str(release))
    assert "16 explanations" in told and load_params().release.root == str(release)
    assert "already is the profile" in pasta(
        "profile", "use", "released", "ci", "--root", str(release)
    )
    assert "is now the profile 'demo'" in pasta("profile", "use", "demo"), "nothing was edited"
    assert load_params(here / "params.yaml").profile == "demo"


def test_datasets_that_a_release_says_nothing_about_are_left_out(here: Path, release: Path) -> None:
    entries = json.loads((release / FILE).read_text())
    some = [one for one in entries if "/coco_" in one["img"] or "/monumai_" in one["img"]]
    (release / FILE).write_text(json.dumps(some))
    try:
        told = pasta("profile", "use", "released", "ci", "--root", str(release))
    finally:
        (release / FILE).write_text(json.dumps(entries))
    assert "no entry is about them: catsdogscars, pascalpart" in told
    params = load_params(here / "params.yaml")
    assert set(params.datasets) == set(params.groups) == set(params.models) == {"coco", "monumai"}
    assert "is now the profile 'demo'" in pasta("profile", "use", "demo"), "nothing was edited"


def test_a_release_that_cannot_be_used_changes_nothing(here: Path, release: Path) -> None:
    before = (here / "params.yaml").read_text()
    entries = json.loads((release / FILE).read_text())
    broken = here.parent / "broken"
    broken.mkdir()
    (broken / FILE).write_text(json.dumps(entries))
    with pytest.raises(PastaError, match=r"16 entries cannot be used.*(\n.*)*the image is missing"):
        pasta("profile", "use", "released", "--root", str(broken))
    with pytest.raises(PastaError, match="there is no such folder"):
        pasta("profile", "use", "released", "--root", str(here / "nowhere"))
    with pytest.raises(PastaError, match="takes nothing from a release"):
        pasta("profile", "use", "ci", "--root", str(release))
    assert (here / "params.yaml").read_text() == before


def test_lenient_says_what_it_leaves_out(here: Path, release: Path) -> None:
    entries = json.loads((release / FILE).read_text())
    changed = here.parent / "changed"
    changed.mkdir()
    for folder in release.iterdir():
        if folder.is_dir():
            (changed / folder.name).symlink_to(folder)
    (changed / FILE).write_text(json.dumps([*entries, {"explication": "x.png"}]))
    # folders that lead out of the release are refused, so the release itself is changed
    with pytest.raises(PastaError, match="leads out of the folder"):
        pasta("profile", "use", "released", "--root", str(changed))
    (release / FILE).write_text(json.dumps([*entries, {"explication": "x.png"}]))
    try:
        told = pasta("profile", "use", "released", "--root", str(release), "--lenient")
    finally:
        (release / FILE).write_text(json.dumps(entries))
    assert "left out: entry 17, x.png: the shown explanation has a foreign name" in told
    assert load_params(here / "params.yaml").release.lenient


def test_a_release_is_described_and_checked(here: Path, release: Path) -> None:
    told = pasta("data", "describe")
    assert "human_annotations.json" in told and "sample_id" in told and "{dataset}" in told
    told = pasta("data", "check", "pasta", "--root", str(release))
    assert "catsdogscars" in told and "profile use released" in told
    entry = json.loads((release / FILE).read_text())[0]
    kept = (release / entry["img"]).read_bytes()
    (release / entry["img"]).write_bytes(b"no picture")
    done = CliRunner().invoke(app, ["data", "check", "pasta", "--root", str(release)])
    (release / entry["img"]).write_bytes(kept)
    assert done.exit_code == 1 and "entry 1" in done.output and "not an image" in done.output
