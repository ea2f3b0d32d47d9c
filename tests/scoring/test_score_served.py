"""The score as an MLflow model: in Python, and over HTTP from a real server."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pasta.scoring.score import PastaScore, Score
from pasta.scoring.serving import log_served, save_served
from pasta.scoring.stored import FOLDER
from pasta.tracking import tracked_run
from tests.conftest import ROOT
from tests.scoring.small_scorer import ORIGIN, heat, make_root, make_scorer, pictures, tiny

CONCEPTS = {"wheel": 0.9, "door": -0.2}


def base64_of_picture(image: Any) -> str:
    content = io.BytesIO()
    Image.fromarray(image).save(content, "PNG")
    return base64.b64encode(content.getvalue()).decode()


def base64_of_array(array: Any) -> str:
    content = io.BytesIO()
    np.save(content, array)
    return base64.b64encode(content.getvalue()).decode()


IMAGE, MAP = pictures(1)[0], heat(1)[0]
RECORDS: list[dict[str, Any]] = [
    {"image": IMAGE.tolist(), "saliency": MAP.tolist(), "label": "cat"},
    {"concepts": CONCEPTS, "label": "car", "dataset": "catsdogscars"},
    {"image": base64_of_picture(IMAGE), "saliency": base64_of_array(MAP), "label": "cat"},
    {"image": IMAGE.tolist(), "saliency": np.zeros((32, 32)).tolist(), "label": "cat"},
]
GOOD = RECORDS[0]
BAD: list[tuple[Any, str]] = [
    ([{**GOOD, "saliency": MAP[0].tolist()}], "it is 32 (expected height x width)"),
    ([{**GOOD, "saliency": [[0.1, 0.2], [0.3]]}], "record 0: saliency: rows of different lengths"),
    ([{**GOOD, "saliency": "@@@"}], "record 0: saliency is text but no base64"),
    ([{**GOOD, "saliency": base64.b64encode(b"abc").decode()}], "saliency is no .npy file"),
    ([{**GOOD, "image": base64.b64encode(b"abc").decode()}], "the image is no picture file"),
    ([{**GOOD, "image": [[300]]}], "expected bytes from 0 to 255"),
    ([GOOD, {**GOOD, "dataset": "cocoa"}], "Did you mean 'coco'"),
    ([{"image": GOOD["image"], "label": "cat"}], "record 0: expected either image and saliency"),
    ([{"saliency": GOOD["saliency"], "label": "cat"}], "there is a saliency map but no image"),
    ([{"concepts": {"wheel": "much"}, "label": "car"}], "a value is no number"),
    ([{**GOOD, "signed": "perhaps"}], "expected true or false"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = tiny()
    root = make_root(tmp_path_factory.mktemp("project"), encoder)
    save_served(make_scorer(root, encoder), root / "served")
    return root


def expected(project: Path, question: str = "Q1") -> list[Score]:
    score = PastaScore.load(question, project / FOLDER, encoder=tiny())
    found = [score(image=IMAGE, saliency=MAP, label="cat"), score(concepts=CONCEPTS, label="car")]
    assert all(isinstance(one, Score) for one in found)
    return [one for one in found if isinstance(one, Score)]


def compare(answers: list[dict[str, Any]], project: Path, question: str = "Q1") -> None:
    saliency, concepts = expected(project, question)
    for answer, one in zip(answers, (saliency, concepts, saliency), strict=False):
        assert answer["question"] == question
        assert answer["score"] == pytest.approx(one.score, abs=1e-4)
        assert answer["distribution"] == pytest.approx(one.distribution, abs=1e-4)
        assert answer["interval"] == pytest.approx([one.low, one.high], abs=1e-4)
        assert answer["status"] == "ok"
        assert (answer["informative"], answer["notes"]) == (one.informative, list(one.notes))
    assert (answers[3]["score"], answers[3]["status"]) == (None, "constant")
    assert {answer["origin"] for answer in answers} == {ORIGIN}


@pytest.mark.filterwarnings("ignore:.*show nothing")
def test_the_model_answers_as_python_does_and_holds_no_pickle(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow
    import pandas as pd
    from mlflow.exceptions import MlflowException

    monkeypatch.chdir(project)
    stored = {file.suffix for file in (project / "served").rglob("*") if file.is_file()}
    assert stored <= {"", ".py", ".json", ".safetensors", ".yaml", ".txt"}
    model = mlflow.pyfunc.load_model(str(project / "served"))
    compare(model.predict(pd.DataFrame(RECORDS)), project)
    compare(model.predict(pd.DataFrame(RECORDS), params={"question": "Q3"}), project, "Q3")
    for records, message in BAD:
        with pytest.raises(MlflowException) as caught:
            model.predict(pd.DataFrame(records))
        assert message in str(caught.value)
        assert caught.value.get_http_status_code() == 400  # type: ignore[no-untyped-call]
    with pytest.raises(MlflowException, match="no question 'Q8'"):
        model.predict(pd.DataFrame(RECORDS), params={"question": "Q8"})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def post(url: str, body: bytes) -> tuple[int, Any]:
    request = urllib.request.Request(  # noqa: S310 (on this machine)
        f"{url}/invocations", body, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


@pytest.fixture
def server(project: Path, tmp_path: Path) -> Iterator[str]:
    """A real server in a process group of its own, which is ended whatever happens."""
    port, log = free_port(), tmp_path / "log.txt"
    url = f"http://127.0.0.1:{port}"
    scripts = str(Path(sys.executable).parent)
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    command = ["mlflow", "models", "serve", "-m", str(project / "served"), "-p", str(port)]
    with log.open("wb") as out:
        running = subprocess.Popen(
            [*command, "--env-manager", "local", "--host", "127.0.0.1"],
            cwd=project,
            env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        for _ in range(600):
            if running.poll() is not None:
                pytest.fail(log.read_text())
            try:
                with urllib.request.urlopen(f"{url}/ping", timeout=5):  # noqa: S310
                    break
            except OSError:
                time.sleep(0.3)
        else:
            pytest.fail(log.read_text())
        yield url
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait(20)
        _wait_until_gone(running.pid)


def _wait_until_gone(group: int) -> None:
    """The server's workers are children of its own; nothing of the group may be left."""
    for attempt in range(100):
        try:
            os.killpg(group, signal.SIGKILL if attempt == 60 else 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail(f"processes of the group {group} are still there")


@pytest.mark.slow
def test_a_served_score_answers_http_and_survives_bad_requests(server: str, project: Path) -> None:
    body = json.dumps({"dataframe_records": RECORDS}).encode()
    status, answer = post(server, body)
    assert status == 200, answer
    compare(answer["predictions"], project)
    asked = {"dataframe_records": RECORDS, "params": {"question": "Q2"}}
    compare(post(server, json.dumps(asked).encode())[1]["predictions"], project, "Q2")
    for records, message in BAD:
        status, answer = post(server, json.dumps({"dataframe_records": records}).encode())
        assert status == 400, message
        assert message in answer["message"]
        assert len(answer["message"]) < 3000  # the reason, not the request
    for nonsense in (b"{", b"[]", b"{}", b'{"dataframe_records": []}', b'{"dataframe_records": 3}'):
        status, answer = post(server, nonsense)
        assert status == 400, nonsense
        assert answer["message"]
    assert post(server, body)[0] == 200


def test_the_newest_version_has_the_name_of_its_profile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number would mean another scorer after each batch of votes; an experiment has its own."""
    import mlflow

    monkeypatch.chdir(project)
    (project / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{project / 'registry.db'}")
    for experiment in ("", "", "mlp"):
        monkeypatch.setenv("DVC_EXP_NAME", experiment)
        with tracked_run("scorers", "score", "public", about="The scorer."):
            log_served(project / FOLDER)
    client = mlflow.MlflowClient(f"sqlite:///{project / 'registry.db'}")
    assert str(client.get_model_version_by_alias("pasta-score", "demo").version) == "2"
    assert str(client.get_model_version_by_alias("pasta-score", "mlp").version) == "3"
    model = mlflow.pyfunc.load_model("models:/pasta-score@demo")
    assert model.predict(RECORDS[1:2])[0]["question"] == "Q1"
