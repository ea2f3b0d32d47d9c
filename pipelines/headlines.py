"""DVC stage `headlines`: the numbers to compare versions by, what changed, the README's picture."""

from __future__ import annotations

import shutil

import pandas as pd
from PIL import Image, ImageDraw

from pasta import store
from pasta.config import load_params
from pasta.explanations.rendering import PAPER, fit, write
from pasta.paths import BEFORE, FIGURES, HEADLINES, NUMBERS, project_root, stage_folder
from pasta.stage import run_stage
from pasta.studies.source import write_source
from reports.source.changes import compare_versions
from reports.source.data import ANALYSES, APPLICATIONS, COMPARED, OTHERS, SCORE, Data
from reports.source.numbers import choose_headlines, collect_numbers, split_topics


def main() -> None:
    """Write the numbers for git, their comparison with reports/before.csv, and the picture."""
    root = project_root()
    data = Data(root, (*ANALYSES, SCORE, *APPLICATIONS), others=OTHERS)
    public = store.read_json(stage_folder("score") / "public" / "scorer.json")["scorer"]
    split = load_params().scoring.split
    numbers = collect_numbers(data.parts, data.applications, public, split)
    store.write_csvs(numbers, root / NUMBERS)
    store.write_json(choose_headlines(numbers), root / HEADLINES)
    before = split_topics(pd.read_csv(root / BEFORE))
    store.write_csvs({COMPARED: compare_versions(before, numbers)}, stage_folder("headlines"))
    write_source(data.source, stage_folder("headlines"))
    drawn = stage_folder("applications") / "steering" / "pictures" / "readme.jpg"
    with store.atomic(root / FIGURES / "steering.jpg") as temporary:
        if drawn.is_file():
            shutil.copy(drawn, temporary)
        else:
            _write_words("Steering was not computed: see applications.pdf").save(temporary, "JPEG")


def _write_words(words: str) -> Image.Image:
    """A picture that says why there is no other."""
    canvas = Image.new("RGB", (640, 80), PAPER)
    write(ImageDraw.Draw(canvas), (8, 0, 632, 80), *fit(words, (8, 0, 632, 80), 18), "center")
    return canvas


if __name__ == "__main__":
    run_stage(main)
