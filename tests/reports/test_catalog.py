"""Reports are built from what they declare, know where it comes from, and never load torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pypdfium2
import pytest
from mlflow.utils.search_utils import SearchUtils

from pasta import store
from pasta.config import load_params
from pasta.errors import PastaError
from pasta.explanations.catalog import METHODS
from pasta.explanations.techniques import BACKBONE_TITLES, METHOD_TITLES
from pasta.models.base import MODELS
from pasta.paths import DATA
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.source import Source, write_source
from pasta.tracking import tracked_run
from reports.source.catalog import build, describe_questions, names, provenance
from reports.source.data import (
    ANALYSES,
    APPLICATIONS,
    HEADLINES,
    REPORTS,
    SCORE,
    VOTES,
    Data,
)
from reports.source.names import model_name, scorer_name, technique_name
from reports.source.replication.collected import beside_papers, kernel_widths
from reports.source.setting import describe_setting, write_setting
from reports.source.typesetting import Report
from tests.conftest import ROOT
from tests.reports.applications_made_up import steering
from tests.reports.studies import said
from tests.studies.ratings.analysed import agreement_and_bias

PEOPLE, SIMULATED = Source("people", "1234567890abcdef"), Source("simulated", "fedcba0987654321")
LOCK = """\
stages:
  votes@ratings:
    cmd: x
    outs:
    - path: pipelines/data/votes/ratings
      md5: 0123456789abcdef.dir
  analyse@agreement:
    cmd: x
    deps:
    - path: pipelines/data/votes
      md5: 0123456789abcdef.dir
    outs:
    - path: pipelines/data/analyse/agreement
      md5: fedcba9876543210.dir
"""


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one commit, a lock, and what analyses of agreement and bias leave."""
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    (tmp_path / "dvc.lock").write_text(LOCK)
    write_setting(describe_setting(load_params(tmp_path / "params.yaml")), tmp_path)
    ratings = pd.DataFrame(
        [
            (f"s{sample}", f"a{rater}", question, 1 + (sample + (rater == 2) * (sample % 3)) % 5)
            for sample in range(20)
            for rater in range(3)
            for question in ("Q1", "Q5")
        ],
        columns=["sample_id", "annotator_id", "question", "rating"],
    )
    found, bias = agreement_and_bias(ratings), ("people", "groups", "group_tests", "model")
    own = {name: found[name] for name in (*bias, "text_bias", "box_bias")}
    data = tmp_path / DATA
    store.write_csvs(own | {"missing": found["missing"]}, data / "analyse/bias")
    store.write_csvs(
        {name: frame for name, frame in found.items() if name not in own},
        data / "analyse/agreement",
    )
    store.write_csvs(steering(), data / "applications/steering")
    for folder in ("votes/ratings", "analyse/bias", "analyse/agreement", "applications/steering"):
        write_source(PEOPLE, data / folder)
    for folder in ("votes/attention", "votes/prediction", "joins"):
        write_source(PEOPLE, data / folder)
    lacks = pd.DataFrame({"section": ["utility"], "why": ["nobody predicted the model"]})
    store.write_csvs({"missing": lacks}, data / "joins")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "params.yaml", "dvc.yaml")
    git(tmp_path, "commit", "-q", "-m", "start")
    return tmp_path


def made(name: str, root: Path) -> Report:
    """One report before it is typeset."""
    entry = REPORTS.entry(name)
    return entry.value(Data(root, entry.metadata["reads"], entry.metadata.get("figures", ())))


def parsed(expression: str) -> list[dict[str, str]]:
    """As MLflow reads it."""
    found: list[dict[str, str]] = SearchUtils.parse_search_filter(expression)  # type: ignore[no-untyped-call]
    return found


@pytest.mark.parametrize("name", names())
def test_a_report_is_built_from_what_is_there_twice_the_same(name: str, root: Path) -> None:
    first = build(name, root)
    assert first == root / f"reports/{name}.pdf"
    second = build(name, root, root / "again.pdf")
    assert first.read_bytes() == second.read_bytes()


