"""entrypoint.sh on its bad days: one clear line and exit 2, and never an environment that is half there."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.create(tmp_path)
    made.add_uv()
    return made


@pytest.mark.parametrize("home", ["", "relative", "/dev/null"], ids=["unset", "relative", "unwritable"])
def test_without_a_usable_home_the_temporary_folder_is_used(project: Project, tmp_path: Path, home: str) -> None:
    start = project.start(HOME=home, RUNNER_TEMP=str(tmp_path))
    fallback = tmp_path / f"ci-agent-cache-{os.getuid()}"
    assert start.stderr.splitlines()[0] == f"ci-agent: the home folder cannot be written; using {fallback} instead"
    assert f'"prefix": "{fallback}/env-' in start.stdout
    again = project.start(HOME=home, RUNNER_TEMP=str(tmp_path))
    assert (again.code, again.stderr) == (0, "")


def test_a_temporary_folder_that_somebody_else_laid_out_is_refused(project: Project, tmp_path: Path) -> None:
    project.start()
    [environment] = project.environments()
    fallback = tmp_path / f"ci-agent-cache-{os.getuid()}"
    fallback.symlink_to(environment.parent)
    start = project.start(HOME="", RUNNER_TEMP=str(tmp_path))
    assert (start.code, start.stdout) == (2, "")
    assert "set CI_AGENT_CACHE" in start.stderr


@pytest.mark.parametrize("cache", ["relative", "./here", "/dev/null/here"])
def test_a_cache_folder_that_cannot_be_is_refused(project: Project, cache: str) -> None:
    start = project.start(CI_AGENT_CACHE=cache)
    assert (start.code, start.stdout, start.stderr.count("\n")) == (2, "", 1)
    assert "CI_AGENT_CACHE" in start.stderr
    assert list(project.home.iterdir()) == []


@pytest.mark.parametrize("python", ["none", "broken", "3.10"])
def test_without_python_3_11_it_says_so(project: Project, python: str) -> None:
    if python == "3.10":
        project.old_python()
    else:
        project.script("python3", "exit 127")
    if python == "none":
        (project.bin / "python3").unlink()
    start = project.start()
    assert (start.code, start.stdout, start.stderr.count("\n")) == (2, "", 1)
    assert "Python 3.11 or newer" in start.stderr
    assert list(project.home.iterdir()) == []


def test_a_chosen_python_that_is_not_there_is_named(project: Project) -> None:
    start = project.start(CI_AGENT_PYTHON="/nonexistent/python3")
    assert (start.code, start.stdout) == (2, "")
    assert "found none as /nonexistent/python3." in start.stderr
    assert project.start(CI_AGENT_PYTHON=sys.executable).code == 0


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize("fault", ["missing", "tampered"])
def test_failed_install_names_its_log_and_leaves_nothing_else(tmp_path: Path, installer: str, fault: str) -> None:
    project = Project.create(tmp_path)
    if installer == "uv":
        project.add_uv()
    wheel = project.wheels / "tiny-1.0-py3-none-any.whl"
    good = wheel.read_bytes()
    wheel.unlink() if fault == "missing" else wheel.write_bytes(good + b"\0")
    start = project.start()
    assert (start.code, start.stdout) == (2, "")
    _progress, line = start.stderr.splitlines()
    assert re.match("ci-agent: could not install the packages of requirements.lock: .+ Check the network", line)
    log = Path(line.partition("Full log: ")[2])
    assert "tiny" in log.read_text()
    assert list(project.litter()) == [log]
    assert project.environments() == []

    wheel.write_bytes(good)
    assert project.start().code == 0
    assert list(project.litter()) == []


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_package_without_a_hash_is_not_installed(tmp_path: Path, installer: str) -> None:
    project = Project.create(tmp_path)
    if installer == "uv":
        project.add_uv()
    (project.root / "requirements.lock").write_text("tiny==1.0\n")
    start = project.start()
    assert (start.code, start.stdout, project.environments()) == (2, "", [])


def test_a_failed_step_before_the_packages_is_not_passed_over(project: Project) -> None:
    project.script("uv", 'if [[ $1 == venv ]]; then echo "error: no venv for you"; exit 1; fi')
    start = project.start()
    assert start.code == 2
    assert "could not install the packages of requirements.lock: error: no venv for you." in start.stderr


def test_a_killed_first_start_is_neither_used_nor_in_the_way(project: Project, tmp_path: Path) -> None:
    real = os.path.realpath(project.bin / "uv")
    begun = tmp_path / "begun"
    project.script("uv", f'if [[ $1 == pip ]]; then : >"{begun}"; while :; do :; done; fi\nexec "{real}" "$@"')
    process = project.popen()
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    [left] = (path for path in project.litter() if path.name.startswith(".build-"))
    assert (left / "env" / "bin" / "python").exists()
    assert project.environments() == []

    (project.bin / "uv").unlink()
    project.add_uv()
    long_ago = time.time() - 3 * 3600
    os.utime(left, (long_ago, long_ago))
    assert project.start().code == 0
    assert list(project.litter()) == []


def test_a_stopped_first_start_cleans_up(project: Project, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    project.script("uv", f': >"{begun}"; while :; do :; done')
    process = project.popen()
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143
    assert [path.suffix for path in project.litter()] == [".log"]


def test_an_environment_whose_python_is_gone_is_made_anew(project: Project) -> None:
    project.start()
    [environment] = project.environments()
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").symlink_to("/nonexistent/python3.11")
    start = project.start()
    assert (start.code, f'"prefix": "{environment}"' in start.stdout) == (0, True)
    assert list(project.litter()) == []


def test_environments_unused_for_a_month_are_removed_and_others_kept(project: Project) -> None:
    project.start()
    [old] = project.environments()
    project.pin("2.0")
    project.start()
    [recent] = set(project.environments()) - {old}
    long_ago = time.time() - 40 * 24 * 3600
    for environment in (old, recent):
        os.utime(environment / ".used", (long_ago, long_ago))
    assert project.start().stderr == "", "the recent one is warm, and now used again"
    project.pin("3.0")
    project.start()
    assert (old.exists(), recent.exists(), len(project.environments())) == (False, True, 2)
    assert list(project.litter()) == []


def test_a_project_path_that_python_cannot_take_is_refused(project: Project, tmp_path: Path) -> None:
    moved = project.root.rename(tmp_path / "a:b")
    start = project.start(script=moved / "entrypoint.sh")
    assert (start.code, start.stderr) == (
        2,
        f"ci-agent: cannot run from {moved}: move it to a path without ':'\n",
    )
