"""Optional parts of the installation: the list, what is missing, and how to get it."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest

from pasta.errors import PastaError
from pasta.extras import EXTRAS, missing_modules, require_extra
from tests.conftest import ROOT

MODULES = {"dask-jobqueue": "dask_jobqueue", "dvc-s3": "dvc_s3", "dvc-ssh": "dvc_ssh"}
MODULES |= {"python-multipart": "python_multipart", "markdown-it-py": "markdown_it"}


def test_extras_are_those_of_the_project_with_all_their_modules() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert about["name"] == "pasta-xai"
    optional = {
        name: rows for name, rows in about["optional-dependencies"].items() if name != "dev"
    }
    for name, rows in optional.items():
        packages = [re.split(r"[\[>=<,]", row)[0] for row in rows]
        assert set(EXTRAS[name].modules) == {MODULES.get(one, one) for one in packages}
    assert optional.keys() == EXTRAS.keys()


def test_a_missing_part_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_extra("vlm", "the command")
    monkeypatch.setitem(sys.modules, "transformers", None)  # as Python marks what cannot be found
    assert missing_modules("vlm") == ["transformers"]
    with pytest.raises(PastaError, match=re.escape("`pip install 'pasta-xai[vlm]'`")):
        require_extra("vlm", "the command")
