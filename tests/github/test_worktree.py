"""A worktree is a frozen commit, whatever the checkout looks like, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ci_agent.errors import ConfigError
from ci_agent.github.repo import GitRepo
from ci_agent.github.worktree import Worktrees

NOBODY = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"],
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=NOBODY, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def trees(checkout: Path, tmp_path: Path) -> Worktrees:
    return Worktrees(GitRepo(checkout), tmp_path / "trees")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_worktree_has_the_commit_and_goes_without_a_trace(trees: Worktrees, checkout: Path, tmp_path: Path) -> None:
    before, head = snapshot(checkout), git(checkout, "rev-parse", "HEAD")
    with trees.at("HEAD") as tree:
        assert (tree.commit, tree.notes) == (head, ())
        assert (tree.root / "a.txt").read_text() == "one\n"
        (tree.root / "a.txt").write_text("changed\n")
        (tree.root / "new").mkdir()
        (tree.root / "new" / "b.txt").write_text("new\n")
        assert (checkout / "a.txt").read_text() == "one\n"
    assert list((tmp_path / "trees").iterdir()) == []
    assert git(checkout, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert snapshot(checkout) == before


def test_two_at_once_do_not_meet(trees: Worktrees) -> None:
    with trees.at("HEAD") as one, trees.at("main") as two:
        (one.root / "a.txt").write_text("changed\n")
        assert (two.root / "a.txt").read_text() == "one\n"


def test_failure_inside_leaves_nothing(trees: Worktrees, tmp_path: Path) -> None:
    def lock_up(root: Path) -> None:
        (root / "locked").mkdir()
        (root / "locked" / "x").write_text("x")
        (root / "locked").chmod(0)
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"), trees.at("HEAD") as tree:
        lock_up(tree.root)
    assert list((tmp_path / "trees").iterdir()) == []


def test_dirty_checkout_is_told_and_stays_out(trees: Worktrees, checkout: Path) -> None:
    (checkout / "a.txt").write_text("dirty\n")
    (checkout / "new.txt").write_text("new\n")
    with trees.at("HEAD") as tree:
        assert tree.notes == ("2 changes in the checkout that are not committed stay out",)
        assert (tree.root / "a.txt").read_text() == "one\n"
        assert not (tree.root / "new.txt").exists()
    assert (checkout / "a.txt").read_text() == "dirty\n"


def test_detached_head_and_a_branch_that_is_checked_out_are_fine(trees: Worktrees, checkout: Path) -> None:
    with trees.at("main") as tree:
        assert git(tree.root, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    git(checkout, "checkout", "-q", "--detach")
    with trees.at("HEAD") as tree:
        assert (tree.root / "a.txt").exists()


def test_shallow_clone_works_and_is_told(checkout: Path, tmp_path: Path) -> None:
    (checkout / "a.txt").write_text("two\n")
    git(checkout, "commit", "-qam", "second")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{checkout}", str(shallow))
    trees = Worktrees(GitRepo(shallow), tmp_path / "trees")
    with trees.at("HEAD") as tree:
        assert (tree.root / "a.txt").read_text() == "two\n"
        assert tree.notes == ("the clone is shallow: history beyond it is not there",)
    missing = git(checkout, "rev-parse", "HEAD~1")
    with pytest.raises(ConfigError, match="is not a commit of this checkout"), trees.at(missing):
        pytest.fail("the commit is not there")


def test_worktree_of_a_killed_run_is_pruned_and_that_of_a_live_one_is_not(
    trees: Worktrees, checkout: Path, tmp_path: Path
) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from ci_agent.github.repo import GitRepo; from ci_agent.github.worktree import Worktrees\n"
        "with Worktrees(GitRepo(Path(sys.argv[1])), Path(sys.argv[2])).at('HEAD') as tree:\n"
        "    print(tree.root, flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(checkout), str(tmp_path / "trees")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        root = Path(other.stdout.readline().strip())
        assert trees.prune() == []
        assert (root / "a.txt").exists()
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert (root / "a.txt").exists()
    with trees.at("HEAD"):
        assert not root.exists()
    assert git(checkout, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_programs_of_the_checkout_do_not_run(trees: Worktrees, checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    (checkout / ".gitattributes").write_text("*.txt filter=evil\n")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "attributes")
    for key in ("smudge", "clean", "process"):
        git(checkout, "config", f"filter.evil.{key}", str(program))
    git(checkout, "config", "filter.evil.required", "true")
    hook = checkout / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    (checkout / "a.txt").write_text("dirty\n")
    with trees.at("HEAD") as tree:
        assert (tree.root / "a.txt").read_text() == "one\n"
        assert len(tree.notes) == 1
    assert not ran.exists()


@pytest.mark.parametrize(
    ("wanted", "free"),
    [("fix", "fix"), ("main", "main-2"), ("taken", "taken-2"), ("deep", "deep-2"), ("main/below", "main-below")],
)
def test_branch_name_that_is_taken_gets_a_number(trees: Worktrees, checkout: Path, wanted: str, free: str) -> None:
    git(checkout, "branch", "deep/one")
    git(checkout, "update-ref", "refs/remotes/origin/taken", "HEAD")
    assert trees.free_branch(wanted) == free


@pytest.mark.parametrize("wanted", ["", "-x", "a..b", "a b", "a\x00b", "refs/heads/../x"])
def test_name_that_cannot_be_a_branch_is_refused(trees: Worktrees, wanted: str) -> None:
    with pytest.raises(ConfigError, match="cannot be a branch name"):
        trees.free_branch(wanted)
