"""Reviews and inline review comments."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.fakes.github import shapes
from tests.fakes.github.diffs import Anchor, anchor_at, find_anchor
from tests.fakes.github.issues import REPO, check_body, sort_listing
from tests.fakes.github.pulls import get_pull, simple_pull
from tests.fakes.github.records import Pull, Review, ReviewComment, Thread
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, invalid, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()
PULL = f"{REPO}/pulls/{{pull_number}}"
STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


class OffDiffError(Exception):
    """A comment's place is not in the diff; `messages` say in what way."""

    def __init__(self, *messages: str) -> None:
        super().__init__(", ".join(messages))
        self.messages = messages


def review_shape(repo: "FakeRepo", record: Review) -> dict[str, Any]:
    """A review."""
    pull_url = f"{repo.url}/pulls/{record.pull_number}"
    html = f"{repo.html_url}/pull/{record.pull_number}#pullrequestreview-{record.id}"
    shown = {
        "id": record.id,
        "node_id": repo.world.node_id("PRR", record.id),
        "user": shapes.user(repo.world, record.user),
        "body": record.body,
        "state": record.state,
        "html_url": html,
        "pull_request_url": pull_url,
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        "commit_id": record.commit_id,
        "author_association": repo.association(record.user),
    }
    return shown if record.submitted_at is None else {**shown, "submitted_at": record.submitted_at}


def comment_shape(repo: "FakeRepo", record: ReviewComment) -> dict[str, Any]:
    """A review comment; a file comment has no line."""
    url, pull_url = f"{repo.url}/pulls/comments/{record.id}", f"{repo.url}/pulls/{record.pull_number}"
    html = f"{repo.html_url}/pull/{record.pull_number}#discussion_r{record.id}"
    links = {"self": url, "html": html, "pull_request": pull_url}
    shown = {
        "url": url,
        "pull_request_review_id": record.review_id,
        "id": record.id,
        "node_id": repo.world.node_id("PRRC", record.id),
        "diff_hunk": record.diff_hunk,
        "path": record.path,
        "commit_id": record.commit_id,
        "original_commit_id": record.commit_id,
        "user": shapes.user(repo.world, record.user),
        "body": record.body,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": repo.association(record.user),
        "_links": {name: {"href": target} for name, target in links.items()},
        "reactions": shapes.rollup(record.reactions, url),
        "subject_type": record.subject_type,
        "side": record.side,
        "position": record.position or 1,
        "original_position": record.position or 1,
        "start_line": record.start_line,
        "original_start_line": record.start_line,
        "start_side": record.start_side,
    }
    if record.line is not None:
        shown |= {"line": record.line, "original_line": record.line}
    return shown if record.in_reply_to is None else {**shown, "in_reply_to_id": record.in_reply_to}


def get_review(call: Call) -> Review:
    """The review named in the path."""
    pull = get_pull(call)[1]
    found = call.repo.reviews.get(call.number("review_id"))
    if found is None or found.pull_number != pull.number:
        raise not_found()
    return found


def get_review_comment(call: Call) -> ReviewComment:
    """The review comment named in the path."""
    found = call.repo.review_comments.get(call.number("comment_id"))
    if found is None:
        raise not_found()
    return found


def _place(pull: Pull, sent: dict[str, Any]) -> tuple[Anchor, dict[str, Any]]:
    """Where a comment hangs, checked against the diff."""
    patch = next((item.patch for item in pull.files if item.filename == sent["path"]), None)
    side = sent.get("side") or "RIGHT"
    if sent.get("line") is None and sent.get("position") is not None:
        found = anchor_at(patch, sent["position"])
        line = None if found is None else found.right if found.right is not None else found.left
        side = "LEFT" if found is not None and found.right is None else "RIGHT"
    else:
        line = sent.get("line")
        found = None if line is None else find_anchor(patch, line, side)
    if found is None:
        raise OffDiffError("line must be part of the diff", "diff hunk can't be blank")
    place = {"line": line, "side": side, "position": found.position, "diff_hunk": found.text}
    start = sent.get("start_line")
    if start is not None:
        start_side = sent.get("start_side") or side
        first = find_anchor(patch, start, start_side)
        if start_side == side and start >= (line or 0):
            raise OffDiffError("start line must precede the end line.")
        if first is None or first.hunk != found.hunk:
            raise OffDiffError("start line must be part of the same hunk as the line.")
        place |= {"start_line": start, "start_side": start_side}
    return found, place


