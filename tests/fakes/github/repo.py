"""A repository of the fake, with the methods tests set the scene with."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.fakes.github.diffs import compare_files
from tests.fakes.github.gitstore import Commit, Entry, GitStore, Person
from tests.fakes.github.records import (
    Artifact,
    CheckRun,
    CheckSuite,
    Comment,
    Discussion,
    Issue,
    Job,
    Label,
    Pull,
    PullFile,
    Review,
    ReviewComment,
    Run,
    Status,
    Thread,
)

if TYPE_CHECKING:
    from tests.fakes.github.world import World

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
FileSpec = PullFile | Mapping[str, Any] | str


class FakeRepo:
    """One repository and everything in it."""

    def __init__(self, world: "World", full_name: str, default_branch: str, *, private: bool) -> None:
        self.world = world
        self.id = world.next_id()
        self.full_name = full_name
        self.default_branch = default_branch
        self.private = private
        self.has_issues = True
        self.parent: str | None = None
        self.created_at = world.clock.stamp()
        self.git = GitStore()
        self.roles: dict[str, str] = {self.owner.lower(): "admin"}
        self.issues: dict[int, Issue] = {}
        self.comments: dict[int, Comment] = {}
        self.labels: dict[str, Label] = {}
        self.reviews: dict[int, Review] = {}
        self.review_comments: dict[int, ReviewComment] = {}
        self.threads: dict[str, Thread] = {}
        self.suites: dict[int, CheckSuite] = {}
        self.check_runs: dict[int, CheckRun] = {}
        self.statuses: list[Status] = []
        self.runs: dict[int, Run] = {}
        self.jobs: dict[int, Job] = {}
        self.artifacts: dict[int, Artifact] = {}
        self.discussions: dict[int, Discussion] = {}
        self.add_commit({"README.md": f"# {self.name}\n"}, message="Initial commit", branch=default_branch)

    @property
    def owner(self) -> str:
        """The login before the slash."""
        return self.full_name.partition("/")[0]

    @property
    def name(self) -> str:
        """The name after the slash."""
        return self.full_name.partition("/")[2]

    @property
    def url(self) -> str:
        """The repository in the REST API."""
        return f"{self.world.url}/repos/{self.full_name}"

    @property
    def html_url(self) -> str:
        """The repository on the web."""
        return f"{self.world.url}/{self.full_name}"

    @property
    def pulls(self) -> dict[int, Pull]:
        """The pull requests by number."""
        return {number: issue.pull for number, issue in self.issues.items() if issue.pull is not None}

    def set_permission(self, login: str, role: str) -> None:
        """Give a user a role: admin, maintain, write, triage, read or none."""
        if role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, not {role!r}")
        self.world.user(login)
        self.roles[login.lower()] = role

    def role(self, login: str) -> str:
        """The role of a user; anybody may read a public repository."""
        return self.roles.get(login.lower(), "none" if self.private else "read")

    def association(self, login: str) -> str:
        """GitHub's `author_association`."""
        if login.lower() == self.owner.lower():
            return "OWNER"
        return "COLLABORATOR" if self.roles.get(login.lower(), "none") != "none" else "NONE"

    def next_number(self) -> int:
        """The next free number; issues, pull requests and discussions share one series."""
        return max([0, *self.issues, *self.discussions]) + 1

    def sha(self, ref: str | None = None) -> str:
        """The commit a branch, tag or SHA prefix means now."""
        commit = self.git.resolve(ref or self.default_branch)
        if commit is None:
            raise KeyError(ref)
        return commit.sha

    def add_label(self, name: str, color: str = "ededed", description: str | None = None) -> Label:
        """Add a label to the repository, or give the one that is there."""
        made = Label(self.world.next_id(), name, color, description)
        return self.labels.setdefault(name.lower(), made)

    def add_issue(
        self,
        title: str = "An issue",
        body: str | None = "",
        user: str = "alice",
        number: int | None = None,
        labels: Sequence[str] = (),
        state: str = "open",
    ) -> Issue:
        """Add an issue."""
        self.world.user(user)
        now = self.world.clock.tick()
        number = number or self.next_number()
        issue = Issue(self.world.next_id(), number, title, body, user, now, now, state)
        issue.closed_at = now if state == "closed" else None
        issue.labels = [self.add_label(label).name for label in labels]
        self.issues[number] = issue
        return issue

    def add_comment(self, issue_number: int, body: str, user: str = "alice") -> Comment:
        """Add a comment to an issue or pull request."""
        self.world.user(user)
        now = self.world.clock.tick()
        comment = Comment(self.world.next_id(), issue_number, body, user, now, now)
        self.comments[comment.id] = comment
        self.issues[issue_number].updated_at = now
        return comment

    def add_commit(
        self,
        files: Mapping[str, str | bytes | None],
        message: str = "Change files",
        branch: str | None = None,
        parent: str | None = None,
        sha: str | None = None,
        user: str = "alice",
    ) -> Commit:
        """Commit files on top of `parent` (else the branch, else the default branch); None removes a file."""
        base = self.git.resolve(parent or branch or "") or self.git.resolve(self.default_branch)
        tree = {} if base is None else self.git.files(base.tree)
        for path, content in files.items():
            if content is None:
                tree.pop(path, None)
            else:
                data = content.encode() if isinstance(content, str) else content
                tree[path] = Entry("100644", self.git.add_blob(data))
        parents = () if base is None else (base.sha,)
        person = self.person(user)
        commit = self.git.add_commit(self.git.add_files(tree), parents, message, person, person, sha)
        if branch is not None:
            self.git.refs[f"refs/heads/{branch}"] = commit.sha
        return commit

    def person(self, login: str) -> Person:
        """A user as Git names it, now."""
        self.world.user(login)
        return Person(login, f"{login}@users.noreply.github.com", self.world.clock.tick())

    def add_pull(
        self,
        title: str = "A pull request",
        body: str | None = "",
        user: str = "alice",
        head_sha: str | None = None,
        base_sha: str | None = None,
        files: Sequence[FileSpec] | None = None,
        head_repo: str | None = None,
        draft: bool = False,
        number: int | None = None,
        head_ref: str = "feature",
        base_ref: str | None = None,
    ) -> Pull:
        """Add a pull request; `head_repo` names a fork, and files come from the commits unless given."""
        base_ref = base_ref or self.default_branch
        base = self._known_commit(base_sha or self.sha(base_ref), parent=None, contents={})
        listed = None if files is None else [PullFile.of(item) for item in files]
        contents = {item.filename: item.content for item in listed or [] if item.content is not None}
        head = self._head_commit(head_sha, head_ref, base.sha, contents)
        if head_repo is None:
            self.git.refs[f"refs/heads/{head_ref}"] = head.sha
        elif head_repo.lower() not in self.world.repos:
            self.world.add_repo(head_repo, self.default_branch, private=self.private).parent = self.full_name
        issue = self.add_issue(title, body, user, number)
        self.git.refs[f"refs/pull/{issue.number}/head"] = head.sha
        changed = listed if listed is not None else self.changes(base.sha, head.sha)
        commits = [sha for sha in self.git.ancestors(head.sha) if sha not in self.git.ancestors(base.sha)]
        issue.pull = Pull(
            id=self.world.next_id(),
            number=issue.number,
            head_ref=head_ref,
            head_sha=head.sha,
            head_repo=head_repo or self.full_name,
            base_ref=base_ref,
            base_sha=base.sha,
            files=changed,
            commits=commits[::-1],
            draft=draft,
        )
        return issue.pull

    def _head_commit(self, sha: str | None, ref: str, base: str, contents: Mapping[str, str]) -> Commit:
        if sha is not None:
            return self._known_commit(sha, base, contents)
        known = self.git.refs.get(f"refs/heads/{ref}")
        if known is not None and not contents:
            return self.git.commits[known]
        return self.add_commit(contents, message="Work on it", parent=known or base)

    def _known_commit(self, sha: str, parent: str | None, contents: Mapping[str, str]) -> Commit:
        # A test may name commits of a real checkout that the fake never saw.
        return self.git.commits.get(sha) or self.add_commit(contents, parent=parent, sha=sha)

    def changes(self, base: str, head: str) -> list[PullFile]:
        """The changed files from the merge base of two commits to the second."""
        start = self.git.merge_base(base, head)
        old = {} if start is None else self.git.files(self.git.commits[start].tree)
        return compare_files(self.git, old, self.git.files(self.git.commits[head].tree))

    def add_run(
        self,
        name: str = "CI",
        conclusion: str | None = "failure",
        head_sha: str | None = None,
        head_branch: str | None = None,
        event: str = "push",
        status: str = "completed",
        actor: str = "alice",
        path: str = ".github/workflows/ci.yml",
        head_repo: str | None = None,
        pull_numbers: Sequence[int] = (),
        run_attempt: int = 1,
    ) -> Run:
        """Add a workflow run."""
        now = self.world.clock.tick()
        sha = head_sha or self.sha()
        self._known_commit(sha, None, {})
        same = [run for run in self.runs.values() if run.path == path]
        workflow = same[0].workflow_id if same else self.world.next_id()
        run = Run(
            *(self.world.next_id(), name, path, workflow, len(same) + 1, sha),
            *(head_branch or self.default_branch, head_repo or self.full_name, event, status, conclusion),
            *(self.world.user(actor).login, now, now, run_attempt, list(pull_numbers)),
        )
        self.runs[run.id] = run
        return run

    def add_job(
        self,
        run_id: int,
        name: str = "test",
        conclusion: str | None = "failure",
        log: str | None = "",
        steps: Sequence[Mapping[str, Any]] = (),
        status: str = "completed",
    ) -> Job:
        """Add a job with its log; `log=None` is a log that has expired. Steps need only their `name`."""
        now = self.world.clock.tick()
        end = now if status == "completed" else None
        default = {"status": "completed", "conclusion": "success", "started_at": now, "completed_at": end}
        filled = [{"number": place, **default, **step} for place, step in enumerate(steps, 1)]
        job = Job(self.world.next_id(), run_id, name, status, conclusion, now, end, log, filled)
        job.run_attempt = self.runs[run_id].run_attempt
        self.jobs[job.id] = job
        return job

    def add_artifact(self, run_id: int, name: str, files: Mapping[str, str | bytes], expired: bool = False) -> Artifact:
        """Add an artifact that holds `files`."""
        data = make_zip(files)
        artifact = Artifact(self.world.next_id(), run_id, name, data, self.world.clock.tick(), expired)
        self.artifacts[artifact.id] = artifact
        return artifact

    def add_discussion(self, title: str = "A discussion", body: str = "", user: str = "alice") -> Discussion:
        """Add a discussion."""
        number = self.next_number()
        login = self.world.user(user).login
        made = Discussion(self.world.next_id(), number, title, body, login, self.world.clock.tick())
        self.discussions[number] = made
        return made


def make_zip(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of `files`, the same bytes each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()
