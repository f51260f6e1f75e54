"""Repositories, users, collaborators, the rate limit and the search for issues."""

import shlex
from typing import TYPE_CHECKING, Any

from tests.fakes.github import shapes
from tests.fakes.github.issues import REPO
from tests.fakes.github.records import Issue, User
from tests.fakes.github.repo import ROLES
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, invalid, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo
    from tests.fakes.github.world import World

ROUTES = RouteTable()
LEGACY = {"maintain": "write", "triage": "read"}
NO_PROFILE = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
NO_COUNTS = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)


@ROUTES.on("GET", REPO)
def show_repo(call: Call) -> Reply:
    """One repository."""
    repo, login = call.repo, call.actor.login
    shown = shapes.full_repo(repo)
    if repo.parent is not None:
        origin = shapes.full_repo(call.world.repos[repo.parent.lower()])
        shown |= {"parent": origin, "source": origin}
    return Reply(200, shown if login is None else {**shown, "permissions": _permissions(repo.role(login))})


def _permissions(role: str) -> dict[str, bool]:
    rank = ROLES.index(role)
    names = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    return {name: rank >= ROLES.index(least) for name, least in names.items()}


def _account(world: "World", login: str) -> User:
    found = world.users.get(login.lower())
    if found is None:
        raise not_found()
    return found


def _profile(call: Call, account: User) -> dict[str, Any]:
    moment = call.world.clock.now.replace(year=2020).strftime("%Y-%m-%dT%H:%M:%SZ")
    simple = shapes.user_record(call.world, account)
    return {**simple, **NO_PROFILE, **NO_COUNTS, "created_at": moment, "updated_at": moment}


@ROUTES.on("GET", "/user", guarded=True)
def show_self(call: Call) -> Reply:
    """The token's user; the token of a workflow is not a user's."""
    account = _account(call.world, call.login)
    if account.type == "Bot":
        raise ApiError(403, "Resource not accessible by integration")
    return Reply(200, _profile(call, account))


@ROUTES.on("GET", "/users/{username}")
def show_user(call: Call) -> Reply:
    """One user."""
    return Reply(200, _profile(call, _account(call.world, call.params["username"])))


def _collaborator(repo: "FakeRepo", account: User) -> dict[str, Any]:
    role = repo.role(account.login)
    return {**shapes.user_record(repo.world, account), "permissions": _permissions(role), "role_name": role}


@ROUTES.on("GET", f"{REPO}/collaborators", guarded=True)
def list_collaborators(call: Call) -> Reply:
    """Who has a role."""
    found = [call.world.user(login) for login, role in call.repo.roles.items() if role != "none"]
    return call.page(found, lambda one: _collaborator(call.repo, one))


@ROUTES.on("GET", f"{REPO}/collaborators/{{username}}", guarded=True)
def check_collaborator(call: Call) -> Reply:
    """204 for a collaborator, 404 for anybody else."""
    if call.repo.roles.get(call.params["username"].lower(), "none") == "none":
        raise not_found()
    return Reply(204)


@ROUTES.on("GET", f"{REPO}/collaborators/{{username}}/permission", guarded=True)
def show_permission(call: Call) -> Reply:
    """The base permission and the finer role of a user."""
    account = _account(call.world, call.params["username"])
    role = call.repo.role(account.login)
    user = _collaborator(call.repo, account)
    return Reply(200, {"permission": LEGACY.get(role, role), "user": user, "role_name": role})


@ROUTES.on("GET", "/rate_limit")
def show_rate_limit(call: Call) -> Reply:
    """The limits; asking costs nothing."""
    core = call.world.quota.shape()
    search = {**core, "limit": 30, "remaining": 30, "used": 0}
    return Reply(200, {"resources": {"core": core, "search": search, "graphql": core}, "rate": core})


class _Search:
    """An issue search: qualifiers and words that must all hold."""

    def __init__(self, text: str) -> None:
        parts = [part.partition(":") for part in shlex.split(text)]
        self.words = [name.lower() for name, colon, _ in parts if not colon]
        self.qualifiers = [(name, value) for name, colon, value in parts if colon]

    def holds(self, repo: "FakeRepo", item: Issue) -> bool:
        text = f"{item.title}\n{item.body or ''}".lower()
        if any(word not in text for word in self.words):
            return False
        return all(self._one(repo, item, name, value) for name, value in self.qualifiers)

    def _one(self, repo: "FakeRepo", item: Issue, name: str, value: str) -> bool:
        facts: dict[str, tuple[str, ...]] = {
            "repo": (repo.full_name,),
            "is": (item.state, "pr" if item.pull else "issue"),
            "state": (item.state,),
            "type": ("pr" if item.pull else "issue",),
            "author": (item.user,),
            "label": tuple(item.labels),
            "in": ("title", "body"),
        }
        if name not in facts:
            raise invalid("Search", "q", "invalid", f"the fake does not know the qualifier {name!r}")
        return value.lower() in {fact.lower() for fact in facts[name]}


@ROUTES.on("GET", "/search/issues")
def search_issues(call: Call) -> Reply:
    """Issues and pull requests that a query finds."""
    if not call.query.get("q"):
        raise invalid("Search", "q", "missing")
    search = _Search(call.query["q"])
    seen = [repo for repo in call.world.repos.values() if not repo.private or call.actor.login]
    pairs = [(repo, item) for repo in seen for item in repo.issues.values() if search.holds(repo, item)]
    page = call.page(pairs, lambda pair: {**shapes.issue(*pair), "score": 1.0}, "items")
    return Reply(200, {**page.value, "incomplete_results": False, "search_type": "lexical"}, headers=page.headers)
