"""A result says from which answers it was made, and results of different answers do not mix."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasta.errors import PastaError
from pasta.studies.source import common_source, describe_source, read_source, write_source


def test_a_source_changes_with_any_table_and_says_who_answered(tmp_path: Path) -> None:
    (tmp_path / "votes.parquet").write_bytes(b"votes")
    first = describe_source(tmp_path, 0)
    assert first == describe_source(tmp_path, 0) and not first.simulated
    origins = {share: describe_source(tmp_path, share).origin for share in (0, 0.5, 1)}
    assert origins == {0: "people", 0.5: "people and simulated", 1: "simulated"}
    (tmp_path / "annotators.parquet").write_bytes(b"who")
    assert describe_source(tmp_path, 0).md5 != first.md5


def test_folders_of_one_source_belong_together_and_others_are_named(tmp_path: Path) -> None:
    votes, score, old = (tmp_path / name for name in ("votes", "score", "old"))
    source = describe_source(tmp_path, 0)
    for folder in (votes, score):
        write_source(source, folder)
    assert common_source([votes, score]) == read_source(votes) == source
    write_source(describe_source(tmp_path, 1), old)
    with pytest.raises(PastaError, match=r"score from people's .*old from simulated votes"):
        common_source([votes, score, old])
    with pytest.raises(PastaError, match=r"nothing: there is no source.json"):
        common_source([votes, tmp_path / "nothing"])
