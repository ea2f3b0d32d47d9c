"""DVC stage `score`: the papers' studies of the score, and the scorer that anybody can call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store, tables
from pasta.compute import limit_threads
from pasta.config import Params, load_params
from pasta.layout import TABLE, groups
from pasta.models.clip import FOLDER as CLIP
from pasta.paths import DATA, FIGURES, project_root
from pasta.progress import lines
from pasta.resume import kept_units
from pasta.scoring.evaluation import summarise
from pasta.scoring.facts import scorer_facts
from pasta.scoring.material import FEWEST, collect, takes_less
from pasta.scoring.public import describe_images, save_public, train_public
from pasta.scoring.serving import log_served
from pasta.scoring.stored import BESIDE, FOLDER
from pasta.scoring.studies import (
    KEYS,
    Setup,
    compare,
    describe_centre,
    headline,
    main_titles,
    people,
    run_setups,
    setups,
    track,
)
from pasta.stage import run_stage
from pasta.studies.ratings.analyses.names import pool_anonymous
from pasta.studies.ratings.settings import NAME
from pasta.studies.ratings.tables import ANNOTATORS, LABELS, VOTES
from pasta.studies.source import read_source, write_source
from pasta.tracking import file_md5, require_tracking, tracked_run
from reports.source.plots.score import score_figure
from reports.source.plots.style import style


def main() -> None:
    """Train and test scorers on the rated explanations, and train the public one."""
    require_tracking()
    limit_threads()
    root, params = project_root(), load_params()
    given_votes, every = root / DATA / "votes" / NAME, groups(params, root)
    labels, votes = given_votes / "labels.parquet", given_votes / "votes.parquet"
    source = read_source(given_votes)
    tables_read = [labels, *(group.explanations / TABLE for group in every)]
    inputs = [votes, *tables_read, *(group.embeddings for group in every)]
    wanted = setups(params.embedding, params.scoring)
    given, known = store.read(votes, VOTES), store.read(labels, LABELS)
    with kept_units("score", inputs) as kept:
        with lines("studies of the score") as say:
            tell, spent = partial(say, "parts"), dict[tuple[str, str], float]()
            results, predicted = run_setups(
                every, labels, wanted, params.scoring, tell, kept, spent
            )
        annotators = store.read(given_votes / "annotators.parquet", ANNOTATORS)
        others = people(pool_anonymous(given, annotators), known, params.annotations.ties)
        results = pd.concat([results, others], ignore_index=True)
        note = "Votes are simulated." if given["simulated"].any() else ""
        reached = _write(results, predicted, wanted, params, root / DATA / "score", note)
    write_source(source, root / DATA / "score")
    track(wanted, results, [labels, votes, *(group.embeddings for group in every)], spent)
    started = time.perf_counter()
    material = collect(every, known)
    dealt = params.scoring.split
    if any(takes_less(material.places, dealt.by, dealt.train, seed) for seed in range(dealt.seeds)):
        print(
            f"{len(material.places)} rated explanations are few: less than the share {dealt.train} "
            f"is for training, so that {FEWEST} are left to test on"
        )
    facts = scorer_facts(material, params)
    facts.to_csv(root / DATA / "score" / "facts.csv", index=False, lineterminator="\n")
    size = material.embedded(params.embedding)[0].encoder["size"]
    looks = describe_images(every, size, params.scoring.public.described)
    public = train_public(material, params, looks)
    beside = [train_public(material, params, looks, name) for name in params.scoring.public.beside]
    md5s = {file.relative_to(root).as_posix(): file_md5(file) for file in tables_read}
    encoder = root / CLIP if params.embedding.weights == "trained" else None
    own = params.scoring.public
    save_public(public, params, md5s, reached.get(own.scorer, {}), root / FOLDER, encoder)
    for one in beside:
        folder = root / BESIDE / one.scorer
        save_public(one, params, md5s, reached.get(one.scorer, {}), folder, None)
    with tracked_run(
        "scorers",
        "score",
        f"public scorer: {own.scorer}",
        about="The scorer that anybody can call. Its kappas are those of the same scorer over "
        "splits, on images and techniques not seen in training. "
        f"{public.origin or 'Learned from people.'}",
        inputs=inputs,
        params=own.model_dump(),
        tags={"study": NAME, "scorer": own.scorer, "encoder": params.embedding.encoder},
        seconds=time.perf_counter() - started,
    ) as run:
        run.log_metrics(_metrics(reached.get(own.scorer, {})))
        log_served(root / FOLDER)


def _metrics(reached: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """What a scorer has reached, as the nested runs name it."""
    return {
        f"{measure}.{question}": value
        for question, own in reached.items()
        for measure, value in own.items()
        if value is not None
    }


def _write(
    results: pd.DataFrame,
    predicted: pd.DataFrame,
    wanted: Sequence[Setup],
    params: Params,
    out: Path,
    note: str,
) -> dict[str, Any]:
    """Write tables and the figure; returns what each scorer has reached."""
    store.write(results, out / "score_results.parquet", tables.SCORE_RESULTS)
    predicted.to_csv(out / "predictions.csv", index=False, lineterminator="\n", float_format="%.4f")
    summarised = summarise(results, KEYS)
    summarised.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    rivals = [name for name in params.scoring.scorers if name not in ("ordinal", "constant")]
    differences = compare(results, "ordinal", rivals, params.scoring.split.test_to_train)
    differences.to_csv(out / "differences.csv", index=False, lineterminator="\n")
    centre = describe_centre(params.embedding, params.scoring)
    centre.to_csv(out / "centre.csv", index=False, lineterminator="\n")
    reached = headline(summarised)
    store.write_json(reached, out / "score.json")
    drawn = score_figure(summarised[summarised["study"] == "main"], main_titles(wanted), note)
    with store.atomic(project_root() / FIGURES / "score.svg") as temporary, style():
        drawn.savefig(temporary, format="svg", metadata={"Date": None})
    return reached


if __name__ == "__main__":
    run_stage(main)
