"""entrypoint.sh on its good days: what it makes ready, where, and how it hands over."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.project import TOOLS, Project, Start


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.create(tmp_path)
    made.add_uv()
    return made


def told(start: Start) -> Any:
    """What the program at the end of the start saw."""
    assert start.code == 0, start.stderr
    return json.loads(start.stdout)


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_first_start_installs_and_second_start_needs_no_installer(tmp_path: Path, installer: str) -> None:
    project = Project.create(tmp_path)
    if installer == "uv":
        project.add_uv()
    first = project.start("run", "two words", "")
    assert told(first)["args"] == ["run", "two words", ""]
    assert told(first)["tiny"] == "1.0"
    [environment] = project.environments()
    assert first.stderr.splitlines() == [
        "ci-agent: installing the packages of requirements.lock (first start only) …",
        first.stderr.splitlines()[1],
    ]
    assert first.stderr.splitlines()[1].endswith(f"in {environment}")
    assert list(environment.glob("lib/*/site-packages/__pycache__/unused.*.pyc")), "not compiled"

    for wheel in project.wheels.iterdir():
        wheel.unlink()
    (project.bin / "uv").unlink(missing_ok=True)
    second = project.start("run")
    assert (told(second)["prefix"], second.stderr) == (str(environment), "")


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_home_holds_nothing_but_the_environments(tmp_path: Path, installer: str) -> None:
    project = Project.create(tmp_path)
    # pip asks it for its version, and rustup's stand-in answers by writing a settings file.
    project.script(
        "rustc",
        'mkdir -p "${RUSTUP_HOME:-$HOME/.rustup}" && : >"${RUSTUP_HOME:-$HOME/.rustup}/settings.toml"',
    )
    if installer == "uv":
        project.add_uv()
    told(project.start())
    told(project.start("test"))
    assert list(project.litter()) == []


def test_warm_start_runs_one_process_besides_python(project: Project, tmp_path: Path) -> None:
    told(project.start())
    log = tmp_path / "started.log"
    for tool in (*TOOLS, "python3", "uv"):
        real = os.path.realpath(project.bin / tool)
        project.script(tool, f'echo {tool} >>"{log}"\nexec "{real}" "$@"')
    told(project.start())
    assert log.read_text().split() == ["sha256sum"]


def test_it_starts_through_symlinks(project: Project, tmp_path: Path) -> None:
    (project.home / "relative link").symlink_to(Path("..", project.root.name, "entrypoint.sh"))
    (tmp_path / "absolute link").symlink_to(project.home / "relative link")
    start = project.start(cwd=tmp_path, script=Path("absolute link"))
    assert (told(start)["path"][0], told(start)["cwd"]) == (str(project.root), str(tmp_path))


def test_nothing_in_the_current_directory_is_run_or_imported(project: Project, tmp_path: Path) -> None:
    checkout, ran = tmp_path / "checkout", tmp_path / "ran"
    evil = f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n"
    for name in (
        "ci_agent/__init__.py",
        "ci_agent/__main__.py",
        "tiny.py",
        "json.py",
        "sitecustomize.py",
        "start.py",
    ):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(evil)
    for name in ("python3", "uv", "sha256sum", "mkdir"):
        (checkout / name).write_text(f'#!/bin/sh\n: >"{ran}"\n')
        (checkout / name).chmod(0o755)
    (checkout / "uv.toml").write_text("this is not TOML\n")
    hostile = {"PYTHONPATH": ".", "PYTHONHOME": ".", "PYTHONSTARTUP": "start.py", "PYTHONPLATLIBDIR": "."}
    for _ in ("cold", "warm"):
        seen = told(project.start("run", cwd=checkout, PATH=f".::{project.bin}:relative", CDPATH="..", **hostile))
        assert not ran.exists()
        assert seen["path"][0] == str(project.root)
        assert all(Path(entry).is_absolute() and checkout not in Path(entry, "x").parents for entry in seen["path"])
        assert (seen["safe_path"], seen["user_site"]) == (True, False)
        assert seen["env"] == {
            "PYTHONHOME": None,
            "PYTHONPATH": str(project.root),
            "PYTHONSTARTUP": None,
            "PYDANTIC_DISABLE_PLUGINS": "1",
            "PATH": str(project.bin),
        }


@pytest.mark.parametrize(("installer", "setting"), [("pip", "PIP_USER"), ("uv", "UV_SYSTEM_PYTHON")])
def test_settings_that_would_install_elsewhere_do_not_count(tmp_path: Path, installer: str, setting: str) -> None:
    project = Project.create(tmp_path)
    if installer == "uv":
        project.add_uv()
    assert told(project.start(**{setting: "1"}))["tiny"] == "1.0"
    assert len(project.environments()) == 1


def test_nobody_else_may_write_into_an_environment(project: Project) -> None:
    before = os.umask(0)
    try:
        told(project.start())
    finally:
        os.umask(before)
    [environment] = project.environments()
    code = (path for folder in ("bin", "lib") for path in (environment / folder).rglob("*") if not path.is_symlink())
    assert [path for path in (project.cache, environment, *code) if path.stat().st_mode & 0o022] == []


def test_the_agent_keeps_the_mask_of_its_caller(project: Project) -> None:
    (project.root / "ci_agent" / "__main__.py").write_text("import os\nprint(oct(os.umask(0)))")
    before = os.umask(0o027)
    try:
        assert [project.start().stdout for _ in ("cold", "warm")] == ["0o27\n", "0o27\n"]
    finally:
        os.umask(before)


def test_changed_lock_file_gets_its_own_environment(project: Project) -> None:
    assert told(project.start())["tiny"] == "1.0"
    project.pin("2.0")
    assert told(project.start())["tiny"] == "2.0"
    assert len(project.environments()) == 2


@pytest.mark.parametrize(
    ("provider", "lock"),
    [("bedrock", "-bedrock"), ("google-cloud", "-google"), ("vertex", "-google"), ("foundry", ""), ("../x", "")],
)
def test_provider_brings_the_packages_that_its_sign_in_needs(project: Project, provider: str, lock: str) -> None:
    (project.root / f"requirements{lock}.lock").write_text(project.tiny("3.0"))
    first = project.start(CI_AGENT_MODEL_PROVIDER=provider)
    assert told(first)["tiny"] == "3.0"
    assert f"installing the packages of requirements{lock}.lock" in first.stderr
    assert told(project.start("test", CI_AGENT_MODEL_PROVIDER=provider))["tiny"] == "1.0"


def test_concurrent_first_starts_all_work(project: Project) -> None:
    starts = [project.popen(f"{number}") for number in range(4)]
    outputs = [start.communicate(timeout=120) for start in starts]
    assert [json.loads(stdout)["args"] for stdout, _ in outputs] == [["0"], ["1"], ["2"], ["3"]]
    assert len(project.environments()) == 1
    assert list(project.litter()) == []


def test_an_environment_that_was_finished_meanwhile_is_left_in_peace(project: Project, tmp_path: Path) -> None:
    find, start = os.path.realpath(project.bin / "find"), f'bash "{project.root}/entrypoint.sh"'
    witness = f'for made in "{project.cache}"/env-*/; do : >"$made/witness"; done'
    project.script("find", f'if mkdir "{tmp_path}/once"; then {start}; {witness}; fi >&2\nexec "{find}" "$@"')
    told(project.start())
    [environment] = project.environments()
    assert (environment / "witness").exists()


def test_the_agents_exit_code_is_passed_on(project: Project) -> None:
    assert project.start(EXIT="4").code == 4


def test_signals_reach_the_agent_itself(project: Project) -> None:
    told(project.start())
    (project.root / "ci_agent" / "__main__.py").write_text("import os\nprint(os.getpid(), flush=True)")
    process = project.popen()
    stdout, _ = process.communicate(timeout=60)
    assert int(stdout) == process.pid


def test_test_runs_pytest_in_the_projects_root(project: Project) -> None:
    seen = told(project.start("test", "-k", "a or b"))
    assert (seen["cwd"], seen["args"]) == (str(project.root), ["-k", "a or b"])
    assert seen["env"]["PATH"] == f"{seen['prefix']}/bin:{project.bin}"


def test_dev_runs_a_command_of_the_development_environment(project: Project) -> None:
    # Its interpreter line must name the place where the environment is now, not where it was built.
    assert project.start("dev", "tiny-script").stdout == "tiny 1.0\n"
    assert project.start("dev").stderr == "ci-agent: dev needs a command, for example: ./entrypoint.sh dev ruff check\n"


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "CI_AGENT_CACHE"])
def test_cache_folder_can_be_chosen(project: Project, tmp_path: Path, variable: str) -> None:
    chosen = tmp_path / "chosen folder"
    seen = told(project.start(**{variable: str(chosen)}))
    folder = chosen / "ci-agent" if variable == "XDG_CACHE_HOME" else chosen
    assert Path(seen["prefix"]).parent == folder
    assert list(project.home.iterdir()) == []


def test_environment_outlives_the_one_that_was_active_when_it_was_built(project: Project, tmp_path: Path) -> None:
    active = tmp_path / "active"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(active)], check=True)
    told(project.start(PATH=f"{active}/bin:{project.bin}"))
    shutil.rmtree(active)
    assert project.start().stderr == ""


def test_a_chosen_python_gets_its_own_environment(project: Project) -> None:
    told(project.start())
    told(project.start(CI_AGENT_PYTHON=str(project.bin / "python3")))
    assert len(project.environments()) == 2


@pytest.mark.parametrize(("tool", "options", "real"), [("shasum", "-a 256", "sha256sum"), ("cksum", "", "cksum")])
def test_lock_file_is_told_apart_without_sha256sum(project: Project, tool: str, options: str, real: str) -> None:
    (project.bin / "sha256sum").unlink()
    project.script(tool, f'[[ $* == "{options}" ]] && exec "{shutil.which(real)}"')
    told(project.start())
    assert project.start().stderr == ""
    project.pin("2.0")
    assert told(project.start())["tiny"] == "2.0"


def test_a_newer_python_is_taken_where_python3_is_too_old(project: Project, tmp_path: Path) -> None:
    real = os.path.realpath(project.bin / "python3")
    project.old_python()
    tool = tmp_path / "tools" / "Python" / "3.13.1" / "x64" / "bin" / "python3"
    tool.parent.mkdir(parents=True)
    tool.symlink_to(real)
    assert told(project.start(RUNNER_TOOL_CACHE=str(tmp_path / "tools")))["tiny"] == "1.0"
    project.pin("2.0")
    project.link("python3.12", real)
    assert told(project.start())["tiny"] == "2.0"
