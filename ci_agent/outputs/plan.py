"""The outbox: what the run proposes, cut down to what its grant allows and made safe to post."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ci_agent.types.outputs import Comment, Dropped, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ci_agent.types.outputs import Output
    from ci_agent.types.tasks import Grant

__all__ = ["LONGEST_BODY", "make_plan"]

# GitHub takes 65,536 characters; the rest is room for our own marker and footer.
LONGEST_BODY = 60_000
CUT = "\n\n_The answer is cut here: GitHub takes no more. The transcript has all of it._"


def make_plan(
    proposed: Iterable[Output], grant: Grant, sanitise: Callable[[str], str], redact: Callable[[str], str]
) -> Plan:
    """Validated outputs, and the reason for each one that was left out."""
    outputs: list[Output] = []
    dropped: list[Dropped] = []
    used: Counter[object] = Counter()
    for output in proposed:
        cap = grant.outputs.get(output.kind, 0)
        # Redacted before and after: cleaning can join what hidden characters kept apart.
        body = _fitted(redact(output.body), lambda text: redact(sanitise(text)))
        if used[output.kind] >= cap:
            reason = f"the profile {grant.profile} allows {cap}"
            dropped.append(Dropped(output.kind, reason))
        elif not body:
            dropped.append(Dropped(output.kind, "nothing is left of it after cleaning"))
        else:
            used[output.kind] += 1
            outputs.append(Comment(body))
    return Plan(tuple(outputs), tuple(dropped))


def _fitted(text: str, clean: Callable[[str], str]) -> str:
    """Clean text that GitHub takes. It is cut before it is cleaned: a cut through clean text could open it again."""
    limit = LONGEST_BODY
    while len(body := clean(text[:limit])) > LONGEST_BODY:
        limit = int(limit * 0.9 * LONGEST_BODY / len(body))
    return body if limit >= len(text) else body + CUT
