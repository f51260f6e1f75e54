"""Finding files by name and text by pattern."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ci_agent.policy.paths import PathRefused
from ci_agent.policy.rules import glob_expression
from ci_agent.tools.base import tool
from ci_agent.types.tools import Effect, ToolContext, ToolResult

__all__ = ["glob", "grep"]

WORKER = Path(__file__).with_name("walk.py")
SECONDS = 20.0
MOST_FILES = 500
LARGEST_ROW_BYTES = 1024 * 1024


class FindFiles(BaseModel, extra="forbid"):
    """Which files to find."""

    pattern: str = Field(min_length=1, max_length=1_000, description="Glob such as src/**/*.py.")
    path: str = Field(".", description="Folder to look in, relative to the repository's root.")


class SearchText(BaseModel):
    """What to search for."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    pattern: str = Field(min_length=1, max_length=1_000, description="Python regular expression, matched line by line.")
    path: str = Field(".", description="File or folder to search, relative to the repository's root.")
    glob: str = Field("", description="Only files that match this glob, such as *.py.")
    output_mode: Literal["content", "files_with_matches"] = Field("content", description="Lines, or only file names.")
    ignore_case: bool = Field(default=False, alias="-i", description="Ignore upper and lower case.")
    head_limit: int = Field(200, ge=1, le=1_000, description="How many lines or files to show at the most.")


@tool("Glob", effect=Effect.READ, parallel=True)
async def glob(args: FindFiles, ctx: ToolContext) -> ToolResult:
    """Find files of the repository by a glob pattern. Gives their paths, sorted."""
    return await _run(ctx, args.path, {"glob": _regex(args.pattern)}, MOST_FILES, lambda row: str(row[0]))


@tool("Grep", effect=Effect.READ, parallel=True)
async def grep(args: SearchText, ctx: ToolContext) -> ToolResult:
    """Search the repository's text files with a regular expression. Gives path:line:text for each matching line."""
    job = {"glob": _regex(args.glob), "regex": args.pattern, "ignore_case": args.ignore_case}
    only_names = args.output_mode == "files_with_matches"
    return await _run(
        ctx,
        args.path,
        job,
        args.head_limit,
        lambda row: str(row[0]) if only_names else ":".join(map(str, row)),
    )


def _regex(pattern: str) -> str:
    return glob_expression(pattern).pattern if pattern else ""


async def _run(
    ctx: ToolContext, path: str, job: dict[str, object], limit: int, show: Callable[[list[object]], str]
) -> ToolResult:
    """Run a job in the worker and collect what may be shown, up to the limit."""
    try:
        start = ctx.paths.resolve_readable(path)
    except PathRefused as refusal:
        return ToolResult.error(str(refusal))
    if not start.exists():
        return ToolResult.error(f"{path} does not exist.")
    base = _base(ctx, start)
    whole = {
        "root": str(base),
        "start": str(start),
        "glob": "",
        "regex": "",
        "ignore_case": False,
        **job,
    }
    lines: dict[str, None] = {}
    note = ""
    try:
        async with asyncio.timeout(SECONDS), aclosing(_work(whole)) as rows:
            async for row in rows:
                if base != ctx.paths.root:
                    row[0] = ctx.paths.show(base / str(row[0]))
                elif not ctx.paths.may_read(base / str(row[0])):
                    continue
                if len(lines) == limit:
                    note = f"[cut at {limit}; narrow the pattern or the path]"
                    break
                lines[show(row)] = None
    except TimeoutError:
        note = f"[stopped after {SECONDS:.0f} s; narrow the pattern or the path]"
    except WorkerFailed as failure:
        return ToolResult.error(f"the search failed: {failure}")
    shown = [*lines, note] if note else [*lines]
    return ToolResult("\n".join(shown) if shown else "No match.")


def _base(ctx: ToolContext, start: Path) -> Path:
    """What found paths are relative to. Beside the workspace lies only what this program kept itself."""
    if start.is_relative_to(ctx.paths.root):
        return ctx.paths.root
    return start if start.is_dir() else start.parent


class WorkerFailed(Exception):
    """The worker ended with an error."""


async def _work(job: dict[str, object]) -> AsyncGenerator[list[object], None]:
    """Rows from the worker, which is gone when this generator is closed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(WORKER),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={}, cwd="/", limit=LARGEST_ROW_BYTES,
    )  # fmt: skip
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise AssertionError("pipes were asked for")
    try:
        process.stdin.write(json.dumps(job).encode())
        process.stdin.close()
        async for line in process.stdout:
            yield json.loads(line)
        error = (await process.stderr.read()).decode("utf-8", "replace").strip()
        if await process.wait() != 0:
            raise WorkerFailed(error.splitlines()[-1] if error else f"exit code {process.returncode}")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
