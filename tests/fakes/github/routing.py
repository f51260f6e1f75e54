"""Routes: OpenAPI path templates with the permission each needs, and the context a handler is called with."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from tests.fakes.github.wire import Actor, ApiError, Reply, Request, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo
    from tests.fakes.github.world import World

T = TypeVar("T")

# Parameters that GitHub lets run over slashes.
WIDE = {"path", "ref", "branch", "basehead", "name"}


@dataclass(frozen=True, slots=True)
class Call:
    """One routed request together with the world it acts on."""

    world: "World"
    request: Request
    actor: Actor
    params: Mapping[str, str]

    @property
    def repo(self) -> "FakeRepo":
        """The repository named in the path."""
        return self.world.repo(f"{self.params['owner']}/{self.params['repo']}", self.actor)

    @property
    def login(self) -> str:
        """The login the request acts as; writes are refused before this could be missing."""
        if self.actor.login is None:
            raise ApiError(401, "Requires authentication")
        return self.actor.login

    @property
    def query(self) -> Mapping[str, str]:
        """The query parameters."""
        return self.request.query

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        if self.request.body is None:
            return {}
        if not isinstance(self.request.body, dict):
            raise ApiError(400, "Body should be a JSON object")
        return self.request.body

    def number(self, name: str) -> int:
        """A path parameter that must be an integer."""
        if not self.params[name].isdigit():
            raise not_found()
        return int(self.params[name])

    def need(self, *names: str) -> list[Any]:
        """Required fields of the body, or GitHub's 422 naming the missing ones."""
        missing = [name for name in names if self.body.get(name) is None]
        if missing:
            listed = ", ".join(f'"{name}"' for name in missing)
            plural = "wasn't" if len(missing) == 1 else "weren't"
            raise ApiError(422, f"Invalid request.\n\n{listed} {plural} supplied.")
        return [self.body[name] for name in names]

    def page(self, items: Sequence[T], shape: Callable[[T], Any], wrap: str | None = None) -> Reply:
        """One page of a listing, with the `Link` header; `wrap` names the key of an object listing."""
        size = _positive(self.query.get("per_page"), 30, most=100)
        page = _positive(self.query.get("page"), 1)
        last = max(1, -(-len(items) // size))
        shown = [shape(item) for item in items[(page - 1) * size : page * size]]
        value: Any = shown if wrap is None else {"total_count": len(items), wrap: shown}
        links = {"prev": page - 1 if page > 1 else None, "next": page + 1 if page < last else None}
        links |= {"last": last if page < last else None, "first": 1 if page > 1 else None}
        header = ", ".join(self._link(rel, target) for rel, target in links.items() if target is not None)
        return Reply(200, value, headers={"Link": header} if header else {})

    def _link(self, rel: str, page: int) -> str:
        query = urlencode({**self.query, "page": page})
        return f'<{self.world.url}{self.request.path}?{query}>; rel="{rel}"'


def _positive(text: str | None, default: int, most: int | None = None) -> int:
    # GitHub falls back to the default on nonsense instead of refusing it.
    value = int(text) if text is not None and text.isdigit() and int(text) > 0 else default
    return value if most is None else min(value, most)


Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint: OpenAPI template, needed permission alternatives, handler."""

    method: str
    template: str
    scopes: tuple[str, ...]
    guarded: bool
    handler: Handler
    pattern: re.Pattern[str]

    @property
    def level(self) -> str:
        """The level of permission it takes."""
        return "read" if self.method == "GET" else "write"

    def allow(self, call: Call) -> None:
        """Refuse a call whose token lacks the permission; public things are read by anybody unless guarded."""
        if self.method == "GET" and not self.guarded and self._public(call):
            return
        if call.actor.login is None:
            raise ApiError(401, "Requires authentication")
        if not any(call.actor.may(scope, self.level) for scope in self.scopes):
            wanted = "; ".join(f"{scope}={self.level}" for scope in self.scopes)
            raise ApiError(
                403,
                "Resource not accessible by integration",
                headers={"X-Accepted-GitHub-Permissions": wanted},
            )

    def _public(self, call: Call) -> bool:
        return "owner" not in call.params or not call.repo.private


class RouteTable:
    """The endpoints of one family."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def on(self, method: str, template: str, *scopes: str, guarded: bool = False) -> Callable[[Handler], Handler]:
        """Register a handler; `scopes` are alternatives, one of them is enough."""

        def register(handler: Handler) -> Handler:
            pattern = re.compile(_regex(template))
            self.routes.append(Route(method, template, scopes or ("metadata",), guarded, handler, pattern))
            return handler

        return register

    def __iter__(self) -> Iterator[Route]:
        return iter(self.routes)


def _regex(template: str) -> str:
    def one(found: re.Match[str]) -> str:
        name = found.group(1)
        return f"(?P<{name}>{'.*' if name == 'path' else '.+' if name in WIDE else '[^/]+'})"

    return re.sub(r"\{(\w+)\}", one, template)


def find(routes: Sequence[Route], method: str, path: str) -> tuple[Route, Mapping[str, str]] | None:
    """The route of a request; fixed segments win over parameters, and narrow parameters over wide ones."""
    hits = [(route, hit) for route in routes if route.method == method and (hit := route.pattern.fullmatch(path))]
    if not hits:
        return None
    route, hit = min(hits, key=lambda pair: _looseness(pair[0].template))
    return route, hit.groupdict()


def _looseness(template: str) -> tuple[int, int]:
    names = re.findall(r"\{(\w+)\}", template)
    return sum(name in WIDE for name in names) * 10 - template.count("/"), len(names)