def add_thread(repo: "FakeRepo", pull: Pull, sent: dict[str, Any], login: str, review_id: int | None) -> ReviewComment:
    """A new thread with its first comment; raises OffDiffError when its place is not in the diff."""
    place: dict[str, Any] = {}
    if sent.get("subject_type") == "file":
        if all(item.filename != sent["path"] for item in pull.files):
            raise OffDiffError("path must be part of the diff")
        place = {"subject_type": "file"}
    else:
        place = _place(pull, sent)[1]
    now, made_id = repo.world.clock.tick(), repo.world.next_id()
    thread_id = repo.world.node_id("PRRT", made_id)
    commit = sent.get("commit_id") or pull.head_sha
    made = ReviewComment(
        *(made_id, pull.number, review_id, thread_id, sent["path"], sent["body"], login, commit, now, now), **place
    )
    repo.review_comments[made.id] = made
    repo.threads[thread_id] = Thread(
        *(thread_id, pull.number, made.path, made.line, made.side, made.subject_type, made.start_line)
    )
    return made


def add_reply(repo: "FakeRepo", parent: ReviewComment, body: str, login: str) -> ReviewComment:
    """A further comment in a thread, with a review of its own as on GitHub."""
    root = repo.review_comments.get(parent.in_reply_to or parent.id, parent)
    review = add_review(repo, repo.pulls[root.pull_number], "", "COMMENTED", login)
    now = repo.world.clock.tick()
    made = replace(
        root,
        id=repo.world.next_id(),
        review_id=review.id,
        in_reply_to=root.id,
        body=body,
        user=login,
        created_at=now,
        updated_at=now,
        reactions=[],
        minimized_reason=None,
    )
    repo.review_comments[made.id] = made
    return made


def add_review(repo: "FakeRepo", pull: Pull, body: str, state: str, login: str, commit: str | None = None) -> Review:
    """A review; a pending one has no submission time."""
    now = None if state == "PENDING" else repo.world.clock.tick()
    made = Review(repo.world.next_id(), pull.number, login, body, state, commit or pull.head_sha, now)
    repo.reviews[made.id] = made
    return made


def _check_verdict(call: Call, event: Any, body: str, *, has_comments: bool) -> None:
    issue = get_pull(call)[0]
    if event not in STATES:
        raise ApiError(422, f"Variable $event of type PullRequestReviewEvent was provided invalid value: {event}")
    if event in ("APPROVE", "REQUEST_CHANGES") and issue.user == call.login:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise ApiError(422, "Unprocessable Entity", [f"Can not {verb} your own pull request"])
    if not body.strip() and (event == "REQUEST_CHANGES" or (event == "COMMENT" and not has_comments)):
        raise ApiError(422, "Unprocessable Entity", ["Review body can't be blank"])


@ROUTES.on("GET", f"{PULL}/reviews", "pull_requests")
def list_reviews(call: Call) -> Reply:
    """The reviews in order; a pending one is seen only by its author."""
    number = get_pull(call)[1].number
    seen = [one for one in call.repo.reviews.values() if one.pull_number == number]
    seen = [one for one in seen if one.state != "PENDING" or one.user == call.actor.login]
    return call.page(seen, lambda one: review_shape(call.repo, one))


