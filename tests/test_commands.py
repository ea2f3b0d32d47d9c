"""Every command: without data, with typos, its help, and how it says what it does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from PIL import Image
from ruamel.yaml import YAML
from typer.testing import CliRunner

from pasta import store, tables
from pasta.cli import app
from pasta.commands.options import require_metric, require_technique
from pasta.config import profile_names
from pasta.errors import PastaError
from pasta.explanations import single
from pasta.explanations.catalog import technique
from pasta.explanations.gallery import sheet
from pasta.progress import bar
from tests.conftest import ROOT, Runner, copy_project, environment, runner
from tests.test_tables import images


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which nothing was run, and a few files of a user."""
    project = copy_project(tmp_path_factory.mktemp("empty") / "project", "demo")
    Image.new("RGB", (120, 90)).save(project / "photo.jpg")
    (project / "mine").mkdir()
    Image.new("RGB", (96, 96)).save(project / "mine/coco_1_workplace.png")
    (project / "grid.yaml").write_text("kernel_width: [0.1]\n")
    (project / "votes.csv").write_text("sample_id,annotator_id,question,rating\n")
    return project


@pytest.fixture(scope="module")
def run(project: Path) -> Runner:
    return runner(project)


WITHOUT_DATA = {
    "models": "dvc repro train",
    "predict photo.jpg --dataset coco --model resnet50": "dvc repro",
    "explain photo.jpg --dataset coco --technique gradcam/resnet50": "dvc repro",
    "best photo.jpg --dataset coco": "dvc repro score",
    "tune --technique lime/resnet50 --grid grid.yaml": "dvc repro explain",
    "score mine": "dvc repro score",
    "report": "dvc repro report",
    "report agreement --open": "dvc repro report@agreement",
    "report agreement --out elsewhere": "dvc repro report@agreement",
    "outcome": "dvc repro",
    "data check coco": "dvc repro images@coco",
    "study ratings plan": "dvc repro explain",
    "study ratings simulate new": "dvc repro explain",
    "study ratings export all": "pasta study ratings import FILE",
}


@pytest.mark.parametrize("command", WITHOUT_DATA)
def test_without_data_a_command_says_what_to_run(command: str, run: Runner, project: Path) -> None:
    before = {file.name for file in project.iterdir()}
    said = run("pasta", *command.split(), check=False)
    assert said.returncode == 1 and "Traceback" not in said.stderr
    assert said.stderr.strip().splitlines()[-1].startswith("error: ")
    assert f"`{WITHOUT_DATA[command]}" in said.stderr
    assert {file.name for file in project.iterdir()} == before


TYPOS = {
    "explian photo.jpg": "No such command",
    "explain photo.jpg --dataset cocoo --technique gradcam/resnet50": "Did you mean 'coco'?",
    "explain photo.jpg --dataset coco --technique gradcm/resnet50": "Did you mean 'gradcam'?",
    "explain photo.jpg --dataset coco --technique gradcam/resnet5": "Did you mean 'resnet50'?",
    "explain photo.jpg --dataset coco --technique gradcam": "written method/backbone",
    "explain foto.jpg --dataset coco --technique gradcam/resnet50": "there is no such file",
    "predict photo.jpg --dataset cocco --model resnet50": "Did you mean 'coco'?",
    "predict photo.jpg --dataset coco --model resnet51": "Did you mean 'resnet50'?",
    "best photo.jpg --dataset coco --model vit_b16": "Did you mean 'vit_b_16'?",
    "tune --technique limee/resnet50 --grid grid.yaml": "Did you mean 'lime'?",
    "measure maps.npy --metrics sparsenes": "Did you mean 'sparseness'?",
    "measure maps.npy --metrics faithfullness": "Did you mean 'faithfulness'?",
    "metrics sparsenes": "Did you mean 'sparseness'?",
    "models --dataset cocoo": "Did you mean 'coco'?",
    "tables show image": "Did you mean 'images'?",
    "profile show paper_p3": "Did you mean 'paper_p2'?",
    "report agreemnt": "Did you mean 'agreement'?",
}
LOADED = """
import sys
from reports.command import main
sys.argv[1:] = {words}
try:
    main()
finally:
    print("torch" in sys.modules)
"""


@pytest.mark.parametrize("command", TYPOS)
def test_a_typo_is_answered_without_torch(command: str, project: Path) -> None:
    done = _run_and_look(command, project)
    assert done.returncode in (1, 2) and TYPOS[command] in done.stderr
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("command", ["models", "profile show demo", "report", "--help"])
def test_what_only_lists_loads_no_torch(command: str, project: Path) -> None:
    assert _run_and_look(command, project).stdout.splitlines()[-1] == "False"


def _run_and_look(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    script = LOADED.format(words=command.split())
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=project,
        env=environment(project) | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_method_and_metric_passes_the_quick_look() -> None:
    from pasta.explanations.catalog import techniques
    from pasta.metrics.catalog import METRICS

    for one in techniques():
        require_technique(one.key)
    for name in METRICS:
        require_metric(name)
    with pytest.raises(PastaError, match="Did you mean 'road_least'"):
        require_metric("road_last")


# Names and help


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands below a group, by the words that are typed."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_teaches(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    assert command.help
    for parameter in command.params:
        assert parameter.help, f"{words}: {parameter.name} has no help"
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "150"})
    assert shown.exit_code == 0
    options = [line for line in shown.stdout.splitlines() if "--" in line]
    assert not any("list[" in line for line in options)


