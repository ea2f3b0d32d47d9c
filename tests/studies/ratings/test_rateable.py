"""What can be rated: which techniques, what people saw of them, and all of it through a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pasta import store, tables
from pasta.commands.study import study_app
from pasta.errors import PastaError
from pasta.explanations.attribution import shown_maps
from pasta.explanations.base import METHODS
from pasta.layout import Group
from pasta.paths import DATA
from pasta.registry import Entry
from pasta.seeds import generator
from pasta.studies.batches import merged, stored_folders, write_tables
from pasta.studies.importing import import_file
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.analyses.boxes import MEASURES, box_measures
from pasta.studies.ratings.plan import make_plan
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.rateable import (
    Views,
    box_values,
    concept_sentences,
    explained,
    published,
    rateable,
    read_all,
)
from pasta.studies.ratings.simulation.study import simulate
from pasta.studies.ratings.study import rating_study
from pasta.studies.ratings.tables import VOTES
from pasta.studies.reading import write_tidy
from tests.conftest import ROOT, names
from tests.studies.ratings.simulation_study import parameters
from tests.studies.ratings.small_group import IMAGES, SIDE, WORDS, Values, sample, write_group

POSITIVE, SIGNED, EXTRA = "gradcam/resnet50", "lime/resnet50", "layercam/resnet50"
CONCEPTS, TOY = "clip_linear/clip_linear", "toy/resnet50"


def maps(seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    return generator(seed, "test", "maps").uniform(0.2, 1, (9, SIDE, SIDE)).astype(np.float16)


@pytest.fixture
def group(tmp_path: Path) -> Group:
    """A positive, a signed, an extra and a concept technique; one map shows nothing."""
    values = np.zeros((9, len(WORDS.concepts)))
    for row, strengths in enumerate([(0.2, -1.0, 0.0), (1.0, 0.5, 0.7)]):
        for concept, value in zip(("wheel", "head", "door"), strengths, strict=True):
            values[row, WORDS.concepts.index(concept)] = value
    attributions: dict[str, Values] = {
        POSITIVE: maps(0),
        SIGNED: maps(1),
        EXTRA: maps(2),
        CONCEPTS: values,
    }
    return write_group(tmp_path / "data", attributions, {(POSITIVE, 1): "zero"})


def boxes(*samples: str) -> pd.DataFrame:
    half = {"x0": 0.0, "y0": 0.0, "x1": 0.5, "y1": 1.0}
    return pd.DataFrame([{"sample_id": one, "annotator_id": "ann", **half} for one in samples])


def techniques(frame: pd.DataFrame) -> set[str]:
    return set(frame["method"] + "/" + frame["backbone"])


def test_only_the_46_are_rated_unless_extras_are_wanted(group: Group) -> None:
    everything = {POSITIVE, SIGNED, EXTRA, CONCEPTS}
    assert techniques(explained([group])) == techniques(rateable([group], True)) == everything
    assert techniques(rateable([group], False)) == everything - {EXTRA}
    assert techniques(published(explained([group]))) == everything - {EXTRA}
    with pytest.raises(PastaError, match="dvc repro explain"):
        rateable([], True)


def test_groups_of_one_dataset_share_its_images_and_add_their_explanations(
    tmp_path: Path, group: Group
) -> None:
    second = write_group(tmp_path / "data", {"gradcam/vit_b_16": maps(3)}, key="second")
    both = [group, second]
    assert len(read_all(both, tables.IMAGES)) == len(IMAGES)
    assert len(explained(both)) == 5 * len(IMAGES)
    assert len(read_all(both, tables.PERTURBED)) == 10 * len(IMAGES)
    assert Views(both).predicted(sample(2, "gradcam/vit_b_16")) == "cat"


def test_boxes_are_held_against_the_maps_as_people_saw_them(group: Group) -> None:
    """The all-positive map of LIME too: it is signed, so people saw it unstretched."""
    wanted = (POSITIVE, SIGNED, CONCEPTS)
    drawn = boxes(*(sample(image, one) for one in wanted for image in (0, 1)))
    found = box_values([group], drawn)
    seen = [sample(0, POSITIVE), sample(0, SIGNED), sample(1, SIGNED)]
    assert found["sample_id"].tolist() == seen, "no map that shows nothing, and no concepts"
    shown = [shown_maps(maps(0)[:1], "positive"), shown_maps(maps(1)[:2], "signed")]
    expected = box_measures(np.concatenate(shown), seen, drawn)
    assert np.allclose(found[list(MEASURES)], expected[list(MEASURES)], atol=1e-5)
    assert box_values([group], boxes(sample(0, CONCEPTS))).empty
    assert list(box_values([], boxes(sample(0, SIGNED)))) == [
        "sample_id",
        "annotator_id",
        *MEASURES,
    ]


def test_concept_explanations_are_described_in_words(group: Group) -> None:
    def strongest(names: Sequence[str], values: Values) -> str:
        return names[int(np.abs(values).argmax())]

    wanted = [sample(0, CONCEPTS), sample(1, CONCEPTS), sample(0, SIGNED)]
    found = concept_sentences([group], wanted, strongest).set_index("sample_id")["sentence"]
    assert found.to_dict() == {wanted[0]: "head", wanted[1]: "wheel"}


def test_a_view_has_the_image_and_the_attribution_of_the_same_copy(group: Group) -> None:
    views = Views([group])
    for strength, row in ((None, 1), ("light", 4), ("strong", 7)):
        view = views.view(sample(1, SIGNED), strength)
        assert np.array_equal(np.asarray(view.activations), maps(1)[row])
        assert (view.image == (100 if strength is None else row - 3)).all()
        assert view.picture is not None
    rated = views.rated(sample(1, CONCEPTS))
    assert (rated.label, rated.predicted) == ("car", "cat")
    assert sample(0, SIGNED) in views and sample(0, TOY) not in views


def test_a_users_own_method_is_planned_simulated_imported_and_labelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {
        **METHODS.entry("gradcam").metadata,
        "title": "Toy",
        "sign": "signed",
        "backbones": ("resnet50",),
    }
    toy = Entry("toy", METHODS["gradcam"], MappingProxyType(about))
    monkeypatch.setitem(METHODS._entries, "toy", toy)
    group = write_group(tmp_path / "data", {POSITIVE: maps(0), TOY: maps(1)})
    assert techniques(rateable([group], False)) == {POSITIVE}
    candidates = rateable([group], True)
    plan = make_plan(candidates, 6, 5, seed=0)
    own = {sample(image, TOY) for image in range(3)}
    assert own < set(plan["sample_id"])
    protocol = load_protocol("p2")
    study = rating_study(protocol)
    simulated = simulate([group], plan, parameters(), 0, protocol)
    write_tidy(study, simulated.frames, tmp_path / "votes")
    root, outside = tmp_path / "batches", {"explanations": candidates[["sample_id"]]}
    import_file(tmp_path / "votes", study, root, outside)
    stored = merged(study, stored_folders(root))
    write_tables(study, stored, outside, tmp_path / "stored")
    votes = store.read(tmp_path / "stored" / "votes.parquet", VOTES)
    assert set(votes["sample_id"]) > own
    labels = aggregate(stored["votes"])
    assert own < set(labels["sample_id"])
    assert (labels.loc[labels["sample_id"].isin(own), "n_votes"] == 5).all()


def test_the_readmes_example_is_a_few_votes_that_can_be_checked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    write_group(tmp_path / DATA, {POSITIVE: maps(0), SIGNED: maps(1)})
    run = CliRunner().invoke
    made = run(study_app("ratings"), ["simulate", "example", "--samples", "2"])
    assert "wrote 60 simulated votes to example" in made.stdout
    assert {"votes.csv", "annotators.csv"} < set(names(tmp_path / "example"))
    checked = run(study_app("ratings"), ["check", "example"])
    assert checked.exit_code == 0 and "everything is in order" in checked.stdout
