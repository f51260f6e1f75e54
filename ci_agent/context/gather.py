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


def freeze_thread(newest_first: Iterable[ThreadComment], target: Target) -> Thread:
    """Drop what was written or changed after the trigger: nobody approved that text."""
    trigger_id = target.trigger_id.removeprefix("comment-")
    moment = parse_time(target.triggered_at)
    kept: list[ThreadComment] = []
    later = edited = 0
    older = False
    for comment in newest_first:
        if str(comment.id) == trigger_id:
            continue
        if parse_time(comment.created_at) > moment:
            later += 1
        elif parse_time(comment.updated_at) > moment:
            edited += 1
        elif len(kept) == MOST_COMMENTS:
            older = True
            break
        else:
            kept.append(comment)
    notes = {
        f"{later} comment(s) written after the request were left out.": later,
        f"{edited} comment(s) edited after the request were left out.": edited,
        f"Older comments were left out; the newest {MOST_COMMENTS} before the request were read.": older,
    }
    return Thread(tuple(reversed(kept)), tuple(note for note, holds in notes.items() if holds))


def parse_time(text: str) -> datetime:
    """GitHub's timestamps, which end in Z or in an offset."""
    return datetime.fromisoformat(text)
