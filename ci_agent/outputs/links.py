"""Decides which addresses may stay in a posted text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

__all__ = ["Links"]

# Neither backslash nor semicolon: nothing in it can be an escape or an entity.
PLAIN = re.compile(r"[A-Za-z0-9._/?=&%+,:#-]*+")
RELATIVE = re.compile(r"(?!//)(?:[^:/?#]*+(?:[/?#].*)?)")
# An address or an issue's number inside of an address may be read by itself.
INNER = re.compile(r"(?<!^http:)(?<!^https:)//|www\.|#\d", re.IGNORECASE)
# A link to one of these writes a line into the other thread.
THREADS = frozenset({"issues", "pull", "pulls", "discussions", "commit", "commits", "compare"})


@dataclass(frozen=True, slots=True)
class Links:
    """Knows the hosts a link may lead to, and the repository whose threads may be named."""

    hosts: frozenset[str]
    repository: str

    def refused(self, destination: str) -> str:
        """Where a link leads when it may not; empty for one that may stay."""
        try:
            parts = urlsplit(destination)
            host = (parts.hostname or "").lower()
        except ValueError:
            return "a malformed address"
        known = parts.scheme in ("http", "https") and parts.netloc.lower() in self.hosts
        is_plain = PLAIN.fullmatch(destination) and not INNER.search(destination)
        if is_plain and (known or RELATIVE.fullmatch(destination)):
            return "another thread" if self._is_foreign_thread(parts.path, is_absolute=known) else ""
        # GitHub makes a link of every name that starts with www.
        shown = re.sub(r"[^a-z0-9.-]", "", host[:100]).removeprefix("www.")
        return "another place" if not shown or "www." in shown else shown

    def _is_foreign_thread(self, path: str, *, is_absolute: bool) -> bool:
        segments = [part for part in unquote(path).lower().split("/") if part not in ("", ".")]
        if ".." in segments:
            # How far up it leads depends on the page it is shown on.
            return is_absolute or not THREADS.isdisjoint(segments)
        if not is_absolute and not path.startswith("/"):
            return False
        return not THREADS.isdisjoint(segments[2:3]) and "/".join(segments[:2]) != self.repository.lower()
