"""Imports that wait; each test has a fresh interpreter, because imports are remembered."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torchvision_comes_without_the_compiler_until_it_is_used() -> None:
    code = """
import sys
from pasta.quick_start import import_torchvision
import_torchvision()
print("torch._dynamo" in sys.modules)
import torch
from torchvision.ops import roi_align
print(tuple(roi_align(torch.rand(1, 3, 8, 8), [torch.tensor([[0.0, 0, 4, 4]])], 2).shape))
doubled = torch.compile(lambda x: 2 * x, backend="eager")
print(doubled(torch.ones(1)).item(), torch._dynamo.__file__.endswith("__init__.py"))
"""
    assert run(code).split("\n")[:3] == ["False", "(1, 3, 2, 2)", "2.0 True"]


def test_open_clip_gets_transformers_when_an_architecture_may_need_it() -> None:
    code = """
import sys
from pasta.models.clip.opening import open_model
open_model("pasta-tiny", None)
from open_clip.model import HFTextEncoder
print("transformers" in sys.modules, HFTextEncoder.__init__.__globals__["transformers"])
open_model("RN50", None)
print(HFTextEncoder.__init__.__globals__["transformers"].__name__)
"""
    assert run(code).split("\n")[:2] == ["False None", "transformers"]
