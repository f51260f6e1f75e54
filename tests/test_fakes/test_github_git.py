"""Git data, contents, commits, branches and comparisons of the fake GitHub, through PyGithub."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from github import GithubException, InputGitTreeElement, UnknownObjectException
from github.ContentFile import ContentFile

from tests.fakes.github.gitstore import Entry, GitStore, Person
from tests.fakes.github.scene import Scene, open_scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        yield made


def test_object_names_are_those_git_gives(tmp_path: Path) -> None:
    def git(*words: str, text: str | None = None) -> str:
        env = {"GIT_AUTHOR_DATE": "1767225600 +0000", "GIT_COMMITTER_DATE": "1767225600 +0000", "PATH": "/usr/bin:/bin"}
        names = ["-c", "user.name=alice", "-c", "user.email=a@example.org"]
        done = subprocess.run(
            ["git", *names, *words], cwd=tmp_path, env=env, input=text, text=True, capture_output=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("a\n")
    (tmp_path / "src.txt").write_text("b\n")
    git("add", ".")
    tree = git("write-tree")
    store = GitStore()
    blob = store.add_blob(b"a\n")
    files = {"src/a.py": Entry("100644", blob), "src.txt": Entry("100644", store.add_blob(b"b\n"))}
    assert store.add_files(files) == tree
    alice = Person("alice", "a@example.org", "2026-01-01T00:00:00Z")
    assert store.add_commit(tree, (), "First\n", alice, alice, None).sha == git("commit-tree", tree, text="First\n")


def test_a_commit_is_built_from_git_data_and_moves_a_branch(scene: Scene) -> None:
    remote = scene.remote
    base = remote.get_branch("main")
    blob = remote.create_git_blob("aGVsbG8=", "base64")
    elements = [
        InputGitTreeElement("src/hello.txt", "100644", "blob", sha=blob.sha),
        InputGitTreeElement("run.sh", "100755", "blob", content="#!/bin/sh\n"),
    ]
    tree = remote.create_git_tree(elements, base_tree=remote.get_git_tree(base.commit.sha))
    commit = remote.create_git_commit("Add files", tree, [remote.get_git_commit(base.commit.sha)])
    remote.create_git_ref("refs/heads/agent/fix-1", commit.sha)
    assert remote.get_branch("agent/fix-1").commit.sha == commit.sha
    listed = remote.get_git_tree("agent/fix-1", recursive=True).tree
    assert [(one.path, one.mode) for one in listed] == [
        ("README.md", "100644"),
        ("run.sh", "100755"),
        ("src", "040000"),
        ("src/hello.txt", "100644"),
    ]
    found = remote.get_contents("src/hello.txt", ref="agent/fix-1")
    assert isinstance(found, ContentFile)
    assert found.decoded_content == b"hello"


def test_a_ref_moves_only_forward_unless_forced(scene: Scene) -> None:
    old = scene.repo.sha("main")
    new = scene.repo.add_commit({"a": "1"}).sha
    other = scene.repo.add_commit({"b": "2"}, parent=old).sha
    ref = scene.remote.get_git_ref("heads/main")
    ref.edit(new)
    with pytest.raises(GithubException, match="Update is not a fast forward"):
        ref.edit(other)
    assert scene.repo.sha("main") == new
    ref.edit(other, force=True)
    assert scene.repo.sha("main") == other
    with pytest.raises(GithubException, match="Reference already exists"):
        scene.remote.create_git_ref("refs/heads/main", new)
    with pytest.raises(GithubException, match="not a valid ref name"):
        scene.remote.create_git_ref("refs/heads/a..b", new)
    scene.remote.create_git_ref("refs/heads/gone", new).delete()
    with pytest.raises(UnknownObjectException):
        scene.remote.get_git_ref("heads/gone")


def test_a_push_to_the_head_branch_moves_the_pull_request(scene: Scene) -> None:
    scene.repo.add_pull(files=None, head_ref="topic")
    pushed = scene.repo.add_commit({"x.txt": "x\n"}, parent=scene.repo.sha("topic"))
    scene.remote.get_git_ref("heads/topic").edit(pushed.sha)
    pull = scene.remote.get_pull(1)
    assert (pull.head.sha, [one.filename for one in pull.get_files()]) == (pushed.sha, ["x.txt"])


def test_an_annotated_tag_leads_to_its_commit(scene: Scene) -> None:
    sha = scene.repo.sha("main")
    tag = scene.remote.create_git_tag("v1", "One", sha, "commit")
    scene.remote.create_git_ref("refs/tags/v1", tag.sha)
    assert scene.remote.get_git_ref("tags/v1").object.type == "tag"
    assert scene.remote.get_git_tag(tag.sha).object.sha == sha
    assert scene.remote.get_commit("v1").sha == sha


def test_files_are_written_only_over_the_version_that_is_there(scene: Scene) -> None:
    made = scene.remote.create_file("docs/a b.md", "Add", "one\n", branch="main")
    content = made["content"]
    assert isinstance(content, ContentFile)
    with pytest.raises(GithubException) as caught:
        scene.remote.update_file("docs/a b.md", "Change", "two\n", sha="0" * 40)
    assert caught.value.status == 409
    scene.remote.update_file("docs/a b.md", "Change", "two\n", sha=content.sha)
    found = scene.remote.get_contents("docs/a b.md")
    assert isinstance(found, ContentFile)
    assert found.decoded_content == b"two\n"
    listing = scene.remote.get_contents("")
    assert isinstance(listing, list)
    assert [(one.path, one.type) for one in listing] == [("README.md", "file"), ("docs", "dir")]
    scene.remote.delete_file("docs/a b.md", "Remove", found.sha)
    assert [one.commit.message for one in scene.remote.get_commits()] == ["Remove", "Change", "Add", "Initial commit"]


def test_a_file_is_read_raw(scene: Scene) -> None:
    headers = {"Accept": "application/vnd.github.raw+json"}
    _, data = scene.api.requester.requestJsonAndCheck("GET", "/repos/octo/hello/contents/README.md", headers=headers)
    assert data["data"] == "# hello\n"
    assert scene.remote.get_readme().decoded_content == b"# hello\n"


def test_a_comparison_starts_at_the_merge_base(scene: Scene) -> None:
    scene.repo.add_commit({"a.txt": "1\n"}, branch="main")
    start = scene.repo.sha("main")
    scene.repo.add_commit({"b.txt": "2\n", "a.txt": None, "c.txt": "1\n"}, branch="topic", parent=start)
    scene.repo.add_commit({"later.txt": "3\n"}, branch="main")
    compared = scene.remote.compare("main", "topic")
    assert (compared.status, compared.ahead_by, compared.behind_by) == ("diverged", 1, 1)
    assert compared.merge_base_commit.sha == start
    assert [(one.filename, one.status, one.previous_filename) for one in compared.files] == [
        ("b.txt", "added", None),
        ("c.txt", "renamed", "a.txt"),
    ]
    assert [one.name for one in scene.remote.get_branches()] == ["main", "topic"]
