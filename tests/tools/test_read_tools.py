"""Read, Glob and Grep on a real folder."""

import os
import subprocess
from pathlib import Path

import pytest

from ci_agent.policy.grant import Limits, make_grant
from ci_agent.policy.load import load_policy
from ci_agent.policy.paths import PathPolicy
from ci_agent.policy.schema import Policy
from ci_agent.tools import walk
from ci_agent.tools.executor import Executor
from ci_agent.types.messages import JsonValue, ToolResultBlock, ToolUseBlock
from ci_agent.types.tools import LARGEST_RESULT, ToolContext
from tests.tools.calls import run_calls


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "src/app.py": "import os\n\ndef main():\n    return 1\n",
        "src/deep/util.py": "def helper():\n    pass\n",
        "docs/index.md": "# Docs\nmain page\n",
        "secrets/key.py": "KEY = 'def main'\n",
        "empty.txt": "",
        "node_modules/x/index.py": "def main(): pass\n",
        ".git/config": "def main token\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "binary.bin").write_bytes(b"\0\1\2main")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


async def call(root: Path, name: str, /, *deny: str, **arguments: JsonValue) -> ToolResultBlock:
    policy = load_policy(f"version: 1\npermissions: {{deny: {list(deny)}}}", "p")
    grant = make_grant(policy, "answer", Limits())
    executor = Executor(grant, ToolContext(PathPolicy(root, grant.deny)), lambda text: text)
    use = ToolUseBlock("t", name, {key.replace("__", "-"): value for key, value in arguments.items()})
    return (await run_calls(executor, use))[0]


async def test_read_numbers_lines_and_pages(root: Path) -> None:
    whole = await call(root, "Read", file_path="src/app.py")
    assert whole.content == "     1\timport os\n     2\t\n     3\tdef main():\n     4\t    return 1"
    part = await call(root, "Read", file_path="src/app.py", offset=3, limit=1)
    assert part.content == "     3\tdef main():\n[lines 3-3 of 4; go on with offset 4]"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nothing.py", "No such file"),
        ("src", "it is a directory"),
        ("pipe", "not a regular file"),
        ("binary.bin", "binary file of 7 bytes"),
        ("link.py", "outside the workspace"),
    ],
)
async def test_read_says_what_it_cannot_read(root: Path, path: str, message: str) -> None:
    result = await call(root, "Read", file_path=path)
    assert result.is_error
    assert message in result.content


async def test_read_says_that_a_file_is_empty_or_shorter(root: Path) -> None:
    assert (await call(root, "Read", file_path="empty.txt")).content == "empty.txt is empty."
    assert "has 4 lines" in (await call(root, "Read", file_path="src/app.py", offset=9)).content


async def test_long_lines_and_files_are_cut_and_it_is_said(root: Path) -> None:
    (root / "long.txt").write_text("x" * 5_000 + "\n" + "y\n" * 50_000)
    result = await call(root, "Read", file_path="long.txt", limit=10_000)
    assert "[line cut: 5000 characters]" in result.content
    assert LARGEST_RESULT - 5_000 < len(result.content) < LARGEST_RESULT
    assert "go on with offset" in result.content


async def test_glob_finds_sorted_paths_without_links_pipes_and_hidden_git(root: Path) -> None:
    assert (await call(root, "Glob", pattern="**/*.py")).content.splitlines() == [
        "secrets/key.py",
        "src/app.py",
        "src/deep/util.py",
    ]
    assert (await call(root, "Glob", pattern="*.{md,txt}")).content.splitlines() == ["empty.txt", "docs/index.md"]
    assert (await call(root, "Glob", pattern="*.py", path="src/deep")).content == "src/deep/util.py"
    assert (await call(root, "Glob", pattern="*.rs")).content == "No match."


async def test_grep_gives_path_line_and_text(root: Path) -> None:
    result = await call(root, "Grep", pattern=r"def \w+", glob="src/**/*.py")
    assert result.content.splitlines() == ["src/app.py:3:def main():", "src/deep/util.py:1:def helper():"]
    names = await call(root, "Grep", pattern="MAIN", __i=True, output_mode="files_with_matches", path="docs")
    assert names.content == "docs/index.md"