def pages(file: Path) -> list[str]:
    """The text of each page."""
    pdf = pypdfium2.PdfDocument(file)
    found = [page.get_textpage().get_text_range() for page in pdf]
    pdf.close()
    return found


def test_the_end_names_commit_profile_votes_versions_and_where_the_runs_are(root: Path) -> None:
    said = "".join(pages(build("agreement", root))[-2:])
    commit = git(root, "rev-parse", "HEAD")
    assert commit[:12] in said and "demo" in said and "simulated votes" not in said
    assert "people's votes 1234567890" in said
    assert "votes/ratings · 0123456789" in said and "analyse/agreement · fedcba9876" in said
    assert "analyse@agreement" in said
    inputs = pd.read_csv(root / "reports/tables/agreement/inputs.csv")
    assert inputs["stage"].tolist() == ["votes@ratings", "analyse@agreement"]


def test_people_s_votes_are_not_mixed_with_results_of_simulated_ones(root: Path) -> None:
    """The votes are people's, but steering still has a score that learned from simulated ones."""
    write_source(SIMULATED, root / DATA / "applications/steering")
    build("agreement", root)  # does not use steering
    for name in ("overview", "applications"):
        with pytest.raises(PastaError, match=r"steering from simulated votes fedcba0987.*repro"):
            build(name, root)
        assert not (root / f"reports/{name}.pdf").exists()


def test_results_of_earlier_votes_of_the_same_people_are_refused_too(root: Path) -> None:
    write_source(Source("people", "0000000000"), root / DATA / "votes/ratings")
    with pytest.raises(PastaError, match="votes/ratings from people's votes 0000000000"):
        build("agreement", root)
    (root / DATA / "analyse/bias/source.json").unlink()
    with pytest.raises(PastaError, match=r"analyse/bias: there is no source.json"):
        build("agreement", root)


def test_stale_inputs_are_marked_on_every_page_and_named_at_the_end(root: Path) -> None:
    found = pages(build("agreement", root, stale=["score", "votes@ratings"]))
    assert len(found) > 2 and all("Not up to date" in page for page in found)
    assert "votes@ratings" in "".join(found[-2:])
    assert not any("Not up to date" in page for page in pages(build("agreement", root)))


ON_RATINGS = [name for name in names() if VOTES in REPORTS.entry(name).metadata["reads"]]


@pytest.mark.parametrize("name", ON_RATINGS)
def test_every_report_says_what_each_question_asks_and_that_images_are_drawn(
    name: str, root: Path
) -> None:
    said = " ".join("".join(pages(build(name, root))).split())
    for words in ("light perturbations", "strong perturbations", "from the most difficult to"):
        assert words in said
    assert "images are drawings" in said
    for version in ("p1", "p2"):
        asked = [one["words"] for one in describe_questions(load_protocol(version))]
        assert len(asked) == len(set(asked)) == 9


def test_random_weights_are_named_and_marked_on_every_page(root: Path) -> None:
    file = root / "params.yaml"
    text = file.read_text().replace(
        "{architecture: pasta-tiny, weights: trained}", "{weights: random}"
    )
    file.write_text(text)
    write_setting(describe_setting(load_params(file)), root)
    found = pages(build("agreement", root))
    assert all("Random weights" in page for page in found)
    assert "weights are random where pretrained ones belong: CLIP pasta-tiny" in " ".join(
        found[0].split()
    )


def test_an_unknown_report_is_an_error_that_names_the_nearest(root: Path) -> None:
    with pytest.raises(PastaError, match=r"'agrement'.*'agreement'"):
        build("agrement", root)


