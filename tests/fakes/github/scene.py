"""A ready scene: one fake, one repository, and the real client connected to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from github import Auth, Github
from github.Repository import Repository

from tests.fakes.github.repo import FakeRepo
from tests.fakes.github.server import DEFAULT_TOKEN, FakeGitHub


@dataclass(frozen=True, slots=True)
class Scene:
    """The fake, its repository, and PyGithub's view of both."""

    gh: FakeGitHub
    repo: FakeRepo
    api: Github
    remote: Repository


@contextmanager
def connect(gh: FakeGitHub, token: str | None = DEFAULT_TOKEN) -> Iterator[Github]:
    """PyGithub against a fake, without its pauses and retries."""
    auth = Auth.Token(token) if token else None
    api = Github(base_url=gh.url, auth=auth, retry=None, seconds_between_requests=None, seconds_between_writes=None)
    try:
        yield api
    finally:
        api.close()


@contextmanager
def open_scene(*, private: bool = False) -> Iterator[Scene]:
    """A fake with `octo/hello`, and alice who may write to it."""
    with FakeGitHub() as gh:
        repo = gh.add_repo("octo/hello", private=private)
        repo.set_permission("alice", "write")
        with connect(gh) as api:
            yield Scene(gh, repo, api, api.get_repo("octo/hello"))