@ROUTES.on("POST", f"{PULL}/reviews", "pull_requests")
def create_review(call: Call) -> Reply:
    """A review with its comments, all or nothing; without an event it stays pending."""
    pull, event, comments = get_pull(call)[1], call.body.get("event"), call.body.get("comments") or []
    body = check_body(call.body.get("body") or "", "PullRequestReview", blank=True)
    if event is not None:
        _check_verdict(call, event, body, has_comments=bool(comments))
    elif any(one.state == "PENDING" and one.user == call.login for one in call.repo.reviews.values()):
        raise ApiError(422, "Unprocessable Entity", ["User can only have one pending review per pull request"])
    for one in comments:
        check_body(one.get("body"), "PullRequestReviewComment")
    try:
        for one in comments:
            _place(pull, one)
    except OffDiffError as problem:
        texts = [f"Pull request review thread {text}" for text in problem.messages]
        raise ApiError(422, "Unprocessable Entity", [" and ".join(texts)]) from problem
    state = "PENDING" if event is None else STATES[event]
    review = add_review(call.repo, pull, body, state, call.login, call.body.get("commit_id"))
    for one in comments:
        add_thread(call.repo, pull, one, call.login, review.id)
    return Reply(200, review_shape(call.repo, review))


@ROUTES.on("GET", f"{PULL}/reviews/{{review_id}}", "pull_requests")
def show_review(call: Call) -> Reply:
    """One review."""
    return Reply(200, review_shape(call.repo, get_review(call)))


@ROUTES.on("PUT", f"{PULL}/reviews/{{review_id}}", "pull_requests")
def update_review(call: Call) -> Reply:
    """A review with a new summary."""
    (body,) = call.need("body")
    review = get_review(call)
    review.body = check_body(body, "PullRequestReview")
    return Reply(200, review_shape(call.repo, review))


@ROUTES.on("DELETE", f"{PULL}/reviews/{{review_id}}", "pull_requests")
def delete_review(call: Call) -> Reply:
    """A pending review is gone; a submitted one cannot be deleted."""
    review = get_review(call)
    if review.state != "PENDING":
        raise ApiError(422, "Unprocessable Entity", ["Can not delete a non-pending pull request review"])
    del call.repo.reviews[review.id]
    for one in [one for one in call.repo.review_comments.values() if one.review_id == review.id]:
        del call.repo.review_comments[one.id]
        call.repo.threads.pop(one.thread_id, None)
    return Reply(200, review_shape(call.repo, review))


@ROUTES.on("GET", f"{PULL}/reviews/{{review_id}}/comments", "pull_requests")
def list_comments_of_review(call: Call) -> Reply:
    """The comments of one review."""
    review = get_review(call)
    found = [one for one in call.repo.review_comments.values() if one.review_id == review.id]
    return call.page(found, lambda one: comment_shape(call.repo, one))


@ROUTES.on("POST", f"{PULL}/reviews/{{review_id}}/events", "pull_requests")
def submit_review(call: Call) -> Reply:
    """A pending review, submitted."""
    (event,), review = call.need("event"), get_review(call)
    body = check_body(call.body.get("body") or review.body, "PullRequestReview", blank=True)
    if review.state != "PENDING":
        raise ApiError(422, "Unprocessable Entity", ["Can not submit a review that is not pending"])
    owned = any(one.review_id == review.id for one in call.repo.review_comments.values())
    _check_verdict(call, event, body, has_comments=owned)
    review.body, review.state, review.submitted_at = body, STATES[event], call.world.clock.tick()
    return Reply(200, review_shape(call.repo, review))


@ROUTES.on("PUT", f"{PULL}/reviews/{{review_id}}/dismissals", "pull_requests")
def dismiss_review(call: Call) -> Reply:
    """A review that no longer counts."""
    call.need("message")
    review = get_review(call)
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise ApiError(422, "Unprocessable Entity", ["Can not dismiss a commented pull request review"])
    review.state = "DISMISSED"
    return Reply(200, review_shape(call.repo, review))


