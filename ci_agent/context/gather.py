"""Collects the thread as it was when the trigger was written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ci_agent.github.client import ThreadComment
    from ci_agent.types.tasks import Target

__all__ = ["Thread", "freeze_thread", "parse_time"]

MOST_COMMENTS = 30


@dataclass(frozen=True, slots=True)
class Thread:
    """The comments the model may read, and what was left out."""

    comments: tuple[ThreadComment, ...]
    notes: tuple[str, ...]


def freeze_thread(comments: Iterable[ThreadComment], target: Target) -> Thread:
    """Drop what was written or changed after the trigger: nobody approved that text."""
    trigger_id = target.trigger_id.removeprefix("comment-")
    others = [comment for comment in comments if str(comment.id) != trigger_id]
    moment = parse_time(target.triggered_at)
    before = [comment for comment in others if parse_time(comment.created_at) <= moment]
    kept = [comment for comment in before if parse_time(comment.updated_at) <= moment]
    notes = []
    if later := len(others) - len(before):
        notes.append(f"{later} comment(s) written after the request were left out.")
    if edited := len(before) - len(kept):
        notes.append(f"{edited} comment(s) edited after the request were left out.")
    if len(kept) > MOST_COMMENTS:
        notes.append(
            f"{len(kept) - MOST_COMMENTS} older comment(s) were left out; the newest {MOST_COMMENTS} are shown."
        )
    return Thread(tuple(kept[-MOST_COMMENTS:]), tuple(notes))


def parse_time(text: str) -> datetime:
    """GitHub's timestamps, which end in Z or in an offset."""
    return datetime.fromisoformat(text)
