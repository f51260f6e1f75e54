"""Issues, their comments and their locks."""

from typing import Any

from tests.fakes.github import shapes
from tests.fakes.github.records import Comment, Issue
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, invalid, not_found

ROUTES = RouteTable()
BODY_LIMIT = 65_536
REPO = "/repos/{owner}/{repo}"
EITHER = ("issues", "pull_requests")


def get_issue(call: Call, parameter: str = "issue_number") -> Issue:
    """The issue named in the path."""
    found = call.repo.issues.get(call.number(parameter))
    if found is None:
        raise not_found()
    if found.pull is None and not call.repo.has_issues:
        raise ApiError(410, "Issues has been disabled in this repository.")
    return found


def get_comment(call: Call) -> Comment:
    """The comment named in the path."""
    found = call.repo.comments.get(call.number("comment_id"))
    if found is None:
        raise not_found()
    return found


def check_body(body: Any, resource: str, *, blank: bool = False) -> str:
    """A text field within GitHub's limits."""
    if not isinstance(body, str):
        raise ApiError(422, "Invalid request.\n\nFor 'properties/body', " + f"{body!r} is not a string.")
    if not blank and not body.strip():
        raise invalid(resource, "data", "unprocessable", "Body cannot be blank")
    if len(body) > BODY_LIMIT:
        raise invalid(resource, "body", "custom", f"body is too long (maximum is {BODY_LIMIT} characters)")
    return body


def check_unlocked(call: Call, item: Issue) -> None:
    """A locked conversation takes comments only from those who can write."""
    if item.locked and call.repo.role(call.login) in ("none", "read", "triage") and call.actor.permissions is not None:
        raise ApiError(403, "Unable to create comment because issue is locked.")


def _moment(record: Issue | Comment, field: str) -> str:
    return record.updated_at if field == "updated" else record.created_at


def sort_listing(call: Call, items: list[Any], default_direction: str) -> list[Any]:
    """Items in the order and from the moment the query asks for."""
    since = call.query.get("since")
    kept = [item for item in items if since is None or item.updated_at >= since]
    reverse = call.query.get("direction", default_direction) == "desc"
    return sorted(kept, key=lambda item: (_moment(item, call.query.get("sort", "created")), item.id), reverse=reverse)


@ROUTES.on("GET", f"{REPO}/issues", "issues")
def list_issues(call: Call) -> Reply:
    """Issues and pull requests, newest first."""
    state = call.query.get("state", "open")
    wanted = {name.lower() for name in call.query.get("labels", "").split(",") if name}
    creator = call.query.get("creator")
    items = [
        item
        for item in call.repo.issues.values()
        if state in ("all", item.state)
        and wanted <= {name.lower() for name in item.labels}
        and creator in (None, item.user)
    ]
    return call.page(sort_listing(call, items, "desc"), lambda item: shapes.issue(call.repo, item))


@ROUTES.on("POST", f"{REPO}/issues", "issues")
def create_issue(call: Call) -> Reply:
    """A new issue by the token's user."""
    if not call.repo.has_issues:
        raise ApiError(410, "Issues has been disabled in this repository.")
    (title,) = call.need("title")
    if not str(title).strip():
        raise invalid("Issue", "title", "missing_field")
    body = check_body(call.body.get("body") or "", "Issue", blank=True)
    names = [item if isinstance(item, str) else item["name"] for item in call.body.get("labels") or []]
    made = call.repo.add_issue(str(title), body, call.login, labels=names)
    made.assignees = list(call.body.get("assignees") or [])
    shown = shapes.issue(call.repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/issues/{{issue_number}}", *EITHER)
def show_issue(call: Call) -> Reply:
    """One issue or pull request."""
    return Reply(200, shapes.issue(call.repo, get_issue(call)))


@ROUTES.on("PATCH", f"{REPO}/issues/{{issue_number}}", *EITHER)
def update_issue(call: Call) -> Reply:
    """Changed title, body, state, labels or assignees."""
    item, sent = get_issue(call), call.body
    if sent.get("title") is not None:
        item.title = str(sent["title"])
    if "body" in sent:
        item.body = check_body(sent["body"] or "", "Issue", blank=True)
    if "state" in sent:
        set_state(call, item, sent["state"], sent.get("state_reason"))
    if "labels" in sent:
        names = [one if isinstance(one, str) else one["name"] for one in sent["labels"]]
        item.labels = [call.repo.add_label(name).name for name in names]
    if "assignees" in sent:
        item.assignees = list(sent["assignees"])
    item.updated_at = call.world.clock.tick()
    return Reply(200, shapes.issue(call.repo, item))


def set_state(call: Call, item: Issue, state: Any, reason: Any) -> None:
    """Open or close an issue or pull request."""
    if state not in ("open", "closed"):
        raise invalid("Issue", "state", "invalid")
    closing = state == "closed"
    item.state = state
    item.state_reason = reason or ("completed" if closing and item.pull is None else None)
    item.closed_at = call.world.clock.stamp() if closing else None
    item.closed_by = call.login if closing else None


@ROUTES.on("PUT", f"{REPO}/issues/{{issue_number}}/lock", *EITHER)
def lock_issue(call: Call) -> Reply:
    """A locked conversation."""
    item = get_issue(call)
    item.locked, item.lock_reason = True, call.body.get("lock_reason")
    return Reply(204)


@ROUTES.on("DELETE", f"{REPO}/issues/{{issue_number}}/lock", *EITHER)
def unlock_issue(call: Call) -> Reply:
    """A conversation open again."""
    item = get_issue(call)
    item.locked, item.lock_reason = False, None
    return Reply(204)


@ROUTES.on("GET", f"{REPO}/issues/comments", *EITHER)
def list_all_comments(call: Call) -> Reply:
    """The comments of all issues."""
    items = sort_listing(call, list(call.repo.comments.values()), "asc")
    return call.page(items, lambda one: shapes.comment(call.repo, one))


@ROUTES.on("GET", f"{REPO}/issues/{{issue_number}}/comments", *EITHER)
def list_comments(call: Call) -> Reply:
    """The comments of one issue, oldest first."""
    number, since = get_issue(call).number, call.query.get("since", "")
    items = [one for one in call.repo.comments.values() if one.issue_number == number and one.updated_at >= since]
    return call.page(items, lambda one: shapes.comment(call.repo, one))


@ROUTES.on("POST", f"{REPO}/issues/{{issue_number}}/comments", *EITHER)
def create_comment(call: Call) -> Reply:
    """A new comment by the token's user."""
    item = get_issue(call)
    check_unlocked(call, item)
    (body,) = call.need("body")
    made = call.repo.add_comment(item.number, check_body(body, "IssueComment"), call.login)
    shown = shapes.comment(call.repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/issues/comments/{{comment_id}}", *EITHER)
def show_comment(call: Call) -> Reply:
    """One comment."""
    return Reply(200, shapes.comment(call.repo, get_comment(call)))


@ROUTES.on("PATCH", f"{REPO}/issues/comments/{{comment_id}}", *EITHER)
def update_comment(call: Call) -> Reply:
    """A comment with a new body."""
    found = get_comment(call)
    (body,) = call.need("body")
    found.body = check_body(body, "IssueComment")
    found.updated_at = call.world.clock.tick()
    return Reply(200, shapes.comment(call.repo, found))


@ROUTES.on("DELETE", f"{REPO}/issues/comments/{{comment_id}}", *EITHER)
def delete_comment(call: Call) -> Reply:
    """The comment is gone."""
    del call.repo.comments[get_comment(call).id]
    return Reply(204)
