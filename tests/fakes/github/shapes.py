"""JSON shapes that several families share: users, repositories, labels, issues, comments, reactions."""

from typing import TYPE_CHECKING, Any

from tests.fakes.github.records import Comment, Issue, Label, Reaction, User

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo
    from tests.fakes.github.world import World

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")

USER_LINKS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}

REPO_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def user(world: "World", login: str) -> dict[str, Any]:
    """A simple user."""
    return user_record(world, world.user(login))


def user_record(world: "World", record: User) -> dict[str, Any]:
    """A simple user from its record."""
    url = f"{world.url}/users/{record.login}"
    return {
        "login": record.login,
        "id": record.id,
        "node_id": world.node_id("BOT" if record.type == "Bot" else "U", record.id),
        "avatar_url": f"{world.url}/avatars/{record.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{world.url}/{record.login}",
        **{name: url + tail for name, tail in USER_LINKS.items()},
        "type": record.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def minimal_repo(repo: "FakeRepo") -> dict[str, Any]:
    """A repository as it is nested in other objects."""
    return {
        "id": repo.id,
        "node_id": repo.world.node_id("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "owner": user(repo.world, repo.owner),
        "private": repo.private,
        "html_url": repo.html_url,
        "description": None,
        "fork": repo.parent is not None,
        "url": repo.url,
        **{name: repo.url + tail for name, tail in REPO_LINKS.items()},
    }


def full_repo(repo: "FakeRepo") -> dict[str, Any]:
    """A repository as `GET /repos/{owner}/{repo}` shows it."""
    still = dict.fromkeys(("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size"), 0)
    open_issues = sum(issue.state == "open" for issue in repo.issues.values())
    flags = {"has_projects": False, "has_wiki": False, "has_pages": False, "has_downloads": False}
    return {
        **minimal_repo(repo),
        **still,
        **flags,
        "git_url": repo.html_url + ".git",
        "ssh_url": f"git@127.0.0.1:{repo.full_name}.git",
        "clone_url": repo.html_url + ".git",
        "svn_url": repo.html_url,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": repo.default_branch,
        "open_issues": open_issues,
        "open_issues_count": open_issues,
        "has_issues": repo.has_issues,
        "has_discussions": bool(repo.discussions),
        "topics": [],
        "archived": False,
        "disabled": False,
        "visibility": "private" if repo.private else "public",
        "pushed_at": repo.created_at,
        "created_at": repo.created_at,
        "updated_at": repo.created_at,
        "subscribers_count": 0,
        "network_count": 0,
    }


def label(repo: "FakeRepo", record: Label) -> dict[str, Any]:
    """A label."""
    return {
        "id": record.id,
        "node_id": repo.world.node_id("LA", record.id),
        "url": f"{repo.url}/labels/{record.name}",
        "name": record.name,
        "description": record.description,
        "color": record.color,
        "default": False,
    }


def labels_of(repo: "FakeRepo", item: Issue) -> list[dict[str, Any]]:
    """The labels of an issue."""
    return [label(repo, repo.labels[name.lower()]) for name in item.labels]


def rollup(reactions: list[Reaction], url: str) -> dict[str, Any]:
    """How many of each reaction there are."""
    counts = {name: sum(one.content == name for one in reactions) for name in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def reaction(repo: "FakeRepo", record: Reaction) -> dict[str, Any]:
    """A single reaction."""
    return {
        "id": record.id,
        "node_id": repo.world.node_id("REA", record.id),
        "user": user(repo.world, record.user),
        "content": record.content,
        "created_at": record.created_at,
    }


def issue_html_url(repo: "FakeRepo", item: Issue) -> str:
    """An issue or pull request on the web."""
    return f"{repo.html_url}/{'pull' if item.pull else 'issues'}/{item.number}"


def issue(repo: "FakeRepo", item: Issue) -> dict[str, Any]:
    """An issue, with `pull_request` where it is one."""
    url = f"{repo.url}/issues/{item.number}"
    assignees = [user(repo.world, login) for login in item.assignees]
    shown = {
        "id": item.id,
        "node_id": repo.world.node_id("PR" if item.pull else "I", item.pull.id if item.pull else item.id),
        "url": url,
        "repository_url": repo.url,
        "labels_url": url + "/labels{/name}",
        "comments_url": url + "/comments",
        "events_url": url + "/events",
        "timeline_url": url + "/timeline",
        "html_url": issue_html_url(repo, item),
        "number": item.number,
        "state": item.state,
        "state_reason": item.state_reason,
        "title": item.title,
        "body": item.body,
        "user": user(repo.world, item.user),
        "labels": labels_of(repo, item),
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "milestone": None,
        "locked": item.locked,
        "active_lock_reason": item.lock_reason,
        "comments": sum(one.issue_number == item.number for one in repo.comments.values()),
        "closed_at": item.closed_at,
        "closed_by": user(repo.world, item.closed_by) if item.closed_by else None,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "author_association": repo.association(item.user),
        "performed_via_github_app": None,
        "reactions": rollup(item.reactions, url),
    }
    if item.pull is not None:
        html = issue_html_url(repo, item)
        links = {"url": f"{repo.url}/pulls/{item.number}", "html_url": html}
        links |= {"diff_url": html + ".diff", "patch_url": html + ".patch"}
        shown |= {"draft": item.pull.draft, "pull_request": {**links, "merged_at": item.pull.merged_at}}
    return shown


def comment(repo: "FakeRepo", record: Comment) -> dict[str, Any]:
    """A comment on an issue or pull request."""
    url = f"{repo.url}/issues/comments/{record.id}"
    on = repo.issues[record.issue_number]
    return {
        "id": record.id,
        "node_id": repo.world.node_id("IC", record.id),
        "url": url,
        "html_url": f"{issue_html_url(repo, on)}#issuecomment-{record.id}",
        "issue_url": f"{repo.url}/issues/{on.number}",
        "body": record.body,
        "user": user(repo.world, record.user),
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "author_association": repo.association(record.user),
        "performed_via_github_app": None,
        "reactions": rollup(record.reactions, url),
    }