def test_an_option_means_the_same_in_every_command() -> None:
    """Flags stay flags, and what is written goes to --out."""
    kinds: dict[str, dict[str, str]] = {}
    for words, command in COMMANDS.items():
        for option in command.params:
            if option.param_type_name == "option":
                kinds.setdefault(option.opts[0], {})[" ".join(words)] = (
                    str(option.bare_type()).removeprefix("list[").removesuffix("]")
                )
    for name in ("--json", "--out", "--model", "--technique", "--question", "--dataset"):
        assert len(set(kinds[name].values())) == 1, kinds[name]
    assert not {"--backbone", "--csv", "--classifier", "--output"} & set(kinds)
    printing = ("techniques", "metrics", "models", "predict", "explain", "measure", "score", "best")
    assert set(printing) <= set(kinds["--json"])
    assert {"explain", "measure", "score", "best", "report", "analyse"} <= set(kinds["--out"])


# Profiles


def test_a_profile_is_printed_as_yaml_that_says_the_same_when_narrow(
    run: Runner, project: Path
) -> None:
    for name in profile_names(ROOT):
        texts = []
        for columns in ("40", "400"):
            done = subprocess.run(
                ["pasta", "profile", "show", name],
                cwd=project,
                env=environment(project) | {"COLUMNS": columns},
                capture_output=True,
                text=True,
                check=True,
            )
            texts.append(done.stdout)
        assert texts[0] == texts[1]
        assert YAML(typ="safe").load(texts[0])["profile"] == name


def test_an_edited_params_file_is_not_written_over_without_a_word(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project", "demo")
    run, params = runner(project), project / "params.yaml"
    edited = params.read_text().replace("image_size: 96", "image_size: 128")
    params.write_text(edited)
    assert "with changes that are not committed" in run("pasta", "profile", "use", "demo").stdout
    refused = run("pasta", "profile", "use", "ci", check=False)
    assert refused.returncode == 1 and "--force" in refused.stderr
    assert params.read_text() == edited
    run("pasta", "profile", "use", "ci", "--force")
    assert YAML(typ="safe").load(params.read_text())["profile"] == "ci"
    run("pasta", "profile", "use", "paper_p1")  # a whole profile is no edit
    run("pasta", "profile", "use", "demo")


# What is said beside the answer


def test_progress_counts_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("reports", 1, "PDFs") as line:
        line.advance()
    with bar("nothing", 0, "images"):
        pass
    said = capsys.readouterr().err
    assert said.startswith("reports: 1 PDF in ") and "/s" not in said and "nothing" not in said


def test_quiet_keeps_progress_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASTA_QUIET", "1")
    with bar("reports", 1, "PDFs") as line:
        line.advance()
    assert capsys.readouterr().err == ""


def test_the_device_of_the_command_line_is_the_one_in_force(run: Runner) -> None:
    refused = run("pasta", "--device", "cuda:7", "doctor", check=False)
    assert refused.returncode == 1 and "cuda:7" in refused.stderr + refused.stdout


def test_a_cropped_photograph_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pasta.commands.show import note_cropping

    for name, size in {"wide.png": (120, 90), "square.png": (50, 50)}.items():
        Image.new("RGB", size).save(tmp_path / name)
        note_cropping(tmp_path / name)
    said = capsys.readouterr().err
    assert "120 x 90 pixels, of which the middle 90 x 90 are seen" in said
    assert "square.png" not in said


# Damaged files


def test_a_table_that_is_cut_off_is_named_and_a_result_of_its_name_is_no_table(
    tmp_path: Path,
) -> None:
    project = copy_project(tmp_path / "project")
    run = runner(project)
    folder = project / "pipelines/data/images/coco"
    store.write(images(), folder / "images.parquet", tables.IMAGES)
    other = project / "pipelines/data/applications/tuning/images.csv"
    other.parent.mkdir(parents=True)
    other.write_text("technique,image_id\nlime/resnet50,3\n")
    assert "tuning" not in run("pasta", "tables", "show", "images").stdout
    whole = (folder / "images.parquet").read_bytes()
    for content in (b"", whole[: len(whole) // 2]):
        (folder / "images.parquet").write_bytes(content)
        for command in (["tables"], ["tables", "show", "images"], ["data", "check", "coco"]):
            said = run("pasta", *command, check=False)
            assert said.returncode == 1 and "Traceback" not in said.stderr
            assert "images/coco/images.parquet" in said.stderr


def test_a_note_of_a_stage_that_says_nothing_is_named(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    folder = project / "pipelines/data/timings"
    folder.mkdir(parents=True)
    (folder / "clip.json").write_text('{"stage": "clip", "secunds": 3}')
    said = runner(project)("pasta", "outcome", check=False)
    assert said.returncode == 1 and "timings/clip.json" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_sheet_of_classifiers_that_disagree_does_not_name_one_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    titles: list[str] = []

    def note(pixels: Any, entries: Any, title: str) -> Any:
        titles.append(title)
        return sheet(pixels, entries, title)

    monkeypatch.setattr(single, "sheet", note)
    gradcam = technique("gradcam/resnet50")
    other = technique("gradcam/vit_b_16")
    pixels, shown = np.zeros((32, 32, 3), np.uint8), np.eye(32, dtype=np.float32)
    for second in ("cat", "dog"):
        single.answer_sheet(
            [
                single.Answer(one, pixels, label, 0.9, label, shown, (), "ok")
                for one, label in ((gradcam, "cat"), (other, second))
            ]
        )
    assert titles == ["Why cat?", "Why does each classifier say what it says?"]
