"""Pull requests: shapes, listings, files, diffs, merging."""

from typing import TYPE_CHECKING, Any

from tests.fakes.github import shapes
from tests.fakes.github.commits import commit_shape, diff_entry
from tests.fakes.github.diffs import unified
from tests.fakes.github.issues import REPO, check_body, set_state
from tests.fakes.github.records import Issue, Pull
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, invalid, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()
DIFF_TYPES = ("application/vnd.github.diff", "application/vnd.github.v3.diff", "application/vnd.github.patch")


def get_pull(call: Call) -> tuple[Issue, Pull]:
    """The pull request named in the path, with its issue."""
    found = call.repo.issues.get(call.number("pull_number"))
    if found is None or found.pull is None:
        raise not_found()
    return found, found.pull


def _end(repo: "FakeRepo", name: str | None, ref: str, sha: str) -> dict[str, Any]:
    on = repo.world.repos.get((name or "").lower())
    owner = on.owner if on else "unknown"
    whole = shapes.full_repo(on) if on else None
    return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "user": shapes.user(repo.world, owner), "repo": whole}


def _links(repo: "FakeRepo", issue: Issue, pull: Pull) -> dict[str, str]:
    url, html = f"{repo.url}/pulls/{pull.number}", shapes.issue_html_url(repo, issue)
    return {
        "url": url,
        "html_url": html,
        "diff_url": html + ".diff",
        "patch_url": html + ".patch",
        "issue_url": f"{repo.url}/issues/{pull.number}",
        "commits_url": url + "/commits",
        "review_comments_url": url + "/comments",
        "review_comment_url": f"{repo.url}/pulls/comments{{/number}}",
        "comments_url": f"{repo.url}/issues/{pull.number}/comments",
        "statuses_url": f"{repo.url}/statuses/{pull.head_sha}",
    }


