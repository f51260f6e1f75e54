"""The GraphQL endpoint: threads, minimising and discussions, executed by graphql-core on a part of GitHub's schema."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync

from tests.fakes.github import graphql_shapes as views
from tests.fakes.github.clock import stamp
from tests.fakes.github.graphql_shapes import View, failure
from tests.fakes.github.records import DiscussionComment
from tests.fakes.github.reviews import OffDiffError, add_reply, add_review, add_thread
from tests.fakes.github.wire import Actor, ApiError, Reply, Request

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo
    from tests.fakes.github.world import World

SCHEMA_PATH = Path(__file__).with_name("schema.graphql")


@cache
def schema() -> GraphQLSchema:
    """The served part of GitHub's schema."""
    return build_schema(SCHEMA_PATH.read_text())


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that a node identifier means."""

    repo: "FakeRepo"
    record: Any
    view: View


class Root:
    """Resolvers of the root fields for one request."""

    def __init__(self, world: "World", actor: Actor) -> None:
        self.world = world
        self.actor = actor
        self.login = actor.login or ""

    def _all(self) -> Iterator[Found]:
        for repo in self.world.repos.values():
            yield Found(repo, repo, views.repository(repo, self.login))
            for item in repo.issues.values():
                view = views.pull_request if item.pull else views.issue
                yield Found(repo, item, view(repo, item, self.login))
            for thread in repo.threads.values():
                yield Found(repo, thread, views.thread(repo, thread, self.login))
            for inline in repo.review_comments.values():
                yield Found(repo, inline, views.review_comment(repo, inline, self.login))
            for comment in repo.comments.values():
                yield Found(repo, comment, views.issue_comment(repo, comment, self.login))
            for talk in repo.discussions.values():
                yield Found(repo, talk, views.discussion(repo, talk, self.login))
                for one in talk.comments:
                    yield Found(repo, one, views.discussion_comment(repo, talk, one, self.login))

    def _find(self, node_id: str, kind: str | None = None) -> Found:
        for found in self._all():
            if found.view["id"] == node_id and kind in (None, found.view["__typename"]):
                return found
        raise failure("NOT_FOUND", f"Could not resolve to a node with the global id of '{node_id}'")

    def _allow(self, *scopes: str) -> None:
        if not any(self.actor.may(scope, "write") for scope in scopes):
            raise failure("FORBIDDEN", "Resource not accessible by integration")

    def node(self, _info: Any, id: str) -> View:  # noqa: A002 - the schema's name
        """Any object by its identifier."""
        return self._find(id).view

    def nodes(self, _info: Any, ids: list[str]) -> list[View]:
        """Several objects by their identifiers."""
        return [self._find(one).view for one in ids]

    def repository(self, _info: Any, owner: str, name: str, followRenames: bool = True) -> View:  # noqa: N803
        """A repository by name."""
        repo = self.world.repos.get(f"{owner}/{name}".lower())
        if repo is None:
            raise failure("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return views.repository(repo, self.login)

    def viewer(self, _info: Any) -> View:
        """The token's account."""
        return views.actor(self.world, self.login)

    def rateLimit(self, _info: Any, dryRun: bool = False) -> View:  # noqa: N802, N803 - the schema's names
        """The limit, as REST shows it."""
        quota = self.world.quota.shape()
        reset = stamp(datetime.fromtimestamp(quota.pop("reset"), UTC))
        return {**quota, "cost": 1, "nodeCount": 0, "resetAt": reset}

    def resolveReviewThread(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """A resolved thread."""
        return self._resolution(input, self.login)

    def unresolveReviewThread(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """A thread open again."""
        return self._resolution(input, None)

    def _resolution(self, sent: View, login: str | None) -> View:
        self._allow("pull_requests")
        found = self._find(sent["threadId"], "PullRequestReviewThread")
        found.record.resolved_by = login
        return _answer(sent, thread=views.thread(found.repo, found.record, self.login))

    def minimizeComment(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """A hidden comment."""
        return _answer(input, minimizedComment=self._minimise(input["subjectId"], input["classifier"]))

    def unminimizeComment(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """A comment shown again."""
        return _answer(input, unminimizedComment=self._minimise(input["subjectId"], None))

    def _minimise(self, node_id: str, reason: str | None) -> View:
        self._allow("issues", "pull_requests")
        found = self._find(node_id)
        if found.view["__typename"] not in ("IssueComment", "PullRequestReviewComment"):
            raise failure("NOT_FOUND", f"Could not resolve to a Minimizable with the global id of '{node_id}'")
        found.record.minimized_reason = reason
        return self._find(node_id).view

    def addPullRequestReviewThread(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """A new thread; unlike REST, this endpoint wants its review or pull request by node identifier."""
        self._allow("pull_requests")
        if input.get("pullRequestId") is None:
            raise failure("UNPROCESSABLE", "pullRequestId must be provided to the fake")
        found = self._find(input["pullRequestId"], "PullRequest")
        repo, pull = found.repo, found.repo.pulls[found.record.number]
        names = {"startLine": "start_line", "startSide": "start_side", "subjectType": "subject_type"}
        sent = {names.get(name, name): value for name, value in input.items()}
        sent["subject_type"] = sent.get("subject_type", "LINE").lower()
        review = add_review(repo, pull, "", "PENDING", self.login)
        try:
            made = add_thread(repo, pull, sent, self.login, review.id)
        except OffDiffError:
            # GitHub answers without an error and without a thread here.
            del repo.reviews[review.id]
            return _answer(input, thread=None)
        return _answer(input, thread=views.thread(repo, repo.threads[made.thread_id], self.login))

    def addPullRequestReviewThreadReply(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """An answer in a thread."""
        self._allow("pull_requests")
        found = self._find(input["pullRequestReviewThreadId"], "PullRequestReviewThread")
        first = next(one for one in found.repo.review_comments.values() if one.thread_id == found.record.id)
        made = add_reply(found.repo, first, input["body"], self.login)
        return _answer(input, comment=views.review_comment(found.repo, made, self.login))

    def addDiscussionComment(self, _info: Any, input: View) -> View:  # noqa: A002, N802
        """A comment on a discussion."""
        self._allow("discussions")
        found = self._find(input["discussionId"], "Discussion")
        if not input["body"].strip():
            raise failure("UNPROCESSABLE", "Body can't be blank")
        made = DiscussionComment(
            *(self.world.next_id(), input["body"], self.login, self.world.clock.tick(), input.get("replyToId"))
        )
        found.record.comments.append(made)
        return _answer(input, comment=views.discussion_comment(found.repo, found.record, made, self.login))


def _answer(sent: View, **fields: Any) -> View:
    return {"clientMutationId": sent.get("clientMutationId"), **fields}


def _error(problem: GraphQLError) -> View:
    shown = dict(problem.formatted)
    extensions: Any = shown.pop("extensions", None) or {}
    # GitHub puts the type beside the message, not under `extensions`.
    return {**({"type": extensions["type"]} if "type" in extensions else {}), **shown}


def answer(world: "World", request: Request, actor: Actor) -> Reply:
    """Execute one GraphQL request; errors come with status 200 as on GitHub."""
    if actor.login is None:
        raise ApiError(401, "This endpoint requires you to be authenticated.")
    sent = request.body
    if not isinstance(sent, dict) or not isinstance(sent.get("query"), str):
        raise ApiError(400, "A query attribute must be specified and must be a string.")
    result = graphql_sync(
        schema(),
        sent["query"],
        root_value=Root(world, actor),
        variable_values=sent.get("variables"),
        operation_name=sent.get("operationName"),
    )
    value: View = {} if result.data is None and result.errors else {"data": result.data}
    if result.errors:
        value["errors"] = [_error(problem) for problem in result.errors]
    return Reply(200, value)
