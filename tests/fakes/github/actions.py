"""Workflow runs, jobs, logs and artifacts."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.fakes.github import shapes
from tests.fakes.github.checks import pulls_of, suite_for
from tests.fakes.github.clock import stamp
from tests.fakes.github.commits import simple_commit
from tests.fakes.github.issues import REPO
from tests.fakes.github.records import Artifact, Job, Run
from tests.fakes.github.repo import make_zip
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()
RUN = f"{REPO}/actions/runs/{{run_id}}"


def get_run(call: Call) -> Run:
    """The run named in the path."""
    found = call.repo.runs.get(call.number("run_id"))
    if found is None:
        raise not_found()
    return found


def run_shape(repo: "FakeRepo", run: Run) -> dict[str, Any]:
    """A workflow run."""
    url, suite = f"{repo.url}/actions/runs/{run.id}", suite_for(repo, run.head_sha)
    head = repo.world.repos.get(run.head_repo.lower(), repo)
    links = ("jobs", "logs", "artifacts", "cancel", "rerun")
    return {
        "id": run.id,
        "name": run.name,
        "node_id": repo.world.node_id("WFR", run.id),
        "check_suite_id": suite.id,
        "check_suite_node_id": repo.world.node_id("CS", suite.id),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": run.path,
        "display_title": repo.git.commits[run.head_sha].message,
        "run_number": run.run_number,
        "run_attempt": run.run_attempt,
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.workflow_id,
        "url": url,
        "html_url": f"{repo.html_url}/actions/runs/{run.id}",
        "pull_requests": [one for one in pulls_of(repo, run.head_sha) if one["number"] in run.pull_numbers],
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "run_started_at": run.created_at,
        "actor": shapes.user(repo.world, run.actor),
        "triggering_actor": shapes.user(repo.world, run.actor),
        "referenced_workflows": [],
        **{f"{name}_url": f"{url}/{name}" for name in links},
        "check_suite_url": f"{repo.url}/check-suites/{suite.id}",
        "previous_attempt_url": None,
        "workflow_url": f"{repo.url}/actions/workflows/{run.workflow_id}",
        "head_commit": simple_commit(repo, run.head_sha),
        "repository": shapes.minimal_repo(repo),
        "head_repository": shapes.minimal_repo(head),
    }


def job_shape(repo: "FakeRepo", job: Job) -> dict[str, Any]:
    """A job with its steps."""
    run = repo.runs[job.run_id]
    return {
        "id": job.id,
        "run_id": job.run_id,
        "run_url": f"{repo.url}/actions/runs/{job.run_id}",
        "run_attempt": job.run_attempt,
        "node_id": repo.world.node_id("CR", job.id),
        "head_sha": run.head_sha,
        "head_branch": run.head_branch,
        "url": f"{repo.url}/actions/jobs/{job.id}",
        "html_url": f"{repo.html_url}/actions/runs/{job.run_id}/job/{job.id}",
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": job.started_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "name": job.name,
        "workflow_name": run.name,
        "steps": job.steps,
        "check_run_url": f"{repo.url}/check-runs/{job.id}",
        "labels": ["ubuntu-latest"],
        "runner_id": 1,
        "runner_name": "GitHub Actions 1",
        "runner_group_id": 2,
        "runner_group_name": "GitHub Actions",
    }


def artifact_shape(repo: "FakeRepo", record: Artifact) -> dict[str, Any]:
    """An artifact, kept for 90 days."""
    url, run = f"{repo.url}/actions/artifacts/{record.id}", repo.runs[record.run_id]
    head = repo.world.repos.get(run.head_repo.lower(), repo)
    return {
        "id": record.id,
        "node_id": repo.world.node_id("MDg", record.id),
        "name": record.name,
        "size_in_bytes": len(record.data),
        "url": url,
        "archive_download_url": url + "/zip",
        "expired": record.expired,
        "created_at": record.created_at,
        "updated_at": record.created_at,
        "expires_at": stamp(datetime.fromisoformat(record.created_at) + timedelta(days=90)),
        "workflow_run": {
            "id": run.id,
            "repository_id": repo.id,
            "head_repository_id": head.id,
            "head_branch": run.head_branch,
            "head_sha": run.head_sha,
        },
    }


def _redirect(call: Call, name: str, media: str, data: bytes) -> Reply:
    # Logs and archives lie on another host; the address itself is the secret, so no token goes along.
    return Reply(302, raw=b"", headers={"Location": call.world.download(name, media, data)})


@ROUTES.on("GET", f"{REPO}/actions/runs", "actions")
def list_runs(call: Call) -> Reply:
    """Workflow runs, newest first."""
    query = call.query
    kept = [
        run
        for run in reversed(call.repo.runs.values())
        if query.get("status") in (None, run.status, run.conclusion)
        and query.get("branch") in (None, run.head_branch)
        and query.get("event") in (None, run.event)
        and query.get("head_sha") in (None, run.head_sha)
        and query.get("actor") in (None, run.actor)
    ]
    return call.page(kept, lambda run: run_shape(call.repo, run), "workflow_runs")


@ROUTES.on("GET", RUN, "actions")
def show_run(call: Call) -> Reply:
    """One workflow run."""
    return Reply(200, run_shape(call.repo, get_run(call)))


@ROUTES.on("GET", f"{RUN}/jobs", "actions")
def list_jobs(call: Call) -> Reply:
    """The jobs of a run."""
    run = get_run(call)
    found = [job for job in call.repo.jobs.values() if job.run_id == run.id]
    return call.page(found, lambda job: job_shape(call.repo, job), "jobs")


@ROUTES.on("GET", f"{RUN}/attempts/{{attempt_number}}/jobs", "actions")
def list_jobs_of_attempt(call: Call) -> Reply:
    """The jobs of one attempt of a run."""
    run, attempt = get_run(call), call.number("attempt_number")
    if attempt > run.run_attempt:
        raise not_found()
    found = [job for job in call.repo.jobs.values() if (job.run_id, job.run_attempt) == (run.id, attempt)]
    return call.page(found, lambda job: job_shape(call.repo, job), "jobs")


# A public repository shows its runs to anybody but hands out logs and archives only to those who may read actions.
@ROUTES.on("GET", f"{RUN}/logs", "actions", guarded=True)
def run_logs(call: Call) -> Reply:
    """The way to an archive of all logs of a run."""
    run = get_run(call)
    jobs = [job for job in call.repo.jobs.values() if job.run_id == run.id and job.log is not None]
    if not jobs:
        raise not_found()
    files = {f"{place}_{job.name}.txt": job.log or "" for place, job in enumerate(jobs)}
    return _redirect(call, "logs.zip", "application/zip", make_zip(files))


@ROUTES.on("GET", f"{REPO}/actions/jobs/{{job_id}}", "actions")
def show_job(call: Call) -> Reply:
    """One job."""
    return Reply(200, job_shape(call.repo, _job(call)))


def _job(call: Call) -> Job:
    found = call.repo.jobs.get(call.number("job_id"))
    if found is None:
        raise not_found()
    return found


@ROUTES.on("GET", f"{REPO}/actions/jobs/{{job_id}}/logs", "actions", guarded=True)
def job_logs(call: Call) -> Reply:
    """The way to the log of a job."""
    job = _job(call)
    if job.log is None:
        raise ApiError(410, "Gone")
    return _redirect(call, "log.txt", "text/plain; charset=utf-8", job.log.encode())


@ROUTES.on("GET", f"{REPO}/actions/artifacts", "actions")
def list_artifacts(call: Call) -> Reply:
    """The artifacts of the repository, newest first."""
    return _page_artifacts(call, list(reversed(call.repo.artifacts.values())))


@ROUTES.on("GET", f"{RUN}/artifacts", "actions")
def list_artifacts_of_run(call: Call) -> Reply:
    """The artifacts of a run."""
    run = get_run(call)
    return _page_artifacts(call, [one for one in call.repo.artifacts.values() if one.run_id == run.id])


def _page_artifacts(call: Call, found: list[Artifact]) -> Reply:
    kept = [one for one in found if call.query.get("name") in (None, one.name)]
    return call.page(kept, lambda one: artifact_shape(call.repo, one), "artifacts")


def _artifact(call: Call) -> Artifact:
    found = call.repo.artifacts.get(call.number("artifact_id"))
    if found is None:
        raise not_found()
    return found


@ROUTES.on("GET", f"{REPO}/actions/artifacts/{{artifact_id}}", "actions")
def show_artifact(call: Call) -> Reply:
    """One artifact."""
    return Reply(200, artifact_shape(call.repo, _artifact(call)))


@ROUTES.on("GET", f"{REPO}/actions/artifacts/{{artifact_id}}/{{archive_format}}", "actions", guarded=True)
def download_artifact(call: Call) -> Reply:
    """The way to an artifact's zip."""
    found = _artifact(call)
    if call.params["archive_format"] != "zip":
        raise not_found()
    if found.expired:
        raise ApiError(410, "Artifact has expired")
    return _redirect(call, f"{found.name}.zip", "application/zip", found.data)