async def test_deny_rule_on_read_keeps_a_file_from_glob_and_grep_too(root: Path) -> None:
    deny = "Read(secrets/**)"
    for name, pattern in (("Grep", "def main"), ("Glob", "**/*.py")):
        assert "secrets" not in (await call(root, name, deny, pattern=pattern)).content
    assert (await call(root, "Grep", deny, pattern="KEY", path="secrets/key.py")).is_error
    (root / "src" / "alias.py").symlink_to("../secrets/key.py")
    assert (await call(root, "Read", deny, file_path="src/alias.py")).is_error


async def test_cap_is_said(root: Path) -> None:
    result = await call(root, "Grep", pattern="e", head_limit=2)
    assert result.content.splitlines()[2] == "[cut at 2; narrow the pattern or the path]"


async def test_endless_regular_expression_costs_a_timeout_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci_agent.tools.search.SECONDS", 1.0)
    (root / "trap.txt").write_text("a" * 60 + "!")
    result = await call(root, "Grep", pattern="(a+)+$", path="trap.txt")
    assert "stopped after 1 s" in result.content


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Read", {}, "file_path: Field required"),
        ("Read", {"file_path": "a", "mode": "x"}, "mode: Extra inputs are not permitted"),
        ("Grep", {"pattern": "("}, "unterminated subpattern"),
        ("Glob", {"pattern": "*", "path": "nowhere"}, "nowhere does not exist"),
        ("Glob", {"pattern": "[z-a]"}, "bad character range"),
        ("Bash", {"command": "ls"}, "Bash was refused: there is no tool Bash"),
        ("Nope", {}, "there is no tool Nope"),
    ],
)
async def test_mistake_of_the_model_is_told_to_the_model(
    root: Path, name: str, arguments: dict[str, JsonValue], message: str
) -> None:
    result = await call(root, name, **arguments)
    assert result.is_error
    assert message in result.content


async def test_results_come_in_call_order(root: Path) -> None:
    grant = make_grant(Policy(version=1), "answer", Limits())
    executor = Executor(grant, ToolContext(PathPolicy(root)), str.upper)
    uses = [
        ToolUseBlock(f"t{n}", "Read", {"file_path": name}) for n, name in enumerate(["src/app.py", "gone", "empty.txt"])
    ]
    results = await run_calls(executor, *uses)
    assert [result.tool_use_id for result in results] == ["t0", "t1", "t2"]
    assert [result.is_error for result in results] == [False, True, False]
    assert results[2].content == "EMPTY.TXT IS EMPTY."


async def test_name_that_is_no_unicode_is_shown_with_a_replacement(root: Path) -> None:
    (root / os.fsdecode(b"f\xff.txt")).write_text("needle\n")
    assert (await call(root, "Glob", pattern="f*.txt")).content == "f\ufffd.txt"
    assert (await call(root, "Grep", pattern="needle")).content == "f\ufffd.txt:1:needle"
    assert (await call(root, "Grep", "Read(f?.txt)", pattern="needle")).content == "No match."


def remove(tree: Path) -> None:
    """Python's own clean-up cannot remove a tree so deep."""
    subprocess.run(["rm", "-rf", str(tree)], check=True)


async def test_tree_deeper_than_the_interpreter_calls_is_walked(root: Path) -> None:
    folder = os.open(root, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("deep.txt", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)
    found = await call(root, "Glob", pattern="deep.txt")
    remove(root / "d")
    assert found.content == "d/" * 1_200 + "deep.txt"


def test_what_vanishes_or_cannot_be_listed_does_not_end_the_walk(root: Path) -> None:
    found = walk.walk(str(root / "src"))
    assert next(found).endswith("app.py")
    (root / "src" / "deep" / "util.py").unlink()
    (root / "src" / "deep").rmdir()
    assert list(found) == []
    assert walk.mode_of(str(root / "gone")) == 0
    assert walk.list_names(str(root / "gone")) == []
