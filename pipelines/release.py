"""DVC stage `release`: what a folder of rated explanations holds, for each dataset.

The stages that read a release depend on these lists and not on the folder: a file that changes runs
the stages of its dataset again, and DVC looks through tens of thousands of files once.
"""

from __future__ import annotations

import pandas as pd

from pasta import store
from pasta.config import load_params
from pasta.datasets.released import FILE, digest_files, open_release
from pasta.paths import project_root, stage_folder
from pasta.progress import lines
from pasta.stage import run_stage

VOTES = "votes"


def main() -> None:
    """Write the md5 of every file that a dataset takes from the release, and of all votes."""
    params, root = load_params(), project_root()
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in (*params.datasets, VOTES)}
    released = [name for name, one in params.datasets.items() if one.source == "released"]
    if released:
        release = open_release(params.release, root)
        with lines("files of the release") as say:
            for name in released:
                found[name] = digest_files(release, name)
                say(name, f"{len(found[name]):,} files")
        found[VOTES] = [(FILE, store.file_md5(release.file))]
    columns = ["path", "md5"]
    tables = {name: pd.DataFrame(rows, columns=columns) for name, rows in found.items()}
    store.write_csvs(tables, stage_folder("release"))


if __name__ == "__main__":
    run_stage(main)
