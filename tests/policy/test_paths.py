"""One path policy for all tools: inside the workspace, links resolved, `.git` and denied files out of reach."""

from pathlib import Path

import pytest

from ci_agent.policy.paths import PathPolicy, PathRefused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("token")
    (root / "secrets").mkdir()
    (root / "secrets" / "key").write_text("key")
    (root / "a.py").write_text("a")
    (root / "inside").symlink_to("a.py")
    (root / "to-git").symlink_to(".git/config")
    (root / "to-secret").symlink_to("secrets/key")
    (root / "outside").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    (tmp_path / "work-sibling").mkdir()
    return root


REFUSED = {
    "..": "outside the workspace",
    "/etc/passwd": "outside the workspace",
    "/proc/self/environ": "outside the workspace",
    "a/../../x": "outside the workspace",
    "../work-sibling/x": "outside the workspace",
    "outside/x": "outside the workspace",
    ".git/config": "inside .git",
    ".GIT/config": "inside .git",
    "to-git": "inside .git",
    "sub/.git/config": "inside .git",
    "secrets/key": "denied by the policy rule for secrets/**",
    "to-secret": "denied by the policy rule for secrets/**",
    "a\0b": "NUL",
    "a\ud800b": "characters that no path can hold",
}


@pytest.mark.parametrize("path", REFUSED)
def test_path_is_refused(root: Path, path: str) -> None:
    with pytest.raises(PathRefused, match=REFUSED[path].replace("*", r"\*")):
        PathPolicy(root, ["Read(secrets/**)"]).resolve(path)


@pytest.mark.parametrize("path", ["a.py", "inside", "new/file", ".github/x.yml", ".gitignore", "a/../a.py"])
def test_path_inside_is_resolved(root: Path, path: str) -> None:
    assert PathPolicy(root, ["Read(secrets/**)"]).resolve(path).is_relative_to(root)


def test_absolute_path_of_the_workspace_is_inside(root: Path) -> None:
    assert PathPolicy(root).resolve(str(root / "a.py")) == root / "a.py"
