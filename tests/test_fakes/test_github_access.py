"""Tokens, permissions and roles of the fake GitHub, through PyGithub."""

import base64
import json
from collections.abc import Iterator

import pytest
import requests
from github import BadCredentialsException, GithubException, UnknownObjectException

from tests.fakes.github.scene import Scene, connect, open_scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        yield made


@pytest.mark.parametrize(
    ("role", "permission"),
    [
        ("admin", "admin"),
        ("maintain", "write"),
        ("write", "write"),
        ("triage", "read"),
        ("read", "read"),
        ("none", "none"),
    ],
)
def test_a_role_maps_to_its_base_permission(scene: Scene, role: str, permission: str) -> None:
    scene.repo.set_permission("carol", role)
    assert scene.remote.get_collaborator_permission("carol") == permission
    assert scene.remote.get_collaborator_role_name("carol") == role
    assert scene.remote.has_in_collaborators("carol") is (role != "none")


@pytest.mark.parametrize(("private", "permission"), [(False, "read"), (True, "none")])
def test_a_stranger_may_read_only_what_is_public(private: bool, permission: str) -> None:
    with open_scene(private=private) as scene:
        scene.gh.add_user("stranger")
        assert scene.remote.get_collaborator_permission("stranger") == permission
        with pytest.raises(UnknownObjectException):
            scene.remote.get_collaborator_permission("nobody-at-all")


def test_a_role_that_does_not_exist_is_refused(scene: Scene) -> None:
    with pytest.raises(ValueError, match="role must be one of"):
        scene.repo.set_permission("carol", "owner")


def test_an_unknown_token_is_refused(scene: Scene) -> None:
    with connect(scene.gh, "wrong") as api, pytest.raises(BadCredentialsException):
        api.get_repo("octo/hello")
    assert "wrong" not in str(scene.gh.requests)


def test_a_token_does_only_what_its_permissions_say(scene: Scene) -> None:
    scene.repo.add_issue()
    scene.gh.add_token("ghs_small", permissions={"issues": "write", "contents": "read"})
    with connect(scene.gh, "ghs_small") as api:
        remote = api.get_repo("octo/hello")
        remote.get_issue(1).create_comment("allowed")
        with pytest.raises(GithubException) as caught:
            remote.create_check_run("agent", scene.repo.sha("main"))
        assert (caught.value.status, caught.value.data["message"]) == (403, "Resource not accessible by integration")
        with pytest.raises(GithubException, match="Resource not accessible by integration"):
            remote.create_file("a", "m", "x")
    assert [(one.method, one.path, one.actor) for one in scene.gh.writes] == [
        ("POST", "/repos/octo/hello/issues/1/comments", "github-actions[bot]")
    ]


def test_a_private_repository_needs_the_permission_even_to_read() -> None:
    with open_scene(private=True) as scene:
        scene.repo.add_issue()
        scene.gh.add_token("ghs_small", permissions={"contents": "read"})
        with connect(scene.gh, "ghs_small") as api:
            assert api.get_repo("octo/hello").get_branch("main").name == "main"
            with pytest.raises(GithubException, match="Resource not accessible by integration"):
                api.get_repo("octo/hello").get_issue(1)
        with connect(scene.gh, None) as api, pytest.raises(UnknownObjectException):
            api.get_repo("octo/hello")


def test_without_a_token_one_may_look_but_not_write(scene: Scene) -> None:
    scene.repo.add_issue(title="Seen")
    with connect(scene.gh, None) as api:
        issue = api.get_repo("octo/hello").get_issue(1)
        assert issue.title == "Seen"
        with pytest.raises(GithubException) as caught:
            issue.create_comment("no")
    assert caught.value.status == 401


def test_the_token_of_a_workflow_has_no_user(scene: Scene) -> None:
    with pytest.raises(GithubException, match="Resource not accessible by integration"):
        _ = scene.api.get_user().name
    scene.gh.add_token("ghp_alice", login="alice")
    with connect(scene.gh, "ghp_alice") as api:
        assert api.get_user().login == "alice"
        assert api.get_user("octo").login == "octo"


def test_the_identity_endpoint_wants_its_own_token(scene: Scene) -> None:
    address = f"{scene.gh.oidc_url}&audience=model-provider"
    assert requests.get(address, timeout=5, headers={"Authorization": "Bearer ghs_test"}).status_code == 401
    good = requests.get(address, timeout=5, headers={"Authorization": f"Bearer {scene.gh.oidc_token}"}).json()
    claims = json.loads(base64.urlsafe_b64decode(good["value"].split(".")[1] + "=="))
    assert (claims["aud"], claims["sub"]) == ("model-provider", "repo:octo/hello")
    assert scene.gh.oidc.issued == [good["value"]]
