"""Fifty people at once for a minute: `python -m tests.benchmarks.study_app_load [--postgresql]`.

Everything stays on this machine. Each of fifty scripted people reads the state of their page,
answers it and waits as long as a quick person takes, for the seconds that are asked for; then
everything stops. Printed are the times of `next` and `submit`, how many answers were
acknowledged and how many are in the export. Nothing is asserted about times: they are those of
the machine and of whatever else it is doing.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

import httpx
import psutil

from pasta.studies.app.database import open_database
from pasta.studies.app.design import load_design
from pasta.studies.app.exporting import export_tables
from tests.studies.app.made import plain_study
from tests.studies.app.postgres import cluster
from tests.studies.app.serving import ENDS, Scripted, Server, together, tokens, usual_answer


def main() -> None:
    """Run the load and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds for an answer")
    parser.add_argument("--postgresql", action="store_true")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "study"
        database = stack.enter_context(cluster()) if asked.postgresql else None
        plain_study(folder, asked.people, items=600)
        server = Server(folder, database)
        print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        started = server.start()
        stack.callback(server.kill)
        _run(server, asked.people, asked.seconds, asked.pause, started)
        print(f"load after: {os.getloadavg()[0]:.1f}")


def _run(server: Server, people: int, seconds: float, pause: float, started: float) -> None:
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    idle = process.memory_info().rss / 2**20
    links = tokens(server.folder, people, server.database)
    lock, statuses = threading.Lock(), Counter[int]()
    worked, own = _worked(process), time.process_time()
    nexts: list[float] = []
    submits: list[float] = []
    told = [0]
    begin = time.monotonic()

    def act(number: int) -> None:
        chance = random.Random(number)
        with httpx.Client(base_url=server.url, timeout=60) as client:
            person = Scripted(client, links[number])
            while time.monotonic() - begin < seconds:
                first = time.monotonic()
                state = person.state()
                second = time.monotonic()
                if state["step"]["kind"] in ENDS:
                    break
                person.send(state, usual_answer(state))
                third = time.monotonic()
                with lock:
                    nexts.append(second - first)
                    submits.append(third - second)
                time.sleep(chance.uniform(0.5, 1.5) * pause)
        with lock:
            statuses.update(person.statuses)
            told[0] += sum("rating" in answer for _, answer in person.acknowledged)

    together(people, act)
    passed = time.monotonic() - begin
    worked, own = _worked(process) - worked, time.process_time() - own
    opened = open_database(server.folder, server.database)
    rows = export_tables(load_design(server.folder), opened).tables["goodness"]
    name = opened.engine.dialect.name
    opened.close()
    both = [one + two for one, two in zip(nexts, submits, strict=True)]
    pairs = {(row["annotator_id"], row["sample_id"]) for row in rows}
    print(f"{name}: {people} people, {passed:.0f} s, {len(both)} pages, {dict(statuses)}")
    for what, times in (("next", nexts), ("submit", submits), ("next + submit", both)):
        high = quantiles(times, n=100)
        print(f"  {what}: median {1e3 * median(times):.0f} ms, p95 {1e3 * high[94]:.0f} ms")
    print(f"  acknowledged {told[0]}, exported {len(rows)}, different {len(pairs)}")
    print(f"  start {started:.2f} s, memory idle {idle:.0f} MB, after {_memory(process):.0f} MB")
    print(
        f"  processor time for next + submit: server {1e3 * worked / len(both):.1f} ms, "
        f"people {1e3 * own / len(both):.1f} ms"
    )


def _worked(process: psutil.Process) -> float:
    """Seconds of processor time so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _memory(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 2**20


if __name__ == "__main__":
    main()