def simple_pull(repo: "FakeRepo", issue: Issue, pull: Pull) -> dict[str, Any]:
    """A pull request as listings show it."""
    whole, links = shapes.issue(repo, issue), _links(repo, issue, pull)
    kept = "number state locked title user body labels milestone active_lock_reason created_at updated_at closed_at"
    kept += " assignee assignees author_association"
    named = ("comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment")
    return {
        **links,
        "id": pull.id,
        "node_id": repo.world.node_id("PR", pull.id),
        **{name: whole[name] for name in kept.split()},
        "merged_at": pull.merged_at,
        "merge_commit_sha": pull.merge_sha,
        "requested_reviewers": [shapes.user(repo.world, login) for login in pull.requested_reviewers],
        "requested_teams": [],
        "head": _end(repo, pull.head_repo, pull.head_ref, pull.head_sha),
        "base": _end(repo, repo.full_name, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": links[f"{name}_url"]} for name in named} | {"self": {"href": links["url"]}},
        "auto_merge": None,
        "draft": pull.draft,
    }


def full_pull(repo: "FakeRepo", issue: Issue, pull: Pull) -> dict[str, Any]:
    """A pull request as it is shown alone."""
    is_open = issue.state == "open"
    return {
        **simple_pull(repo, issue, pull),
        "merged": pull.merged_at is not None,
        "mergeable": True if is_open else None,
        "rebaseable": True if is_open else None,
        "mergeable_state": ("draft" if pull.draft else "clean") if is_open else "unknown",
        "merged_by": shapes.user(repo.world, pull.merged_by) if pull.merged_by else None,
        "comments": sum(one.issue_number == pull.number for one in repo.comments.values()),
        "review_comments": sum(one.pull_number == pull.number for one in repo.review_comments.values()),
        "maintainer_can_modify": False,
        "commits": len(pull.commits),
        "additions": sum(item.count("+") for item in pull.files),
        "deletions": sum(item.count("-") for item in pull.files),
        "changed_files": len(pull.files),
    }


@ROUTES.on("GET", f"{REPO}/pulls", "pull_requests")
def list_pulls(call: Call) -> Reply:
    """Pull requests, newest first; `head` is `owner:branch`."""
    state, base, head = (call.query.get(name) for name in ("state", "base", "head"))
    pairs = [
        (issue, issue.pull)
        for issue in call.repo.issues.values()
        if issue.pull is not None
        and (state or "open") in ("all", issue.state)
        and base in (None, issue.pull.base_ref)
        and head in (None, f"{(issue.pull.head_repo or '').partition('/')[0]}:{issue.pull.head_ref}")
    ]
    field = "updated_at" if call.query.get("sort") == "updated" else "created_at"
    default = "desc" if call.query.get("sort", "created") == "created" else "asc"
    reverse = call.query.get("direction", default) == "desc"
    pairs.sort(key=lambda pair: (getattr(pair[0], field), pair[0].number), reverse=reverse)
    return call.page(pairs, lambda pair: simple_pull(call.repo, *pair))


@ROUTES.on("POST", f"{REPO}/pulls", "pull_requests")
def create_pull(call: Call) -> Reply:
    """A new pull request from a branch of this repository or of a fork."""
    head, base, title = call.need("head", "base", "title")
    owner, _, branch = str(head).rpartition(":")
    if call.repo.git.refs.get(f"refs/heads/{base}") is None:
        raise invalid("PullRequest", "base", "invalid")
    tip = call.repo.git.refs.get(f"refs/heads/{branch}") if owner in ("", call.repo.owner) else None
    if tip is None:
        raise invalid("PullRequest", "head", "invalid")
    taken = [one for one in call.repo.pulls.values() if (one.head_ref, one.base_ref) == (branch, base)]
    if any(call.repo.issues[one.number].state == "open" for one in taken):
        message = f"A pull request already exists for {call.repo.owner}:{branch}."
        raise ApiError(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": message}])
    if tip in call.repo.git.ancestors(call.repo.sha(base)):
        message = f"No commits between {base} and {branch}"
        raise ApiError(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": message}])
    body = check_body(call.body.get("body") or "", "PullRequest", blank=True)
    draft = bool(call.body.get("draft", False))
    made = call.repo.add_pull(str(title), body, call.login, draft=draft, head_ref=branch, base_ref=base)
    shown = full_pull(call.repo, call.repo.issues[made.number], made)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/pulls/{{pull_number}}", "pull_requests")
def show_pull(call: Call) -> Reply:
    """One pull request, or its diff when the media type asks for it."""
    issue, pull = get_pull(call)
    accept = call.request.headers.get("accept", "")
    if accept.startswith(DIFF_TYPES):
        media = f"{accept.partition(',')[0]}; charset=utf-8"
        return Reply(200, raw=unified(pull.files).encode(), content_type=media)
    return Reply(200, full_pull(call.repo, issue, pull))


@ROUTES.on("PATCH", f"{REPO}/pulls/{{pull_number}}", "pull_requests")
def update_pull(call: Call) -> Reply:
    """Changed title, body, state or base."""
    issue, pull = get_pull(call)
    if call.body.get("title") is not None:
        issue.title = str(call.body["title"])
    if "body" in call.body:
        issue.body = check_body(call.body["body"] or "", "PullRequest", blank=True)
    if "state" in call.body:
        set_state(call, issue, call.body["state"], None)
    if "base" in call.body:
        pull.base_ref, pull.base_sha = call.body["base"], call.repo.sha(call.body["base"])
    issue.updated_at = call.world.clock.tick()
    return Reply(200, full_pull(call.repo, issue, pull))


@ROUTES.on("GET", f"{REPO}/pulls/{{pull_number}}/files", "pull_requests")
def list_files(call: Call) -> Reply:
    """The changed files."""
    pull = get_pull(call)[1]
    return call.page(pull.files, lambda item: diff_entry(call.repo, item, pull.head_sha))


@ROUTES.on("GET", f"{REPO}/pulls/{{pull_number}}/commits", "pull_requests")
def list_pull_commits(call: Call) -> Reply:
    """The commits, oldest first."""
    commits = [call.repo.git.commits[sha] for sha in get_pull(call)[1].commits]
    return call.page(commits, lambda one: commit_shape(call.repo, one))


@ROUTES.on("GET", f"{REPO}/commits/{{commit_sha}}/pulls", "pull_requests", "contents")
def list_pulls_of_commit(call: Call) -> Reply:
    """The pull requests that contain a commit."""
    sha = call.params["commit_sha"]
    pairs = [(issue, issue.pull) for issue in call.repo.issues.values() if issue.pull and sha in issue.pull.commits]
    return call.page(pairs, lambda pair: simple_pull(call.repo, *pair))


@ROUTES.on("PUT", f"{REPO}/pulls/{{pull_number}}/merge", "contents")
def merge_pull(call: Call) -> Reply:
    """A merged pull request; the head must be where the caller thinks it is."""
    issue, pull = get_pull(call)
    if issue.state != "open" or pull.draft:
        raise ApiError(405, "Pull Request is not mergeable")
    if call.body.get("sha") not in (None, pull.head_sha):
        raise ApiError(409, "Head branch was modified. Review and try the merge again.")
    call.repo.git.refs[f"refs/heads/{pull.base_ref}"] = pull.head_sha
    pull.merged_at, pull.merged_by, pull.merge_sha = call.world.clock.tick(), call.login, pull.head_sha
    set_state(call, issue, "closed", None)
    return Reply(200, {"sha": pull.head_sha, "merged": True, "message": "Pull Request successfully merged"})
