"""The state behind the server: users, tokens, repositories, identifiers and time."""

import base64
import itertools
import threading
from collections.abc import Mapping

from tests.fakes.github.clock import Clock
from tests.fakes.github.faults import Faults, Quota
from tests.fakes.github.records import User
from tests.fakes.github.repo import FakeRepo
from tests.fakes.github.wire import Actor, ApiError, not_found

BOT = "github-actions[bot]"
ANONYMOUS = Actor(None)


class World:
    """Everything the fake knows."""

    def __init__(self) -> None:
        self.url = ""
        self.clock = Clock()
        self.faults = Faults()
        self.quota = Quota()
        self.users: dict[str, User] = {}
        self.repos: dict[str, FakeRepo] = {}
        self.tokens: dict[str, Actor] = {}
        self.downloads: dict[str, tuple[str, bytes]] = {}
        # One writer at a time: the handlers run in threads and the state has no other guard.
        self.lock = threading.RLock()
        self._ids = itertools.count(1_000_001)

    def next_id(self) -> int:
        """An identifier that nothing else has."""
        return next(self._ids)

    def node_id(self, prefix: str, number: int) -> str:
        """The GraphQL identifier of an object."""
        return f"{prefix}_{base64.urlsafe_b64encode(number.to_bytes(6, 'big')).decode()}"

    def user(self, login: str) -> User:
        """The account with a login, made on first use."""
        known = self.users.get(login.lower())
        if known is None:
            known = User(login, self.next_id(), "Bot" if login.endswith("[bot]") else "User")
            self.users[login.lower()] = known
        return known

    def add_token(self, token: str, login: str, permissions: Mapping[str, str] | None) -> None:
        """Make a token known."""
        self.user(login)
        self.tokens[token] = Actor(login, permissions)

    def actor(self, authorization: str | None) -> Actor:
        """Whom an `Authorization` header speaks for."""
        if authorization is None:
            return ANONYMOUS
        token = authorization.partition(" ")[2].strip()
        if token not in self.tokens:
            raise ApiError(401, "Bad credentials")
        return self.tokens[token]

    def add_repo(self, full_name: str, default_branch: str, *, private: bool) -> FakeRepo:
        """Make a repository with one commit."""
        self.user(full_name.partition("/")[0])
        repo = FakeRepo(self, full_name, default_branch, private=private)
        self.repos[full_name.lower()] = repo
        return repo

    def repo(self, full_name: str, actor: Actor) -> FakeRepo:
        """A repository as `actor` sees it; a private one does not exist for strangers."""
        repo = self.repos.get(full_name.lower())
        if repo is None or (repo.private and actor.login is None):
            raise not_found()
        return repo

    def download(self, name: str, content_type: str, data: bytes) -> str:
        """Offer bytes under a one-off address, as GitHub's log storage does, and give the address."""
        key = f"{self.next_id():x}/{name}"
        self.downloads[key] = (content_type, data)
        return f"{self.url}/_downloads/{key}"
