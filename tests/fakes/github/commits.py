"""Commits, branches and comparisons."""

from typing import TYPE_CHECKING, Any

from tests.fakes.github import shapes
from tests.fakes.github.diffs import unified
from tests.fakes.github.gitstore import Commit
from tests.fakes.github.issues import REPO
from tests.fakes.github.records import PullFile
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()
UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def get_commit(repo: "FakeRepo", ref: str) -> Commit:
    """The commit a ref means, or GitHub's 422."""
    found = repo.git.resolve(ref)
    if found is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    return found


def commit_shape(repo: "FakeRepo", commit: Commit) -> dict[str, Any]:
    """A commit with its author's account."""
    url, html = f"{repo.url}/commits/{commit.sha}", f"{repo.html_url}/commit"
    return {
        "url": url,
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "html_url": f"{html}/{commit.sha}",
        "comments_url": url + "/comments",
        "commit": {
            "url": f"{repo.url}/git/commits/{commit.sha}",
            "author": commit.author.shape(),
            "committer": commit.committer.shape(),
            "message": commit.message,
            "comment_count": 0,
            "tree": {"sha": commit.tree, "url": f"{repo.url}/git/trees/{commit.tree}"},
            "verification": UNSIGNED,
        },
        "author": _account(repo, commit.author.name),
        "committer": _account(repo, commit.committer.name),
        "parents": [
            {"sha": sha, "url": f"{repo.url}/commits/{sha}", "html_url": f"{html}/{sha}"} for sha in commit.parents
        ],
    }


def diff_entry(repo: "FakeRepo", item: PullFile, sha: str) -> dict[str, Any]:
    """A changed file."""
    added, removed = item.count("+"), item.count("-")
    blob = item.sha or repo.git.add_blob((item.content or item.patch or "").encode())
    shown = {
        "sha": blob,
        "filename": item.filename,
        "status": item.status,
        "additions": added,
        "deletions": removed,
        "changes": added + removed,
        "blob_url": f"{repo.html_url}/blob/{sha}/{item.filename}",
        "raw_url": f"{repo.html_url}/raw/{sha}/{item.filename}",
        "contents_url": f"{repo.url}/contents/{item.filename}?ref={sha}",
    }
    if item.patch is not None:
        shown["patch"] = item.patch
    if item.previous_filename is not None:
        shown["previous_filename"] = item.previous_filename
    return shown


def _account(repo: "FakeRepo", name: str) -> dict[str, Any] | None:
    # An author without an account is null in GitHub's answers.
    return shapes.user(repo.world, name) if name.lower() in repo.world.users else None


def simple_commit(repo: "FakeRepo", sha: str) -> dict[str, Any]:
    """A commit as check suites and workflow runs nest it."""
    commit = repo.git.commits[sha]
    people = {"author": commit.author, "committer": commit.committer}
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": commit.committer.date,
        **{role: {"name": one.name, "email": one.email} for role, one in people.items()},
    }


def _with_files(call: Call, commit: Commit) -> dict[str, Any]:
    parent = commit.parents[0] if commit.parents else None
    repo = call.repo
    files = repo.changes(parent, commit.sha) if parent else []
    entries = [diff_entry(repo, item, commit.sha) for item in files]
    added, removed = sum(one["additions"] for one in entries), sum(one["deletions"] for one in entries)
    stats = {"additions": added, "deletions": removed, "total": added + removed}
    return {**commit_shape(repo, commit), "stats": stats, "files": entries}


@ROUTES.on("GET", f"{REPO}/commits", "contents")
def list_commits(call: Call) -> Reply:
    """The history of a branch, newest first."""
    start = call.repo.git.resolve(call.query.get("sha", call.repo.default_branch))
    if start is None:
        raise not_found()
    history = [call.repo.git.commits[sha] for sha in call.repo.git.ancestors(start.sha)]
    if path := call.query.get("path"):
        history = [one for one in history if any(item.filename == path for item in _changed(call.repo, one))]
    return call.page(history, lambda one: commit_shape(call.repo, one))


def _changed(repo: "FakeRepo", commit: Commit) -> list[Any]:
    return repo.changes(commit.parents[0], commit.sha) if commit.parents else []


