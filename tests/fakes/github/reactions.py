"""Reactions on issues, issue comments and review comments."""

from collections.abc import Callable

from tests.fakes.github import shapes
from tests.fakes.github.issues import EITHER, REPO, get_comment, get_issue
from tests.fakes.github.records import Reaction
from tests.fakes.github.reviews import get_review_comment
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import Reply, invalid, not_found

ROUTES = RouteTable()


def _listing(find: Callable[[Call], list[Reaction]]) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        wanted = call.query.get("content")
        found = [one for one in find(call) if wanted in (None, one.content)]
        return call.page(found, lambda one: shapes.reaction(call.repo, one))

    return handler


def _creation(find: Callable[[Call], list[Reaction]]) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        (content,) = call.need("content")
        if content not in shapes.REACTIONS:
            raise invalid("Reaction", "content", "invalid")
        known = find(call)
        for one in known:
            # A repeated reaction is answered with 200 and the one that is there.
            if (one.user, one.content) == (call.login, content):
                return Reply(200, shapes.reaction(call.repo, one))
        made = Reaction(call.world.next_id(), call.login, content, call.world.clock.tick())
        known.append(made)
        return Reply(201, shapes.reaction(call.repo, made))

    return handler


def _removal(find: Callable[[Call], list[Reaction]]) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        known = find(call)
        for one in known:
            if one.id == call.number("reaction_id"):
                known.remove(one)
                return Reply(204)
        raise not_found()

    return handler


for _path, _scopes, _find in (
    (f"{REPO}/issues/{{issue_number}}/reactions", EITHER, lambda call: get_issue(call).reactions),
    (f"{REPO}/issues/comments/{{comment_id}}/reactions", EITHER, lambda call: get_comment(call).reactions),
    (
        f"{REPO}/pulls/comments/{{comment_id}}/reactions",
        ("pull_requests",),
        lambda call: get_review_comment(call).reactions,
    ),
):
    ROUTES.on("GET", _path, *_scopes)(_listing(_find))
    ROUTES.on("POST", _path, *_scopes)(_creation(_find))
    ROUTES.on("DELETE", _path + "/{reaction_id}", *_scopes)(_removal(_find))
