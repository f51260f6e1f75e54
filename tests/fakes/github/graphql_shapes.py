"""GraphQL views of the state: plain mappings, with functions where a field takes arguments."""

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError

from tests.fakes.github import shapes
from tests.fakes.github.records import Comment, Discussion, DiscussionComment, Issue, ReviewComment, Thread

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo
    from tests.fakes.github.world import World

View = dict[str, Any]
REASONS = {"OFF_TOPIC": "off-topic"}


def failure(kind: str, message: str) -> GraphQLError:
    """An error with GitHub's `type`."""
    return GraphQLError(message, extensions={"type": kind})


def actor(world: "World", login: str) -> View:
    """A user or bot; GraphQL names bots without their suffix."""
    account = world.user(login)
    kind = "Bot" if account.type == "Bot" else "User"
    shown = shapes.user_record(world, account)
    bare = account.login.removesuffix("[bot]")
    return {
        "__typename": kind,
        "id": shown["node_id"],
        "databaseId": account.id,
        "login": bare,
        "url": shown["html_url"],
    }


def connection(items: Sequence[Any], view: Callable[[Any], View]) -> Callable[..., View]:
    """A field that gives pages; a cursor is the place of an item."""

    def resolve(
        _info: Any,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        skip: int = 0,
    ) -> View:
        if (first is None) == (last is None):
            raise failure("MISSING_PAGINATION_BOUNDARIES", "You must provide one of `first` or `last`.")
        if not 1 <= (first or last or 0) <= 100:
            raise failure("EXCESSIVE_PAGINATION", "`first` and `last` must be between 1 and 100.")
        start = (_place(after) + 1 if after else 0) + skip
        end = _place(before) if before else len(items)
        if first is not None:
            end = min(end, start + first)
        elif last is not None:
            start = max(start, end - last)
        shown = items[start:end]
        info: View = {"hasNextPage": end < len(items), "hasPreviousPage": start > 0}
        info |= {"startCursor": _cursor(start) if shown else None, "endCursor": _cursor(end - 1) if shown else None}
        return {"totalCount": len(items), "nodes": [view(item) for item in shown], "pageInfo": info}

    return resolve


def _cursor(place: int) -> str:
    return base64.b64encode(f"cursor:{place}".encode()).decode()


def _place(cursor: str) -> int:
    try:
        return int(base64.b64decode(cursor).decode().removeprefix("cursor:"))
    except ValueError as problem:
        raise failure("INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor.") from problem


def repository(repo: "FakeRepo", viewer: str) -> View:
    """A repository."""

    def numbered(table: dict[int, Any], view: Callable[..., View], kind: str) -> Callable[..., View]:
        def resolve(_info: Any, number: int) -> View:
            if table.get(number) is None:
                raise failure("NOT_FOUND", f"Could not resolve to {kind} with the number of {number}.")
            return view(repo, table[number], viewer)

        return resolve

    issues = {number: item for number, item in repo.issues.items() if item.pull is None}
    pulls = {number: item for number, item in repo.issues.items() if item.pull is not None}
    return {
        "__typename": "Repository",
        "id": repo.world.node_id("R", repo.id),
        "name": repo.name,
        "nameWithOwner": repo.full_name,
        "isPrivate": repo.private,
        "url": repo.html_url,
        "issue": numbered(issues, issue, "an Issue"),
        "pullRequest": numbered(pulls, pull_request, "a PullRequest"),
        "discussion": numbered(repo.discussions, discussion, "a Discussion"),
    }


def issue(repo: "FakeRepo", item: Issue, viewer: str) -> View:
    """An issue, or what a pull request shares with one."""
    comments = [one for one in repo.comments.values() if one.issue_number == item.number]
    return {
        "__typename": "Issue",
        "id": shapes.issue(repo, item)["node_id"],
        "databaseId": item.id,
        "number": item.number,
        "title": item.title,
        "body": item.body or "",
        "url": shapes.issue_html_url(repo, item),
        "state": item.state.upper(),
        "author": actor(repo.world, item.user),
        "comments": connection(comments, lambda one: issue_comment(repo, one, viewer)),
    }


def pull_request(repo: "FakeRepo", item: Issue, viewer: str) -> View:
    """A pull request."""
    pull = repo.pulls[item.number]
    threads = [one for one in repo.threads.values() if one.pull_number == item.number]
    return {
        **issue(repo, item, viewer),
        "__typename": "PullRequest",
        "state": "MERGED" if pull.merged_at else item.state.upper(),
        "isDraft": pull.draft,
        "headRefName": pull.head_ref,
        "headRefOid": pull.head_sha,
        "baseRefName": pull.base_ref,
        "baseRefOid": pull.base_sha,
        "reviewThreads": connection(threads, lambda one: thread(repo, one, viewer)),
    }


