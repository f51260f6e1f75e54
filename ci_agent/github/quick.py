"""The questions that come before a run is sure to happen: who is this, and what does the trusted policy say.

Most events end with them, so they are asked with the standard library: importing the full client would cost
more time than everything else such a run does.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from ci_agent import __version__
from ci_agent.errors import ConfigError, GitHubError, GitHubUnreachable

__all__ = ["Permission", "QuickGitHub"]

TIMEOUT_SECONDS = 15.0
TRIES = 3
LONGEST_WAIT_SECONDS = 30.0
JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"
RETRIED = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Permission:
    """GitHub's own words: `permission` is coarse, `role` names maintain and triage too."""

    permission: str
    role: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuickGitHub:
    """One repository, one token, three questions."""

    api_url: str
    token: str
    repository: str

    def permission(self, login: str) -> Permission:
        """The permission of `login`; someone GitHub does not know has none."""
        status, body = self._ask(f"/collaborators/{urllib.parse.quote(login, safe='')}/permission", JSON)
        if status == 404:
            return Permission(
                "none", "none", f"GitHub does not know {login}, or does not show {self.repository} to this token"
            )
        try:
            answer = json.loads(body)
            permission, role = answer["permission"], answer.get("role_name") or answer["permission"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _not_github(self.api_url) from None
        return Permission(str(permission), str(role))

    def is_collaborator(self, login: str) -> bool:
        """Whether `login` was given access; in a public repository everybody else can read too."""
        status, _ = self._ask(f"/collaborators/{urllib.parse.quote(login, safe='')}", JSON)
        return status == 204

    def file(self, ref: str, path: str) -> str | None:
        """A file's text at a branch, for runs without a checkout; None where the branch has no such file."""
        status, body = self._ask(f"/contents/{urllib.parse.quote(path)}?{urllib.parse.urlencode({'ref': ref})}", RAW)
        return None if status == 404 else body.decode("utf-8", "replace")

    def _ask(self, path: str, accept: str) -> tuple[int, bytes]:
        """The answer when it is one of GitHub's and either a yes or a not-found."""
        status, body = _get(f"{self.api_url}/repos/{urllib.parse.quote(self.repository)}{path}", self.token, accept)
        if status in (200, 204) or (status == 404 and _message(body) is not None):
            return status, body
        raise _refusal(status, body, self)


def _get(url: str, token: str, accept: str) -> tuple[int, bytes]:
    """One GET with a few retries on answers that pass."""
    request = urllib.request.Request(  # noqa: S310 - settings admit http(s) addresses only
        url,
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": accept,
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": f"ci-agent/{__version__}",
        },
    )
    opener = urllib.request.build_opener(_NoRedirect)
    for attempt in range(1, TRIES + 1):
        try:
            with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            body, wait = error.read(), _wait(error.code, error.headers.get("Retry-After"), attempt)
            if wait is None or attempt == TRIES:
                return error.code, body
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            if attempt == TRIES or _never_connects(error):
                reason = getattr(error, "reason", None) or error
                raise GitHubUnreachable(
                    f"GitHub cannot be reached at {url}: {reason}", hint="correct GITHUB_API_URL"
                ) from None
            wait = 0.5 * attempt
        time.sleep(wait)
    raise AssertionError("the last try returns or raises")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects would carry the token to an address nobody chose."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


def _wait(status: int, retry_after: str | None, attempt: int) -> float | None:
    """Seconds to wait before another try, or None when trying again is no use."""
    if retry_after is not None and retry_after.isdigit() and status in (403, 429):
        seconds = float(retry_after)
        return seconds if seconds <= LONGEST_WAIT_SECONDS else None
    return 0.5 * attempt if status in RETRIED else None


def _never_connects(error: Exception) -> bool:
    """Whether the address is wrong rather than the network slow."""
    cause = getattr(error, "reason", error)
    return isinstance(cause, ConnectionRefusedError) or "Name or service not known" in str(cause)


def _not_github(api_url: str) -> GitHubUnreachable:
    return GitHubUnreachable(f"{api_url} does not answer like GitHub's API", hint="correct GITHUB_API_URL")


def _refusal(status: int, body: bytes, asked: QuickGitHub) -> Exception:
    """What a status other than 200 and 404 means to the operator."""
    message = _message(body)
    if message is None and status < 500:
        return _not_github(asked.api_url)
    if status == 401:
        return ConfigError(f"GitHub does not accept GITHUB_TOKEN: {message}", hint="pass a valid github-token")
    return GitHubError(f"GitHub answers HTTP {status} when asked about {asked.repository}: {message}", status=status)


def _message(body: bytes) -> str | None:
    """The `message` of a GitHub error body; None when it is not one."""
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return str(message)
