"""The things the fake remembers. Mutable on purpose: they are the state that requests change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class User:
    """An account."""

    login: str
    id: int
    type: str = "User"


@dataclass(slots=True)
class Label:
    """A label of a repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(slots=True)
class Reaction:
    """An emoji on an issue, a comment or a review comment."""

    id: int
    user: str
    content: str
    created_at: str


@dataclass(slots=True)
class Issue:
    """An issue; a pull request is one too and has `pull` set."""

    id: int
    number: int
    title: str
    body: str | None
    user: str
    created_at: str
    updated_at: str
    state: str = "open"
    state_reason: str | None = None
    closed_at: str | None = None
    closed_by: str | None = None
    locked: bool = False
    lock_reason: str | None = None
    labels: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    pull: "Pull | None" = None


@dataclass(slots=True)
class Comment:
    """A comment on an issue or pull request."""

    id: int
    issue_number: int
    body: str
    user: str
    created_at: str
    updated_at: str
    reactions: list[Reaction] = field(default_factory=list)
    minimized_reason: str | None = None


@dataclass(frozen=True, slots=True)
class PullFile:
    """A changed file; counts come from the patch, `content` is the file at the head."""

    filename: str
    patch: str | None = None
    status: str = "modified"
    previous_filename: str | None = None
    content: str | None = None
    sha: str | None = None

    @classmethod
    def of(cls, value: "PullFile | Mapping[str, Any] | str") -> "PullFile":
        """A file from what a test wrote: the object, its fields, or only its name."""
        if isinstance(value, PullFile):
            return value
        return cls(value) if isinstance(value, str) else cls(**value)

    def count(self, sign: str) -> int:
        """Lines added ("+") or removed ("-")."""
        return sum(line.startswith(sign) for line in (self.patch or "").splitlines())


@dataclass(slots=True)
class Pull:
    """What a pull request has beyond its issue."""

    id: int
    number: int
    head_ref: str
    head_sha: str
    head_repo: str | None
    base_ref: str
    base_sha: str
    files: list[PullFile]
    commits: list[str]
    draft: bool = False
    merged_at: str | None = None
    merged_by: str | None = None
    merge_sha: str | None = None
    requested_reviewers: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Review:
    """A review of a pull request."""

    id: int
    pull_number: int
    user: str
    body: str
    state: str
    commit_id: str
    submitted_at: str | None


@dataclass(slots=True)
class ReviewComment:
    """An inline comment; `line` is None where `subject_type` is `file`."""

    id: int
    pull_number: int
    review_id: int | None
    thread_id: str
    path: str
    body: str
    user: str
    commit_id: str
    created_at: str
    updated_at: str
    line: int | None = None
    side: str = "RIGHT"
    start_line: int | None = None
    start_side: str | None = None
    position: int | None = None
    diff_hunk: str = ""
    in_reply_to: int | None = None
    subject_type: str = "line"
    reactions: list[Reaction] = field(default_factory=list)
    minimized_reason: str | None = None


@dataclass(slots=True)
class Thread:
    """A conversation on one line; only GraphQL knows whether it is resolved."""

    id: str
    pull_number: int
    path: str
    line: int | None
    side: str
    subject_type: str
    start_line: int | None = None
    resolved_by: str | None = None
    outdated: bool = False


@dataclass(slots=True)
class CheckSuite:
    """The check runs of one app on one commit."""

    id: int
    head_sha: str
    head_branch: str | None
    created_at: str
    updated_at: str


@dataclass(slots=True)
class CheckRun:
    """A check run with its annotations."""

    id: int
    suite_id: int
    name: str
    head_sha: str
    started_at: str
    status: str = "queued"
    conclusion: str | None = None
    completed_at: str | None = None
    details_url: str | None = None
    external_id: str = ""
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Status:
    """A commit status."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: str
    created_at: str


@dataclass(slots=True)
class Run:
    """A workflow run; `logs` maps file names in the log archive to their text."""

    id: int
    name: str
    path: str
    workflow_id: int
    run_number: int
    head_sha: str
    head_branch: str
    head_repo: str
    event: str
    status: str
    conclusion: str | None
    actor: str
    created_at: str
    updated_at: str
    run_attempt: int = 1
    pull_numbers: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Job:
    """A job of a workflow run, with its log."""

    id: int
    run_id: int
    name: str
    status: str
    conclusion: str | None
    started_at: str
    completed_at: str | None
    log: str | None
    steps: list[dict[str, Any]] = field(default_factory=list)
    run_attempt: int = 1


@dataclass(slots=True)
class Artifact:
    """An artifact of a workflow run; `data` is the zip."""

    id: int
    run_id: int
    name: str
    data: bytes
    created_at: str
    expired: bool = False


@dataclass(slots=True)
class DiscussionComment:
    """A comment on a discussion, reachable through GraphQL only."""

    id: int
    body: str
    user: str
    created_at: str
    reply_to: str | None = None


@dataclass(slots=True)
class Discussion:
    """A discussion, reachable through GraphQL only."""

    id: int
    number: int
    title: str
    body: str
    user: str
    created_at: str
    comments: list[DiscussionComment] = field(default_factory=list)