@ROUTES.on("GET", f"{REPO}/pulls/comments", "pull_requests")
def list_all_review_comments(call: Call) -> Reply:
    """The review comments of all pull requests."""
    items = sort_listing(call, list(call.repo.review_comments.values()), "asc")
    return call.page(items, lambda one: comment_shape(call.repo, one))


@ROUTES.on("GET", f"{PULL}/comments", "pull_requests")
def list_review_comments(call: Call) -> Reply:
    """The review comments of one pull request, oldest first."""
    number = get_pull(call)[1].number
    items = [one for one in call.repo.review_comments.values() if one.pull_number == number]
    return call.page(sort_listing(call, items, "asc"), lambda one: comment_shape(call.repo, one))


@ROUTES.on("POST", f"{PULL}/comments", "pull_requests")
def create_review_comment(call: Call) -> Reply:
    """A single comment on a line, a range or a file, or an answer through `in_reply_to`."""
    pull = get_pull(call)[1]
    if call.body.get("in_reply_to") is not None:
        return _reply(call, call.body["in_reply_to"])
    body, commit, _ = call.need("body", "commit_id", "path")
    check_body(body, "PullRequestReviewComment")
    if commit not in call.repo.git.commits:
        raise invalid("PullRequestReviewComment", "commit_id", "custom", "commit_id is not part of the pull request")
    review = add_review(call.repo, pull, "", "COMMENTED", call.login)
    try:
        made = add_thread(call.repo, pull, call.body, call.login, review.id)
    except OffDiffError as problem:
        del call.repo.reviews[review.id]
        message = f"pull_request_review_thread.{problem.messages[0]}"
        field = message.partition(" must ")[0]
        raise invalid("PullRequestReviewComment", field, "custom", message) from problem
    shown = comment_shape(call.repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


def _reply(call: Call, parent_id: int) -> Reply:
    (body,) = call.need("body")
    parent = call.repo.review_comments.get(parent_id)
    if parent is None or parent.pull_number != call.number("pull_number"):
        raise not_found()
    made = add_reply(call.repo, parent, check_body(body, "PullRequestReviewComment"), call.login)
    shown = comment_shape(call.repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("POST", f"{PULL}/comments/{{comment_id}}/replies", "pull_requests")
def reply_to_comment(call: Call) -> Reply:
    """An answer in a thread."""
    return _reply(call, call.number("comment_id"))


@ROUTES.on("GET", f"{REPO}/pulls/comments/{{comment_id}}", "pull_requests")
def show_review_comment(call: Call) -> Reply:
    """One review comment."""
    return Reply(200, comment_shape(call.repo, get_review_comment(call)))


@ROUTES.on("PATCH", f"{REPO}/pulls/comments/{{comment_id}}", "pull_requests")
def update_review_comment(call: Call) -> Reply:
    """A review comment with a new body."""
    (body,), found = call.need("body"), get_review_comment(call)
    found.body = check_body(body, "PullRequestReviewComment")
    found.updated_at = call.world.clock.tick()
    return Reply(200, comment_shape(call.repo, found))


@ROUTES.on("DELETE", f"{REPO}/pulls/comments/{{comment_id}}", "pull_requests")
def delete_review_comment(call: Call) -> Reply:
    """The review comment is gone, and its thread when it was the last."""
    found = get_review_comment(call)
    del call.repo.review_comments[found.id]
    if all(one.thread_id != found.thread_id for one in call.repo.review_comments.values()):
        call.repo.threads.pop(found.thread_id, None)
    return Reply(204)


@ROUTES.on("POST", f"{PULL}/requested_reviewers", "pull_requests")
def request_reviewers(call: Call) -> Reply:
    """More requested reviewers."""
    issue, pull = get_pull(call)
    pull.requested_reviewers = list(dict.fromkeys([*pull.requested_reviewers, *call.body.get("reviewers", [])]))
    return Reply(201, simple_pull(call.repo, issue, pull))