def thread(repo: "FakeRepo", record: Thread, viewer: str) -> View:
    """A review thread."""
    comments = [one for one in repo.review_comments.values() if one.thread_id == record.id]
    resolved = record.resolved_by is not None
    return {
        "__typename": "PullRequestReviewThread",
        "id": record.id,
        "path": record.path,
        "line": record.line,
        "originalLine": record.line,
        "startLine": record.start_line,
        "diffSide": record.side,
        "subjectType": record.subject_type.upper(),
        "isResolved": resolved,
        "isOutdated": record.outdated,
        "isCollapsed": resolved,
        "resolvedBy": _resolver(repo, record),
        "viewerCanReply": True,
        "viewerCanResolve": not resolved,
        "viewerCanUnresolve": resolved,
        "pullRequest": lambda _info: pull_request(repo, repo.issues[record.pull_number], viewer),
        "comments": connection(comments, lambda one: review_comment(repo, one, viewer)),
    }


def _resolver(repo: "FakeRepo", record: Thread) -> View | None:
    # The field is a User in GitHub's schema, so a bot that resolved a thread is not named.
    if record.resolved_by is None or repo.world.user(record.resolved_by).type == "Bot":
        return None
    return actor(repo.world, record.resolved_by)


def _comment(repo: "FakeRepo", record: Comment | ReviewComment, prefix: str, viewer: str) -> View:
    return {
        "id": repo.world.node_id(prefix, record.id),
        "databaseId": record.id,
        "fullDatabaseId": str(record.id),
        "body": record.body,
        "author": actor(repo.world, record.user),
        "authorAssociation": repo.association(record.user),
        "createdAt": record.created_at,
        "updatedAt": record.updated_at,
        "isMinimized": record.minimized_reason is not None,
        "minimizedReason": REASONS.get(record.minimized_reason or "", (record.minimized_reason or "").lower()) or None,
        "viewerDidAuthor": record.user == viewer,
    }


def issue_comment(repo: "FakeRepo", record: Comment, viewer: str) -> View:
    """A comment on an issue or pull request."""
    url = shapes.comment(repo, record)["html_url"]
    return {**_comment(repo, record, "IC", viewer), "__typename": "IssueComment", "url": url}


def review_comment(repo: "FakeRepo", record: ReviewComment, viewer: str) -> View:
    """A comment in a review thread."""
    parent = repo.review_comments.get(record.in_reply_to or 0)
    return {
        **_comment(repo, record, "PRRC", viewer),
        "__typename": "PullRequestReviewComment",
        "url": f"{repo.html_url}/pull/{record.pull_number}#discussion_r{record.id}",
        "path": record.path,
        "line": record.line,
        "startLine": record.start_line,
        "diffHunk": record.diff_hunk,
        "outdated": repo.threads[record.thread_id].outdated,
        "replyTo": (lambda _info: review_comment(repo, parent, viewer)) if parent else None,
    }


def discussion(repo: "FakeRepo", record: Discussion, viewer: str) -> View:
    """A discussion."""
    return {
        "__typename": "Discussion",
        "id": repo.world.node_id("D", record.id),
        "databaseId": record.id,
        "number": record.number,
        "title": record.title,
        "body": record.body,
        "url": f"{repo.html_url}/discussions/{record.number}",
        "author": actor(repo.world, record.user),
        "createdAt": record.created_at,
        "comments": connection(record.comments, lambda one: discussion_comment(repo, record, one, viewer)),
    }


def discussion_comment(repo: "FakeRepo", on: Discussion, record: DiscussionComment, viewer: str) -> View:
    """A comment on a discussion."""
    parent = next((one for one in on.comments if repo.world.node_id("DC", one.id) == record.reply_to), None)
    return {
        "__typename": "DiscussionComment",
        "id": repo.world.node_id("DC", record.id),
        "databaseId": record.id,
        "body": record.body,
        "url": f"{repo.html_url}/discussions/{on.number}#discussioncomment-{record.id}",
        "author": actor(repo.world, record.user),
        "createdAt": record.created_at,
        "replyTo": (lambda _info: discussion_comment(repo, on, parent, viewer)) if parent else None,
    }
