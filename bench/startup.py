"""How long an event takes that starts nothing, against a bare interpreter and against importing the SDKs.

    ./entrypoint.sh dev python -m bench.startup

Machines differ and are noisy, so the medians of interleaved runs are compared inside one run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.github import FakeGitHub
from tests.job import Job, mention

ROUNDS = 15


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, FakeGitHub() as github:
        github.add_repo("octo/hello").add_issue(number=1)
        github.add_user("mallory")
        quiet = _job(Path(folder, "quiet"), github, mention("just talking"))
        stranger = _job(Path(folder, "stranger"), github, mention("@agent hi", author="mallory"))
        cases: dict[str, Callable[[], object]] = {
            "python -c pass": lambda: _python("pass"),
            "ignored: no trigger": quiet.run,
            "ignored: no rights": stranger.run,
            "import github": lambda: _python("import github"),
            "import anthropic": lambda: _python("import anthropic"),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, run in cases.items():
                started = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - started)
    base = statistics.median(times["import anthropic"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:22} {median * 1000:7.0f} ms   {median / base:5.2f} of importing the model SDK")


def _job(folder: Path, github: FakeGitHub, payload: dict[str, object]) -> Job:
    folder.mkdir()
    job = Job(folder, github.url, payload=payload)
    job.env |= {"GITHUB_SHA": job.commit({"a.py": "a\n"}), "PYDANTIC_DISABLE_PLUGINS": "1"}
    return job


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
