"""Check runs, statuses, workflow runs, logs and artifacts of the fake GitHub, through PyGithub."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from github import GithubException

from tests.fakes.github.scene import Scene, open_scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        yield made


def _annotations(count: int) -> list[Any]:
    return [
        {"path": "a.py", "start_line": n, "end_line": n, "annotation_level": "warning", "message": f"m{n}"}
        for n in range(1, count + 1)
    ]


def test_a_check_run_collects_annotations_over_several_updates(scene: Scene) -> None:
    sha = scene.repo.sha("main")
    run = scene.remote.create_check_run("agent", sha, status="in_progress", output={"title": "t", "summary": "s"})
    assert scene.repo.check_runs[run.id].conclusion is None
    assert (run.status, run.app.slug) == ("in_progress", "github-actions")
    run.edit(output={"title": "t", "summary": "s", "annotations": _annotations(50)})
    run.edit(conclusion="neutral", output={"title": "t", "summary": "done", "annotations": _annotations(3)})
    assert (run.status, run.conclusion, run.output.annotations_count) == ("completed", "neutral", 53)
    assert [one.message for one in run.get_annotations()][:2] == ["m1", "m2"]
    found = scene.remote.get_commit(sha).get_check_runs(check_name="agent")
    assert [one.id for one in found] == [run.id]
    suites = list(scene.remote.get_commit(sha).get_check_suites())
    assert [(one.status, one.conclusion) for one in suites] == [("completed", "success")]


@pytest.mark.contract_exempt("sends more annotations than the description allows")
def test_more_than_fifty_annotations_at_once_are_refused(scene: Scene) -> None:
    output: Any = {"title": "t", "summary": "s", "annotations": _annotations(51)}
    with pytest.raises(GithubException) as caught:
        scene.remote.create_check_run("agent", scene.repo.sha("main"), output=output)
    assert (caught.value.status, scene.repo.check_runs) == (422, {})


def test_a_check_run_needs_a_commit_that_is_there(scene: Scene) -> None:
    with pytest.raises(GithubException, match="No commit found for SHA"):
        scene.remote.create_check_run("agent", "f" * 40)


def test_statuses_combine_to_the_worst_of_the_latest(scene: Scene) -> None:
    commit = scene.remote.get_commit("main")
    commit.create_status("pending", context="ci")
    commit.create_status("success", context="lint", description="fine", target_url="http://example.org/")
    assert commit.get_combined_status().state == "pending"
    commit.create_status("failure", context="ci")
    assert commit.get_combined_status().state == "failure"
    assert [one.state for one in commit.get_statuses()] == ["failure", "success", "pending"]


def test_a_red_run_leads_to_its_jobs_logs_and_artifacts(scene: Scene) -> None:
    scene.repo.add_pull(head_sha="c" * 40)
    made = scene.repo.add_run("CI", "failure", head_sha="c" * 40, event="pull_request", pull_numbers=[1])
    job = scene.repo.add_job(made.id, "test", "failure", log="line\n##[error]boom\n", steps=[{"name": "Run tests"}])
    scene.repo.add_artifact(made.id, "report", {"out.txt": "hello"})
    run = scene.remote.get_workflow_run(made.id)
    assert (run.conclusion, run.event, run.head_sha, run.pull_requests[0].number) == (
        "failure",
        "pull_request",
        "c" * 40,
        1,
    )
    assert [(one.id, one.steps[0].name) for one in run.jobs()] == [(job.id, "Run tests")]
    # PyGithub's own redirect is followed by hand: the address is for anybody, but not with a token.
    answer = next(iter(run.jobs())).logs_url()
    assert requests.get(answer, timeout=5).text == "line\n##[error]boom\n"
    assert requests.get(answer, timeout=5, headers={"Authorization": "Bearer ghs_test"}).status_code == 400
    artifact = next(iter(run.get_artifacts()))
    archive, _ = artifact.requester.requestJsonAndCheck("GET", artifact.archive_download_url)
    with zipfile.ZipFile(io.BytesIO(requests.get(archive["location"], timeout=5).content)) as packed:
        assert packed.read("out.txt") == b"hello"
    assert [one.id for one in scene.remote.get_workflow_runs(status="failure", event="pull_request")] == [made.id]
    assert scene.remote.get_workflow("ci.yml").id == run.workflow_id


def test_a_log_that_expired_is_gone(scene: Scene) -> None:
    run = scene.repo.add_run()
    job = scene.repo.add_job(run.id, log=None)
    scene.repo.add_artifact(run.id, "old", {}, expired=True)
    for path in (f"jobs/{job.id}/logs", f"artifacts/{next(iter(scene.repo.artifacts))}/zip"):
        with pytest.raises(GithubException) as caught:
            scene.api.requester.requestJsonAndCheck("GET", f"/repos/octo/hello/actions/{path}")
        assert caught.value.status == 410
