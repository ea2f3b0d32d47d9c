"""DVC stage `headlines`: the numbers to compare between versions, and the README's picture."""

from __future__ import annotations

import shutil

from pasta import store
from pasta.paths import FIGURES, HEADLINES, project_root, stage_folder
from pasta.stage import run_stage
from reports.source.data import Data
from reports.source.pages.overview import READS, headline_numbers


def main() -> None:
    """Write reports/headlines.json and reports/figures/steering.jpg."""
    root = project_root()
    store.write_json(headline_numbers(Data(root, READS).parts), root / HEADLINES)
    drawn = stage_folder("applications") / "steering" / "pictures" / "readme.jpg"
    with store.atomic(root / FIGURES / "steering.jpg") as temporary:
        shutil.copy(drawn, temporary)


if __name__ == "__main__":
    run_stage(main)
