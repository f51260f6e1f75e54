"""From a request to a reply: authentication, limits, faults, routing, conditional requests."""

import hashlib
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from tests.fakes.github import (
    actions,
    checks,
    commits,
    contents,
    gitdata,
    graphql_api,
    issues,
    labels,
    people,
    pulls,
    reactions,
    reviews,
)
from tests.fakes.github.faults import Fault
from tests.fakes.github.oidc import PATH as OIDC_PATH
from tests.fakes.github.oidc import Oidc
from tests.fakes.github.routing import Call, Route, find
from tests.fakes.github.wire import ApiError, Exchange, Reply, Request, not_found
from tests.fakes.github.world import World

FAMILIES = (issues, labels, reactions, pulls, reviews, checks, commits, gitdata, contents, actions, people)
ROUTES: tuple[Route, ...] = tuple(route for family in FAMILIES for route in family.ROUTES)
FREE = ("/rate_limit", OIDC_PATH)
MUTATING = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the transport must do: send `reply`, cut it short, or hang up."""

    reply: Reply
    drop: bool = False
    truncate: int | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """A reply with what is known about how it came about."""

    reply: Reply
    actor: str | None = None
    template: str | None = None
    params: Mapping[str, str] | None = None


class Service:
    """The behaviour of the server without its sockets."""

    def __init__(self, world: World, observe: Callable[[Exchange], None]) -> None:
        self.world = world
        self.oidc = Oidc(world)
        self._observe = observe
        self._request_ids = itertools.count(1)

    def handle(self, request: Request) -> Outcome:
        """Answer one request and record the exchange."""
        fault = self.world.faults.take(request)
        if fault is not None and fault.delay:
            time.sleep(fault.delay)
        with self.world.lock:
            answer, scripted = self._decide(request, fault)
            reply = self._finish(request, answer.reply, scripted=scripted)
            self._observe(self._exchange(request, replace(answer, reply=reply), scripted=scripted))
        return Outcome(reply) if fault is None else Outcome(reply, fault.drop, fault.truncate)

    def _decide(self, request: Request, fault: Fault | None) -> tuple[_Answer, bool]:
        scripted = fault.reply() if fault is not None else None
        if fault is not None and (scripted is not None or fault.drop):
            lost = scripted or Reply(502, {"message": "connection dropped"})
            seen = self._answer(request) if fault.after_commit else self._locate(request)
            # What took effect counts as done whatever the client was told.
            done = seen.reply.status if fault.after_commit and seen.reply.status < 400 else None
            headers = {**lost.headers, **({} if done is None else {"X-Fake-Committed": str(done)})}
            return replace(seen, reply=replace(lost, headers=headers)), True
        if request.path not in FREE and not self.world.quota.take(1):
            return replace(self._locate(request), reply=self.world.quota.refusal()), True
        return self._answer(request), fault is not None

    def _locate(self, request: Request) -> _Answer:
        """Whom and what a request meant, when it is not carried out."""
        hit = find(ROUTES, request.method, request.path)
        known = self.world.tokens.get(request.headers.get("authorization", "").partition(" ")[2])
        found = _Answer(Reply(), known.login if known else None)
        return found if hit is None else replace(found, template=hit[0].template, params=_decode(hit[1]))

    def _answer(self, request: Request) -> _Answer:
        located = self._locate(request)
        try:
            return replace(located, reply=self._route(request))
        except ApiError as problem:
            return replace(located, reply=problem.reply())

    def _route(self, request: Request) -> Reply:
        if request.path == OIDC_PATH:
            return self.oidc.answer(request)
        if request.path.startswith("/_downloads/"):
            return self._download(request)
        actor = self.world.actor(request.headers.get("authorization"))
        if isinstance(request.body, ValueError):
            raise ApiError(400, "Problems parsing JSON")
        if (request.method, request.path) == ("POST", "/graphql"):
            return graphql_api.answer(self.world, request, actor)
        hit = find(ROUTES, request.method, request.path)
        if hit is None:
            raise not_found()
        call = Call(self.world, request, actor, _decode(hit[1]))
        hit[0].allow(call)
        return hit[0].handler(call)

    def _download(self, request: Request) -> Reply:
        # Storage refuses a request that carries a token besides its signed address.
        if "authorization" in request.headers:
            raise ApiError(400, "Only one authentication mechanism is allowed")
        found = self.world.downloads.get(request.path.removeprefix("/_downloads/"))
        if found is None:
            raise not_found()
        return Reply(200, raw=found[1], content_type=found[0])

    def _finish(self, request: Request, reply: Reply, *, scripted: bool) -> Reply:
        headers = {"X-GitHub-Request-Id": f"FA4E:{next(self._request_ids):06X}", "X-GitHub-Media-Type": "github.v3"}
        headers |= {**self.world.quota.headers(), **reply.headers}
        if request.method == "GET" and reply.status == 200 and not scripted:
            tag = f'W/"{hashlib.sha256(reply.encoded()).hexdigest()}"'
            headers["ETag"] = tag
            if _same(request.headers.get("if-none-match"), tag):
                self.world.quota.remaining += 1
                return Reply(304, raw=b"", headers={**headers, **self.world.quota.headers()})
        return replace(reply, headers=headers)

    def _exchange(self, request: Request, answer: _Answer, *, scripted: bool) -> Exchange:
        hidden = {"authorization": "***"} if "authorization" in request.headers else {}
        return Exchange(
            method=request.method,
            path=request.path,
            query=request.query,
            headers={**request.headers, **hidden},
            body=None if isinstance(request.body, ValueError) else request.body,
            raw_body=request.raw,
            status=answer.reply.status,
            response_headers={**answer.reply.headers, "Content-Type": answer.reply.content_type},
            response_body=answer.reply.encoded(),
            actor=answer.actor,
            template=answer.template,
            params=answer.params or {},
            scripted=scripted,
        )


def _same(sent: str | None, tag: str) -> bool:
    return sent is not None and tag.removeprefix("W/") in re.findall(r'"[^"]*"', sent)


def _decode(params: Mapping[str, str]) -> dict[str, str]:
    return {name: unquote(value) for name, value in params.items()}


def is_write(exchange: Exchange) -> bool:
    """Whether an exchange changed the state: a successful mutation, or one whose answer was lost afterwards."""
    if exchange.method not in MUTATING or exchange.path == OIDC_PATH:
        return False
    if exchange.path == "/graphql":
        return _is_mutation(exchange)
    if exchange.scripted and exchange.status >= 400:
        return "X-Fake-Committed" in exchange.response_headers
    return exchange.status < 400


def _is_mutation(exchange: Exchange) -> bool:
    sent = exchange.body if isinstance(exchange.body, dict) else {}
    if not re.search(r"\bmutation\b", str(sent.get("query", ""))) or exchange.status >= 400:
        return False
    return "errors" not in json.loads(exchange.response_body)
