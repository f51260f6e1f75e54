"""Check runs, check suites and commit statuses."""

from typing import TYPE_CHECKING, Any

from tests.fakes.github import shapes
from tests.fakes.github.commits import get_commit, simple_commit
from tests.fakes.github.issues import BODY_LIMIT, REPO
from tests.fakes.github.records import CheckRun, CheckSuite, Status
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, invalid, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()
ANNOTATION_LIMIT = 50
CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out")
ANNOTATION_FIELDS = ("start_column", "end_column", "title", "raw_details")


def app_shape(repo: "FakeRepo") -> dict[str, Any]:
    """The app that owns all check runs here: GitHub Actions."""
    return {
        "id": 15368,
        "slug": "github-actions",
        "node_id": "A_github_actions",
        "owner": shapes.user(repo.world, "github"),
        "name": "GitHub Actions",
        "description": None,
        "external_url": f"{repo.world.url}/features/actions",
        "html_url": f"{repo.world.url}/apps/github-actions",
        "created_at": repo.created_at,
        "updated_at": repo.created_at,
        "permissions": {"checks": "write", "contents": "read", "issues": "write", "metadata": "read"},
        "events": [],
    }


def pulls_of(repo: "FakeRepo", sha: str) -> list[dict[str, Any]]:
    """The open pull requests of this repository with a head commit, in their smallest shape."""
    place = {"repo": {"id": repo.id, "url": repo.url, "name": repo.name}}
    return [
        {
            "id": one.id,
            "number": one.number,
            "url": f"{repo.url}/pulls/{one.number}",
            "head": {"ref": one.head_ref, "sha": one.head_sha, **place},
            "base": {"ref": one.base_ref, "sha": one.base_sha, **place},
        }
        for one in repo.pulls.values()
        if one.head_sha == sha and one.head_repo == repo.full_name and repo.issues[one.number].state == "open"
    ]


def run_shape(repo: "FakeRepo", record: CheckRun) -> dict[str, Any]:
    """A check run."""
    url = f"{repo.url}/check-runs/{record.id}"
    html = f"{repo.html_url}/runs/{record.id}"
    output = {"title": record.title, "summary": record.summary, "text": record.text}
    return {
        "id": record.id,
        "head_sha": record.head_sha,
        "node_id": repo.world.node_id("CR", record.id),
        "external_id": record.external_id,
        "url": url,
        "html_url": html,
        "details_url": record.details_url or html,
        "status": record.status,
        "conclusion": record.conclusion,
        "started_at": record.started_at,
        "completed_at": record.completed_at,
        "output": {
            **output,
            "annotations_count": len(record.annotations),
            "annotations_url": url + "/annotations",
        },
        "name": record.name,
        "check_suite": {"id": record.suite_id},
        "app": app_shape(repo),
        "pull_requests": pulls_of(repo, record.head_sha),
    }


def suite_shape(repo: "FakeRepo", record: CheckSuite) -> dict[str, Any]:
    """A check suite; its state follows from its runs."""
    runs = [one for one in repo.check_runs.values() if one.suite_id == record.id]
    done = bool(runs) and all(one.status == "completed" for one in runs)
    failed = any(one.conclusion in ("failure", "timed_out", "action_required") for one in runs)
    return {
        "id": record.id,
        "node_id": repo.world.node_id("CS", record.id),
        "head_branch": record.head_branch,
        "head_sha": record.head_sha,
        "status": "completed" if done else "queued",
        "conclusion": ("failure" if failed else "success") if done else None,
        "url": f"{repo.url}/check-suites/{record.id}",
        "before": None,
        "after": record.head_sha,
        "pull_requests": pulls_of(repo, record.head_sha),
        "app": app_shape(repo),
        "repository": shapes.minimal_repo(repo),
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "head_commit": simple_commit(repo, record.head_sha),
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{repo.url}/check-suites/{record.id}/check-runs",
    }


def suite_for(repo: "FakeRepo", sha: str) -> CheckSuite:
    """The suite of a commit, made on first use."""
    for one in repo.suites.values():
        if one.head_sha == sha:
            return one
    branch = next((ref for ref, tip in repo.git.refs.items() if tip == sha and ref.startswith("refs/heads/")), None)
    now = repo.world.clock.tick()
    made = CheckSuite(repo.world.next_id(), sha, branch and branch.removeprefix("refs/heads/"), now, now)
    repo.suites[made.id] = made
    return made


