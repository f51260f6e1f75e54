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


@pytest.fixture
def beside(tmp_path: Path, root: Path) -> Path:
    beside = tmp_path / "kept"
    beside.mkdir()
    (beside / "secrets").mkdir()
    (beside / "secrets" / "key").write_text("key")
    (beside / "link").symlink_to(root / "secrets" / "key")
    (beside / "outside").symlink_to("/etc/passwd")
    (beside / "inner").symlink_to("secrets/key")
    (tmp_path / "kept-sibling").write_text("")
    (root / "to-kept").symlink_to(beside)
    return beside


def test_folder_beside_the_workspace_is_readable_by_absolute_path(root: Path, beside: Path) -> None:
    policy = PathPolicy(root, ["Read(secrets/**)", "Read(*.txt)"], also_readable=beside)
    for name, real in (("a.txt", "a.txt"), ("secrets/key", "secrets/key"), ("inner", "secrets/key"), ("", "")):
        found = policy.resolve_readable(str(beside / name))
        assert found == beside / real
        assert policy.show(found) == str(beside / real)
    assert policy.resolve_readable("a.py") == root / "a.py"
    assert policy.show(root / "a.py") == "a.py"


@pytest.mark.parametrize(
    "name", ["../kept-sibling", "link", "outside", "..", "../work/secrets/key", "../work/.git/config"]
)
def test_way_out_of_the_folder_beside_is_refused(root: Path, beside: Path, name: str) -> None:
    with pytest.raises(PathRefused):
        PathPolicy(root, ["Read(secrets/**)"], also_readable=beside).resolve_readable(f"{beside}/{name}")


@pytest.mark.parametrize("path", [*REFUSED, "../kept/a", "to-kept/a"])
def test_what_the_workspace_refuses_is_no_more_readable(root: Path, beside: Path, path: str) -> None:
    with pytest.raises(PathRefused):
        PathPolicy(root, ["Read(secrets/**)"], also_readable=beside).resolve_readable(path)


def test_folder_beside_is_neither_writable_nor_walked(root: Path, beside: Path) -> None:
    policy = PathPolicy(root, also_readable=beside)
    with pytest.raises(PathRefused, match="outside the workspace"):
        policy.resolve(str(beside / "a.txt"))
    assert not policy.may_read(beside / "a.txt")


def test_folder_beside_that_is_inside_stays_under_the_rules_of_the_workspace(root: Path) -> None:
    policy = PathPolicy(root, ["Read(secrets/**)"], also_readable=root / "secrets")
    with pytest.raises(PathRefused, match="denied by the policy"):
        policy.resolve_readable(str(root / "secrets" / "key"))
    assert policy.show(root / "secrets" / "key") == "secrets/key"


def test_without_a_folder_beside_only_the_workspace_is_readable(root: Path, beside: Path) -> None:
    with pytest.raises(PathRefused, match="outside the workspace"):
        PathPolicy(root).resolve_readable(str(beside / "a.txt"))


def test_absolute_path_of_the_workspace_is_inside(root: Path) -> None:
    assert PathPolicy(root).resolve(str(root / "a.py")) == root / "a.py"
