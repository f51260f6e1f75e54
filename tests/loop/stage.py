"""A conversation on a stage: the real loop, executor and SDK over HTTP, with tools that a test needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ci_agent.context.prompt import CacheClass, Prompt, Section
from ci_agent.loop.budget import Deadline, Meter
from ci_agent.loop.repairs import Pace
from ci_agent.loop.run import Conversation
from ci_agent.models.base import Model
from ci_agent.models.providers import anthropic_model
from ci_agent.policy.grant import Limits, make_grant
from ci_agent.policy.paths import PathPolicy
from ci_agent.policy.schema import Policy
from ci_agent.tools.base import Tool, tool
from ci_agent.tools.executor import Executor
from ci_agent.tools.registry import TOOLS
from ci_agent.types.hooks import Hooks, NoHooks
from ci_agent.types.messages import ToolSpec
from ci_agent.types.notices import Continued, ModelCalled, Notice, Terminal
from ci_agent.types.tasks import Grant
from ci_agent.types.tools import Effect, ResultShelf, ToolContext, ToolResult, WholeResults
from tests.fakes.messages import FakeMessages

QUICK = Pace(base=0.001, rate_limit_base=0.001, most=0.002)
GOAL = "Find out why the build is slow."


class Nap(BaseModel, extra="forbid"):
    seconds: float = 0.0
    name: str = ""


@dataclass(slots=True)
class Log:
    """What the tools of a test did, in order."""

    lines: list[str] = field(default_factory=list)


def tools(log: Log, *, size: int = 0) -> dict[str, Tool]:
    """A tool of each kind, which write down when they begin and end."""

    async def body(args: Nap) -> ToolResult:
        log.lines.append(f"begin {args.name}")
        try:
            await asyncio.sleep(args.seconds)
        except asyncio.CancelledError:
            log.lines.append(f"cancelled {args.name}")
            raise
        log.lines.append(f"end {args.name}")
        return ToolResult(f"{args.name} done" + "x" * size)

    @tool("Look", effect=Effect.READ, parallel=True)
    async def look(args: Nap, ctx: ToolContext) -> ToolResult:
        """Look at something."""
        ctx.progress(f"looking at {args.name}")
        return await body(args)

    @tool("Alone", effect=Effect.EXECUTE, parallel=False)
    async def alone(args: Nap, ctx: ToolContext) -> ToolResult:
        """Run something alone."""
        return await body(args)

    @tool("Change", effect=Effect.WRITE, parallel=False)
    async def change(args: Changed, ctx: ToolContext) -> ToolResult:
        """Change a file."""
        log.lines.append(f"changed {args.file_path}")
        return ToolResult("changed" + "x" * size)

    @tool("Fail", effect=Effect.READ, parallel=True)
    async def fail(args: Nap, ctx: ToolContext) -> ToolResult:
        """Fail."""
        log.lines.append(f"fail {args.name}")
        raise ValueError("broken inside")

    @tool("Slow", effect=Effect.READ, parallel=True, seconds=0.05)
    async def slow(args: Nap, ctx: ToolContext) -> ToolResult:
        """Take longer than allowed."""
        return await body(args)

    own = (look, alone, change, fail, slow)
    return {**TOOLS, **{one.name: one for one in own}}


class Changed(BaseModel, extra="forbid"):
    file_path: str
    text: str = ""


_SPECS: dict[str, ToolSpec] = {}


def _spec(one: Tool) -> ToolSpec:
    """Making a schema is slow, and a test may begin thousands of conversations."""
    if one.name not in _SPECS:
        _SPECS[one.name] = one.spec()
    return _SPECS[one.name]


def grant(**changes: Any) -> Grant:
    """A grant with every tool and wide budgets."""
    made = make_grant(Policy(version=1), "review", Limits())
    every = frozenset({*TOOLS, "Look", "Alone", "Change", "Fail", "Slow"})
    wide: dict[str, Any] = {"tools": every, "max_turns": 500, "budget_usd": 1000.0}
    return replace(made, **{**wide, **changes})


def prompt(goal: str = GOAL) -> Prompt:
    """Two system sections and a goal."""
    return Prompt(
        system=(
            Section("rules", CacheClass.GLOBAL, "You are an agent. " * 50),
            Section("session", CacheClass.SESSION, "The nonce is 123."),
        ),
        user=(Section("request", CacheClass.SESSION, goal),),
    )


@dataclass(slots=True)
class Stage:
    """Everything a test may set before it plays."""

    api: FakeMessages
    folder: Path
    log: Log = field(default_factory=Log)
    grant: Grant = field(default_factory=grant)
    hooks: Hooks = field(default_factory=NoHooks)
    shelf: ResultShelf = field(default_factory=WholeResults)
    seconds: float = 60.0
    idle_seconds: float = 30.0
    pace: Pace = QUICK
    size: int = 0
    goal: str = GOAL
    context: dict[str, Any] = field(default_factory=dict)
    deadline: Deadline | None = None
    meter: Meter | None = None
    model: Model | None = None

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[Conversation]:
        """The conversation, not yet begun."""
        own = self.model is None
        model = self.model or anthropic_model(api_key="k", base_url=self.api.url, idle_seconds=self.idle_seconds)
        self.deadline = self.deadline or Deadline(self.seconds)
        self.meter = self.meter or Meter(self.grant)
        known = tools(self.log, size=self.size)
        context = ToolContext(PathPolicy(self.folder), **self.context)
        executor = Executor(self.grant, context, str, known, self.hooks, self.shelf)
        specs = tuple(_spec(one) for name, one in known.items() if name in self.grant.tools)
        try:
            yield Conversation(
                prompt(self.goal), self.grant, specs, model, executor, self.deadline, self.meter, self.pace
            )
        finally:
            if own:
                await model.close()

    async def play(self, watch: Callable[[Notice], None] = lambda notice: None) -> list[Notice]:
        """All notices of a run from start to end."""
        notices: list[Notice] = []
        async with self.conversation() as conversation, aclosing(conversation.run()) as stream:
            async for notice in stream:
                notices.append(notice)
                watch(notice)
        return notices


def end(notices: Sequence[Notice]) -> Terminal:
    """How it ended: one terminal, and it is the last."""
    terminals = [notice for notice in notices if isinstance(notice, Terminal)]
    assert len(terminals) == 1
    assert notices[-1] is terminals[0]
    return terminals[0]


def transitions(notices: Sequence[Notice]) -> list[str]:
    """Why it went on, each time."""
    return [notice.transition.value for notice in notices if isinstance(notice, Continued)]


def models(notices: Sequence[Notice]) -> list[str]:
    """Which models were asked."""
    return [notice.model for notice in notices if isinstance(notice, ModelCalled)]


def sent_texts(body: Any) -> str:
    """All text of a request's messages."""
    parts: list[str] = []
    for message in body["messages"]:
        for block in message["content"]:
            parts += [str(block.get("text", "")), str(block.get("content", "")), str(block.get("input", ""))]
    return "\n".join(parts)
