"""Memory does not grow with the number of images."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

SCRIPT = """
import resource, sys
from contextlib import ExitStack
from pathlib import Path
import numpy as np, torch
from pasta import store
from pasta.explanations.api import DEFAULTS
from pasta.explanations.base import View
from pasta.explanations.engine import Work, attributions
from tests.explanations.networks import SmallNet, pictures

torch.set_num_threads(1)
number, folder = int(sys.argv[1]), Path(sys.argv[2])
network = SmallNet().eval()
methods = ["gradcam", "hirescam", "layercam", "xgradcam", "gradcam++", "fullgrad", "ablationcam"]

def images(part):
    return pictures(part.stop - part.start, 224, seed=part.start)

work = Work(View(network, network.active), images, torch.zeros(number, dtype=torch.long),
            DEFAULTS, batch_size=10)
with ExitStack() as stack:
    shape = (number, 224, 224)
    sinks = {name: stack.enter_context(store.growing_array(folder / f"{name}.npy", shape, "f2"))
             for name in methods}
    for part in attributions(work, methods):
        sinks[part.method](part.raw)
assert store.read_array(folder / "gradcam.npy").shape == shape
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(number: int, folder: Path) -> int:
    folder.mkdir()
    command = [sys.executable, "-c", SCRIPT, str(number), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_two_hundred_images_need_as_much_memory_as_twenty(tmp_path: Path) -> None:
    few, many = peak(20, tmp_path / "few"), peak(200, tmp_path / "many")
    assert many < 1.1 * few
