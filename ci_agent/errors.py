"""What the operator must act on; everything else is a value or a bug.

CiAgentError                 exit 1   the run failed
├── ConfigError              exit 2   configuration or input is wrong; names the thing and the fix
│   ├── EventError                    the event file or its name
│   ├── NotAFile                      a link, folder or submodule stands where a file is read
│   └── PolicyError                   a policy file, with its line
└── GitHubError              exit 1   GitHub refused or did not answer
    └── GitHubUnreachable    exit 2   nothing that speaks GitHub's API is at that address
"""

__all__ = [
    "CiAgentError",
    "ConfigError",
    "EventError",
    "GitHubError",
    "GitHubUnreachable",
    "NotAFile",
    "PolicyError",
]


class CiAgentError(Exception):
    """A failure the operator can act on, said in one line."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(CiAgentError):
    """Configuration or input is wrong."""

    exit_code = 2


class EventError(ConfigError):
    """The event cannot be read."""


class NotAFile(ConfigError):
    """A link, a folder or a submodule stands where a file is read."""


class PolicyError(ConfigError):
    """A policy file is wrong; the message starts with `file:line:`."""


class GitHubError(CiAgentError):
    """GitHub refused a request or did not answer it."""

    def __init__(self, message: str, *, hint: str = "", status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after = retry_after


class GitHubUnreachable(GitHubError):
    """Nothing that speaks GitHub's API is at the given address."""

    exit_code = 2
