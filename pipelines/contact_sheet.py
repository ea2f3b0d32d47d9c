"""DVC stage `contact_sheet`: one picture of all datasets with their part masks."""

from __future__ import annotations

from pasta import store
from pasta.datasets.contact_sheet import contact_sheet
from pasta.params import load_params
from pasta.paths import DATA, FIGURES, project_root
from pasta.stage import run_stage
from pasta.tracking import flatten, tracked_run


def main() -> None:
    """Draw reports/figures/datasets.jpg."""
    root = project_root()
    folders = [root / DATA / "images" / name for name in load_params().datasets]
    out = root / FIGURES / "datasets.jpg"
    with tracked_run("reports", "contact_sheet", "datasets", inputs=folders) as run:
        sheet = contact_sheet(folders)
        with store.atomic(out) as temporary:
            sheet.save(temporary, format="JPEG", quality=92, subsampling=0, optimize=True)
        summaries = {folder.name: store.read_json(folder / "summary.json") for folder in folders}
        run.log_metrics(flatten(summaries))
        run.log_file(out)


if __name__ == "__main__":
    run_stage(main)