@pytest.mark.parametrize("name", names())
def test_a_report_reads_nothing_that_it_does_not_declare(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that reads what it does not declare is not repeated when that changes."""
    table = pd.DataFrame({"section": ["x"], "why": ["nothing was computed"]})
    further = ("analyse/attention", "analyse/utility", "joins")
    for folder in (*ANALYSES, *further, SCORE, *APPLICATIONS, HEADLINES):
        if not (root / DATA / folder).is_dir():
            store.write_csvs({"missing": table}, root / DATA / folder)
            write_source(PEOPLE, root / DATA / folder)
    read, before = [], store.read_csvs

    def recorded(folder: Path) -> dict[str, pd.DataFrame]:
        read.append(folder.relative_to(root / DATA).as_posix())
        return before(folder)

    monkeypatch.setattr(store, "read_csvs", recorded)
    made(name, root)
    reads = REPORTS.entry(name).metadata["reads"]
    assert set(read) == {folder for folder in reads if not folder.startswith("votes/")}


def test_without_a_declaration_a_folder_is_not_looked_into(root: Path) -> None:
    found = Data(root, ("analyse/agreement",))
    assert set(found.parts) == {"agreement"} and "model" not in found.parts["agreement"]
    assert found.applications == {}
    ours = beside_papers(found.parts, found.applications)
    assert list(ours) == ["facts"] and ours["facts"].empty
    with pytest.raises(PastaError, match="no tables yet"):
        store.read_csvs(root / DATA / "nothing")


def test_bias_stands_with_agreement_and_what_both_lack_is_in_one_table(root: Path) -> None:
    tables = Data(root, ("analyse/agreement", "analyse/bias")).parts["agreement"]
    assert {"agreement", "model"} <= set(tables)
    assert {"kinds", "sex", "text_bias"} <= set(tables["missing"]["section"])


def test_versions_are_those_of_the_inputs_whatever_runs_later(root: Path) -> None:
    """DVC writes to its lock after every stage, also those that run beside the report."""
    before = provenance(root, REPORTS.entry("agreement").metadata["reads"])
    later = "  score:\n    cmd: x\n    outs:\n    - path: pipelines/data/score\n      md5: aa\n"
    (root / "dvc.lock").write_text(LOCK + later)
    assert provenance(root, REPORTS.entry("agreement").metadata["reads"]) == before
    assert before["Data (path · md5)"] == [
        "votes/ratings · 0123456789",
        "analyse/agreement · fedcba9876",
    ]
    assert "score · aa" in provenance(root, (SCORE,))["Data (path · md5)"]


def test_a_version_may_be_that_of_a_folder_around_or_below(root: Path) -> None:
    inside = provenance(root, ("votes/ratings/labels.parquet",))["Data (path · md5)"]
    around = provenance(root, ("analyse",))["Data (path · md5)"]
    assert (inside, around) == (["votes/ratings · 0123456789"], ["analyse/agreement · fedcba9876"])


def test_facts_say_what_is_committed_and_what_is_not(root: Path) -> None:
    found = provenance(root, ("nowhere",))
    assert "not committed" not in str(found["Commit"])
    assert "not pinned yet" in str(found["Data (path · md5)"])
    (root / "params.yaml").write_text((root / "params.yaml").read_text() + "\n# changed\n")
    assert "not committed" in str(provenance(root, ())["Commit"])


def test_mlflow_understands_where_the_runs_are(root: Path) -> None:
    found = provenance(root, (VOTES,))
    stage, profile = parsed(str(found["Runs (MLflow search)"]))
    assert (stage["key"], stage["value"]) == ("stage", "votes@ratings")
    assert (profile["key"], profile["value"]) == ("profile", "demo")
    assert found["Stages (tags.stage)"] == "votes@ratings"


def test_the_search_on_a_title_page_finds_a_run_of_an_earlier_commit(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage `votes` is not repeated when a report changes."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("DVC_STAGE", "votes@ratings")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'mlflow.db'}")
    with tracked_run("annotations", "votes@ratings", "votes", about="All votes.") as run:
        pass
    git(root, "commit", "-q", "--allow-empty", "-m", "a changed report")
    expression = str(provenance(root, (VOTES,))["Runs (MLflow search)"])
    found = mlflow.search_runs(
        experiment_names=["annotations"], filter_string=expression, output_format="list"
    )
    assert [one.info.run_id for one in found] == [run.run_id]


@pytest.mark.parametrize("version", ["p1", "p2"])
def test_reports_use_the_protocol_of_the_study(version: str, root: Path) -> None:
    """With P1 more stars on Q5 are better, with P2 fewer; the analyses know it too."""
    text = (root / "params.yaml").read_text()
    assert "protocol: p2\n" in text and "  question: Q1" in text
    text = text.replace("protocol: p2\n", f"protocol: {version}\n")
    (root / "params.yaml").write_text(text.replace("  question: Q1", "  question: Q5"))
    write_setting(describe_setting(load_params(root / "params.yaml")), root)
    asked = Data(root, ()).protocol.question("Q5")
    assert asked.direction == {"p1": 1, "p2": -1}[version]
    used = said(made("applications", root))
    assert asked.wording in used
    turned = made("applications", root).content["asked"]["turned"]
    assert turned == (version == "p2")
    assert made("dataset", root).content["turned"] == (["Q5"] if version == "p2" else [])


def test_the_title_page_names_every_input_that_is_not_committed(root: Path) -> None:
    """Also what git does not know yet, such as the first batch of votes."""
    commit = git(root, "rev-parse", "HEAD")[:12]
    assert provenance(root, ())["Commit"] == commit
    for written in ("dvc.lock", "reports/headlines.json", "README.md"):  # by a run, or for people
        (root / written).parent.mkdir(exist_ok=True)
        (root / written).write_text("changed")
    assert provenance(root, ())["Commit"] == commit
    batches = root / "pipelines/annotations/batches.dvc"
    batches.parent.mkdir(parents=True)
    batches.write_text("outs: []")
    said = provenance(root, ())["Commit"]
    assert said == (
        f"{commit} and changes that are not committed (pipelines/annotations/batches.dvc)"
    )


def test_kernel_widths_of_lime_are_read_from_what_tuning_tried() -> None:
    tried = pd.DataFrame(
        {
            "technique": ["lime/resnet50", "lime/resnet50", "gradcam/resnet50"],
            "candidate": ["kernel_width 0.15", "segments 20", "layer x"],
            "score": [3.0, 2.0, 1.0],
            "low": 1.0,
            "high": 4.0,
            "n": 8,
            "default": [False, True, True],
        }
    )
    found = kernel_widths(tried)
    assert found[["kernel_width", "estimate"]].to_numpy().tolist() == [[0.15, 3.0]]


def test_tables_that_are_no_more_go(tmp_path: Path) -> None:
    store.write_csvs({"a": pd.DataFrame({"x": [1]}), "b": pd.DataFrame({"x": [2]})}, tmp_path)
    store.write_csvs({"a": pd.DataFrame({"x": [3]})}, tmp_path)
    found = store.read_csvs(tmp_path)
    assert list(found) == ["a"] and found["a"]["x"].tolist() == [3]


def test_no_report_and_no_analysis_loads_torch() -> None:
    script = (
        "import sys, reports.source.catalog\n"
        "import pipelines.analyse, pipelines.report, pipelines.headlines\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_the_catalogue_has_exactly_the_registered_methods_and_models() -> None:
    assert {one.key: one.metadata["title"] for one in METHODS.entries()} == METHOD_TITLES
    only_released = {"vit_b_16_bcos": "ViT-B-BCos"}
    models = {one.key: one.metadata["title"] for one in MODELS.entries()}
    assert models | only_released == BACKBONE_TITLES


def test_unknown_names_are_shown_as_they_are() -> None:
    assert technique_name("own method") == "own method"
    assert technique_name("own/vit_b_16") == "own on ViT-B"
    assert technique_name("dff/concept_bottleneck", short=True) == "DFF · CBM"
    assert model_name("other") == "other" and scorer_name("other") == "other"
