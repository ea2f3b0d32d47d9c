"""open_clip without transformers for our own architectures, and with it for all others."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT

SCRIPT = """
import sys
from pasta.models.clip.library import open_clip_for
from pasta.models.clip.opening import open_model
model, tokenizer = open_model("pasta-tiny", None)
assert tokenizer(["a cat"]).shape[0] == 1
assert "transformers" not in sys.modules, "loaded for nothing"
library = open_clip_for("pasta-tiny")
tower = library.model.HFTextEncoder  # as the factory knows it
assert tower.__init__.__globals__["transformers"] is None
assert open_clip_for("ViT-B-32") is library
import transformers
assert tower.__init__.__globals__["transformers"] is transformers
assert tower.__init__.__globals__["AutoModel"] is transformers.AutoModel
"""


def test_transformers_is_loaded_for_foreign_architectures_only() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
