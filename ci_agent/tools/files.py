"""Reading files of the workspace."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

from pydantic import BaseModel, Field

from ci_agent.policy.paths import PathRefused
from ci_agent.tools.base import tool
from ci_agent.types.tools import LARGEST_RESULT, Effect, ToolContext, ToolResult

__all__ = ["LONGEST_LINE", "read"]

LONGEST_LINE = 2_000
LARGEST_FILE_BYTES = 20 * 1024 * 1024
# One page and its last line stay below what is shortened: a page of a kept result must not be kept again.
LARGEST_PAGE = LARGEST_RESULT - 2 * LONGEST_LINE


class ReadFile(BaseModel, extra="forbid"):
    """What to read."""

    file_path: str = Field(
        description="Path of the file, relative to the repository's root, or as named by a shortened result."
    )
    offset: int = Field(1, ge=1, description="First line to show, counted from 1.")
    limit: int = Field(2_000, ge=1, le=10_000, description="How many lines to show.")


@tool("Read", effect=Effect.READ, parallel=True)
async def read(args: ReadFile, ctx: ToolContext) -> ToolResult:
    """Read a text file of the repository with line numbers. For a long file, give offset and limit."""
    try:
        path = ctx.paths.resolve_readable(args.file_path)
    except PathRefused as refusal:
        return ToolResult.error(str(refusal))
    try:
        data = await asyncio.to_thread(_regular_file, path)
    except OSError as error:
        return ToolResult.error(f"{args.file_path} cannot be read: {error.strerror or error}")
    result = _shown(args, data)
    if not result.is_error:
        await asyncio.to_thread(ctx.seen.record, path, data)
    return result


def _shown(args: ReadFile, data: bytes) -> ToolResult:
    if not data:
        return ToolResult(f"{args.file_path} is empty.")
    if b"\0" in data[:8_192]:
        return ToolResult.error(f"{args.file_path} is a binary file of {len(data)} bytes.")
    return _numbered(args, data.decode("utf-8", "replace"))


def _regular_file(path: Path) -> bytes:
    """The bytes of a plain file; a device or a pipe could block for ever or be endless."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(0, "it is a directory, use Glob to list it")
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file")
        if status.st_size > LARGEST_FILE_BYTES:
            raise OSError(
                0, f"it has {status.st_size} bytes, more than {LARGEST_FILE_BYTES}; use Grep to find the place"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_FILE_BYTES)
    finally:
        os.close(descriptor)


def _numbered(args: ReadFile, text: str) -> ToolResult:
    lines = text.splitlines()
    if args.offset > len(lines):
        return ToolResult.error(f"{args.file_path} has {len(lines)} lines, fewer than offset {args.offset}.")
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[args.offset - 1 : args.offset - 1 + args.limit], start=args.offset):
        cut = f" [line cut: {len(line)} characters]" if len(line) > LONGEST_LINE else ""
        shown.append(f"{number:6}\t{line[:LONGEST_LINE]}{cut}")
        size += len(shown[-1]) + 1
        if size > LARGEST_PAGE:
            break
    last = args.offset + len(shown) - 1
    if last < len(lines):
        shown.append(f"[lines {args.offset}-{last} of {len(lines)}; go on with offset {last + 1}]")
    return ToolResult("\n".join(shown))
