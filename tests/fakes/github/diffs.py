"""Patches in GitHub's form: made from two versions, and read back for the lines that can be commented on."""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.fakes.github.gitstore import Files, GitStore
from tests.fakes.github.records import PullFile

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def make_patch(old: bytes, new: bytes) -> str | None:
    """The hunks between two versions, or None for binary content."""
    if b"\0" in old or b"\0" in new:
        return None
    before, after = (text.decode(errors="replace").splitlines(keepends=True) for text in (old, new))
    lines = list(difflib.unified_diff(before, after, n=3))[2:]
    marked = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
    return "".join(marked).removesuffix("\n")


def compare_files(store: GitStore, old: Files, new: Files) -> list[PullFile]:
    """The changed files between two listings; equal content under a new name is a rename."""
    gone = {entry.sha: path for path, entry in old.items() if path not in new}
    changed = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if after is None:
            if before is not None and before.sha not in {entry.sha for name, entry in new.items() if name not in old}:
                patch = make_patch(store.blobs.get(before.sha, b""), b"")
                changed.append(PullFile(path, patch, "removed", sha=before.sha))
        elif before is None and after.sha in gone:
            changed.append(PullFile(path, None, "renamed", gone[after.sha], sha=after.sha))
        elif before is None or before.sha != after.sha:
            old_data = b"" if before is None else store.blobs.get(before.sha, b"")
            patch = make_patch(old_data, store.blobs.get(after.sha, b""))
            changed.append(PullFile(path, patch, "added" if before is None else "modified", sha=after.sha))
    return changed


def unified(files: Iterable[PullFile]) -> str:
    """The whole diff, as the diff media type gives it."""
    return "".join(_section(item) for item in files)


def _section(item: PullFile) -> str:
    old = item.previous_filename or item.filename
    lines = [f"diff --git a/{old} b/{item.filename}"]
    if item.status == "added":
        lines.append("new file mode 100644")
    elif item.status == "removed":
        lines.append("deleted file mode 100644")
    elif item.status == "renamed":
        lines += ["similarity index 100%", f"rename from {old}", f"rename to {item.filename}"]
    if item.patch:
        lines.append("--- /dev/null" if item.status == "added" else f"--- a/{old}")
        lines.append("+++ /dev/null" if item.status == "removed" else f"+++ b/{item.filename}")
        lines.append(item.patch)
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A line of a patch: where it is on each side, its position, and the hunk up to it."""

    left: int | None
    right: int | None
    position: int
    hunk: int
    text: str


def anchors(patch: str) -> Iterator[Anchor]:
    """The lines of a patch that a comment can hang on."""
    left = right = 0
    hunk, shown = -1, [""]
    for position, line in enumerate(patch.splitlines()):
        if header := HUNK.match(line):
            left, right, shown = int(header[1]), int(header[2]), [line]
            hunk += 1
            continue
        shown.append(line)
        if line.startswith("\\"):
            continue
        on_left, on_right = not line.startswith("+"), not line.startswith("-")
        place = left if on_left else None, right if on_right else None
        yield Anchor(*place, position, hunk, "\n".join(shown))
        left, right = left + on_left, right + on_right


def find_anchor(patch: str | None, line: int, side: str) -> Anchor | None:
    """The anchor of a line on a side."""
    for anchor in anchors(patch or ""):
        if (anchor.left if side == "LEFT" else anchor.right) == line:
            return anchor
    return None


def anchor_at(patch: str | None, position: int) -> Anchor | None:
    """The anchor with a position, the older way to address a line."""
    return next((anchor for anchor in anchors(patch or "") if anchor.position == position), None)