@ROUTES.on("GET", f"{REPO}/commits/{{ref}}", "contents")
def show_commit(call: Call) -> Reply:
    """One commit with its files, or its diff when the media type asks for it."""
    commit = get_commit(call.repo, call.params["ref"])
    accept = call.request.headers.get("accept", "")
    if ".diff" in accept:
        return Reply(200, raw=unified(_changed(call.repo, commit)).encode(), content_type=f"{accept}; charset=utf-8")
    return Reply(200, _with_files(call, commit))


@ROUTES.on("GET", f"{REPO}/branches", "contents")
def list_branches(call: Call) -> Reply:
    """The branches by name."""
    heads = sorted(name for name in call.repo.git.refs if name.startswith("refs/heads/"))

    def shape(ref: str) -> dict[str, Any]:
        sha = call.repo.git.refs[ref]
        commit = {"sha": sha, "url": f"{call.repo.url}/commits/{sha}"}
        return {"name": ref.removeprefix("refs/heads/"), "commit": commit, "protected": False}

    return call.page(heads, shape)


@ROUTES.on("GET", f"{REPO}/branches/{{branch}}", "contents")
def show_branch(call: Call) -> Reply:
    """One branch."""
    name, repo = call.params["branch"], call.repo
    sha = repo.git.refs.get(f"refs/heads/{name}")
    if sha is None:
        raise ApiError(404, "Branch not found")
    links = {"html": f"{repo.html_url}/tree/{name}", "self": f"{repo.url}/branches/{name}"}
    return Reply(
        200,
        {
            "name": name,
            "commit": commit_shape(repo, repo.git.commits[sha]),
            "_links": links,
            "protected": False,
            "protection": {"enabled": False},
            "protection_url": f"{links['self']}/protection",
        },
    )


@ROUTES.on("GET", f"{REPO}/compare/{{basehead}}", "contents")
def compare(call: Call) -> Reply:
    """How two commits stand to each other, from their merge base."""
    repo, basehead = call.repo, call.params["basehead"]
    ends = [repo.git.resolve(name.rpartition(":")[2]) for name in basehead.split("...")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise not_found()
    base, head = ends[0], ends[1]
    start = repo.git.merge_base(base.sha, head.sha)
    if start is None:
        raise ApiError(404, f"No common ancestor in {basehead}.")
    files = _stated_files(repo, base.sha, head.sha) or repo.changes(base.sha, head.sha)
    accept = call.request.headers.get("accept", "")
    if ".diff" in accept:
        return Reply(200, raw=unified(files).encode(), content_type=f"{accept}; charset=utf-8")
    before, after = repo.git.ancestors(base.sha), repo.git.ancestors(head.sha)
    ahead = [repo.git.commits[sha] for sha in reversed(after) if sha not in before]
    page = call.page(ahead, lambda one: commit_shape(repo, one))
    shown = {
        **_comparison_links(repo, basehead, f"{base.sha}...{head.sha}"),
        "base_commit": commit_shape(repo, base),
        "merge_base_commit": commit_shape(repo, repo.git.commits[start]),
        **_standing(len(ahead), sum(sha not in after for sha in before)),
        "commits": page.value,
        "files": [diff_entry(repo, item, head.sha) for item in files],
    }
    return Reply(200, shown, headers=page.headers)


def _stated_files(repo: "FakeRepo", base: str, head: str) -> list[PullFile] | None:
    # A pull request whose files a test wrote by hand has no trees to compare.
    return next((one.files for one in repo.pulls.values() if (one.base_sha, one.head_sha) == (base, head)), None)


def _comparison_links(repo: "FakeRepo", basehead: str, exact: str) -> dict[str, str]:
    html = f"{repo.html_url}/compare/{basehead}"
    return {
        "url": f"{repo.url}/compare/{basehead}",
        "html_url": html,
        "permalink_url": f"{repo.html_url}/compare/{exact}",
        "diff_url": html + ".diff",
        "patch_url": html + ".patch",
    }


def _standing(ahead: int, behind: int) -> dict[str, Any]:
    names = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind", (False, False): "identical"}
    status = names[bool(ahead), bool(behind)]
    return {"status": status, "ahead_by": ahead, "behind_by": behind, "total_commits": ahead}