def _run(call: Call) -> CheckRun:
    found = call.repo.check_runs.get(call.number("check_run_id"))
    if found is None:
        raise not_found()
    return found


def _annotation(repo: "FakeRepo", sha: str, sent: dict[str, Any]) -> dict[str, Any]:
    for name in ("path", "start_line", "end_line", "annotation_level", "message"):
        if sent.get(name) is None:
            raise ApiError(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
    if sent["annotation_level"] not in ("notice", "warning", "failure"):
        raise invalid("CheckAnnotation", "annotation_level", "invalid")
    if sent["start_line"] != sent["end_line"] and ("start_column" in sent or "end_column" in sent):
        message = "start_column and end_column can only be used on a single line"
        raise invalid("CheckAnnotation", "start_column", "custom", message)
    kept = {name: sent[name] for name in ("path", "start_line", "end_line", "annotation_level", "message")}
    rest = {name: sent.get(name) for name in ANNOTATION_FIELDS}
    return {**kept, **rest, "blob_href": f"{repo.html_url}/blob/{sha}/{sent['path']}"}


def _check_output(output: dict[str, Any]) -> None:
    if output.get("summary") is None:
        raise ApiError(422, 'Invalid request.\n\n"summary" wasn\'t supplied.')
    for name in ("summary", "text"):
        if len((output.get(name) or "").encode()) >= BODY_LIMIT:
            message = f"{name} exceeds a maximum bytesize of {BODY_LIMIT - 1}"
            raise invalid("CheckRun", name, "custom", message)
    count = len(output.get("annotations") or [])
    if count > ANNOTATION_LIMIT:
        raise ApiError(
            422,
            "Invalid request.\n\nNo more than 50 items are allowed; "
            f"{count} were supplied for 'properties/output/properties/annotations'.",
        )


def _apply(call: Call, run: CheckRun) -> None:
    """What create and update share; everything is checked before anything changes."""
    sent = call.body
    output: dict[str, Any] = sent.get("output") or {}
    if output:
        _check_output(output)
    if sent.get("conclusion") not in (None, *CONCLUSIONS):
        raise invalid("CheckRun", "conclusion", "invalid")
    if sent.get("status") == "completed" and not (sent.get("conclusion") or run.conclusion):
        raise ApiError(422, 'Invalid request.\n\n"conclusion" wasn\'t supplied.')
    added = [_annotation(call.repo, run.head_sha, one) for one in output.get("annotations") or []]
    for name in ("name", "details_url", "external_id", "status", "started_at"):
        if sent.get(name) is not None:
            setattr(run, name, sent[name])
    for name in ("title", "summary", "text"):
        if name in output:
            setattr(run, name, output[name])
    run.annotations += added
    if sent.get("conclusion"):
        run.conclusion, run.status = sent["conclusion"], "completed"
        run.completed_at = sent.get("completed_at") or call.world.clock.tick()


@ROUTES.on("POST", f"{REPO}/check-runs", "checks")
def create_check_run(call: Call) -> Reply:
    """A new check run."""
    name, sha = call.need("name", "head_sha")
    commit = get_commit(call.repo, sha)
    if commit.sha != sha:
        raise ApiError(422, f"No commit found for SHA: {sha}")
    suite = suite_for(call.repo, sha)
    run = CheckRun(call.world.next_id(), suite.id, name, sha, call.world.clock.tick())
    _apply(call, run)
    call.repo.check_runs[run.id] = run
    shown = run_shape(call.repo, run)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("PATCH", f"{REPO}/check-runs/{{check_run_id}}", "checks")
def update_check_run(call: Call) -> Reply:
    """A check run with new state; annotations are added to those that are there."""
    run = _run(call)
    _apply(call, run)
    return Reply(200, run_shape(call.repo, run))


@ROUTES.on("GET", f"{REPO}/check-runs/{{check_run_id}}", "checks")
def show_check_run(call: Call) -> Reply:
    """One check run."""
    return Reply(200, run_shape(call.repo, _run(call)))


@ROUTES.on("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", "checks")
def list_annotations(call: Call) -> Reply:
    """The annotations of a check run."""
    return call.page(_run(call).annotations, dict)


def _page_runs(call: Call, runs: list[CheckRun]) -> Reply:
    name, status = call.query.get("check_name"), call.query.get("status")
    kept = [one for one in runs if name in (None, one.name) and status in (None, one.status)]
    if call.query.get("filter", "latest") == "latest":
        kept = list({one.name: one for one in kept}.values())
    return call.page(kept, lambda one: run_shape(call.repo, one), "check_runs")


@ROUTES.on("GET", f"{REPO}/commits/{{ref}}/check-runs", "checks")
def list_check_runs(call: Call) -> Reply:
    """The check runs of a commit; the latest of each name unless all are asked for."""
    sha = get_commit(call.repo, call.params["ref"]).sha
    return _page_runs(call, [one for one in call.repo.check_runs.values() if one.head_sha == sha])


@ROUTES.on("GET", f"{REPO}/check-suites/{{check_suite_id}}/check-runs", "checks")
def list_runs_of_suite(call: Call) -> Reply:
    """The check runs of a suite."""
    number = call.number("check_suite_id")
    if number not in call.repo.suites:
        raise not_found()
    return _page_runs(call, [one for one in call.repo.check_runs.values() if one.suite_id == number])


@ROUTES.on("GET", f"{REPO}/commits/{{ref}}/check-suites", "checks")
def list_suites(call: Call) -> Reply:
    """The check suites of a commit."""
    sha = get_commit(call.repo, call.params["ref"]).sha
    found = [one for one in call.repo.suites.values() if one.head_sha == sha]
    return call.page(found, lambda one: suite_shape(call.repo, one), "check_suites")


@ROUTES.on("GET", f"{REPO}/check-suites/{{check_suite_id}}", "checks")
def show_suite(call: Call) -> Reply:
    """One check suite."""
    found = call.repo.suites.get(call.number("check_suite_id"))
    if found is None:
        raise not_found()
    return Reply(200, suite_shape(call.repo, found))


def status_shape(repo: "FakeRepo", record: Status) -> dict[str, Any]:
    """A commit status."""
    creator = shapes.user(repo.world, record.creator)
    return {
        "url": f"{repo.url}/statuses/{record.sha}",
        "avatar_url": creator["avatar_url"],
        "id": record.id,
        "node_id": repo.world.node_id("SC", record.id),
        "state": record.state,
        "description": record.description,
        "target_url": record.target_url,
        "context": record.context,
        "created_at": record.created_at,
        "updated_at": record.created_at,
        "creator": creator,
    }


@ROUTES.on("POST", f"{REPO}/statuses/{{sha}}", "statuses")
def create_status(call: Call) -> Reply:
    """A new commit status."""
    (state,), sha = call.need("state"), get_commit(call.repo, call.params["sha"]).sha
    if state not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state", "invalid")
    context, sent = call.body.get("context", "default"), call.body
    made = Status(
        *(call.world.next_id(), sha, state, context, sent.get("description"), sent.get("target_url")),
        *(call.login, call.world.clock.tick()),
    )
    call.repo.statuses.append(made)
    shown = status_shape(call.repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/statuses/{{ref}}", "statuses")
@ROUTES.on("GET", f"{REPO}/commits/{{ref}}/statuses", "statuses")
def list_statuses(call: Call) -> Reply:
    """The statuses of a commit, newest first; clients still use the older address too."""
    sha = get_commit(call.repo, call.params["ref"]).sha
    found = [one for one in reversed(call.repo.statuses) if one.sha == sha]
    return call.page(found, lambda one: status_shape(call.repo, one))


@ROUTES.on("GET", f"{REPO}/commits/{{ref}}/status", "statuses")
def combined_status(call: Call) -> Reply:
    """The latest status of each context, and what they come to."""
    repo, sha = call.repo, get_commit(call.repo, call.params["ref"]).sha
    latest = list({one.context: one for one in repo.statuses if one.sha == sha}.values())
    states = {one.state for one in latest}
    state = "failure" if states & {"error", "failure"} else "success" if states == {"success"} else "pending"
    page = call.page(latest, lambda one: status_shape(repo, one))
    value = {"state": state, "statuses": page.value, "sha": sha, "total_count": len(latest)}
    links = {"commit_url": f"{repo.url}/commits/{sha}", "url": f"{repo.url}/commits/{sha}/status"}
    return Reply(200, {**value, **links, "repository": shapes.minimal_repo(repo)}, headers=page.headers)
