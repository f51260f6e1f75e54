"""Where GitHub itself, or PyGithub as GitHub accepts it, differs from GitHub's description.

Each row covers one kind of problem on one side of one family of endpoints, and says why it is right.
"""

import re
from dataclasses import dataclass

from tests.fakes.github import Exchange


@dataclass(frozen=True, slots=True)
class Quirk:
    """One known difference; the patterns must match the endpoint and the whole problem."""

    side: str
    endpoint: str
    problem: str
    why: str

    def covers(self, exchange: Exchange, side: str, problem: str) -> bool:
        """Whether a problem is this difference."""
        name = f"{exchange.method} {exchange.template or exchange.path}"
        if side != self.side or re.fullmatch(self.endpoint, name) is None:
            return False
        return re.fullmatch(self.problem, problem, re.DOTALL) is not None


# Endpoints that GitHub serves without describing them, and the described ones that are the same.
ALIASES = {("GET", "/repos/{owner}/{repo}/statuses/{ref}"): "/repos/{owner}/{repo}/commits/{ref}/statuses"}

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        "request",
        r"(POST|PUT) .*/issues/\{issue_number\}/labels",
        r"body: \[.*\] is not valid under any of the given schemas",
        "GitHub takes the labels as a bare list too, and PyGithub sends them so",
    ),
    Quirk(
        "response",
        r"GET .*/(pulls/\{pull_number\}|commits/\{ref\}|compare/\{basehead\}|contents/\{path\}|readme)",
        r".*mimetype not found: application/vnd\.github\.(v3\.)?(diff|patch|raw)\..*",
        "these media types are explained in the prose of the endpoints, and missing from their responses",
    ),
    Quirk(
        "response",
        r"(PUT|DELETE) .*/contents/\{path\}",
        r"body: .* is valid under each of .*",
        "the two error shapes are joined by oneOf although every error of one is also one of the other",
    ),
)