def _workflow_shape(repo: "FakeRepo", run: Run) -> dict[str, Any]:
    url = f"{repo.url}/actions/workflows/{run.workflow_id}"
    return {
        "id": run.workflow_id,
        "node_id": repo.world.node_id("W", run.workflow_id),
        "name": run.name,
        "path": run.path,
        "state": "active",
        "created_at": repo.created_at,
        "updated_at": repo.created_at,
        "url": url,
        "html_url": f"{repo.html_url}/blob/{repo.default_branch}/{run.path}",
        "badge_url": f"{repo.html_url}/workflows/{run.workflow_id}/badge.svg",
    }


def _workflows(repo: "FakeRepo") -> list[Run]:
    return list({run.workflow_id: run for run in repo.runs.values()}.values())


@ROUTES.on("GET", f"{REPO}/actions/workflows", "actions")
def list_workflows(call: Call) -> Reply:
    """The workflows that have run."""
    return call.page(_workflows(call.repo), lambda run: _workflow_shape(call.repo, run), "workflows")


@ROUTES.on("GET", f"{REPO}/actions/workflows/{{workflow_id}}", "actions")
def show_workflow(call: Call) -> Reply:
    """One workflow, by number or file name."""
    wanted = call.params["workflow_id"]
    for run in _workflows(call.repo):
        if wanted in (str(run.workflow_id), run.path.rpartition("/")[2]):
            return Reply(200, _workflow_shape(call.repo, run))
    raise not_found()
