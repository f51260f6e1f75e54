"""What turns an annotated function into a tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel

from ci_agent.types.messages import ToolSpec
from ci_agent.types.tools import Effect, ToolContext, ToolResult

__all__ = ["Tool", "tool"]

# How long one call may take, unless the tool says otherwise.
SECONDS = 120.0

Arguments = TypeVar("Arguments", bound=BaseModel)
Body = Callable[[Arguments, ToolContext], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's name, arguments, flags and function, side by side.

    `own_words`: its results are this program's own words. Those of all others may be a stranger's.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    effect: Effect
    parallel: bool
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    seconds: float = SECONDS
    own_words: bool = False

    def spec(self) -> ToolSpec:
        """The tool as the model sees it; the schema is derived from the arguments."""
        schema = self.arguments.model_json_schema(by_alias=True)
        for part in (schema, *schema.get("$defs", {}).values()):
            for noise in ("title", "description"):
                part.pop(noise, None)
            for described in part.get("properties", {}).values():
                described.pop("title", None)
        return ToolSpec(self.name, self.description, schema)


def tool(
    name: str, *, effect: Effect, parallel: bool, seconds: float = SECONDS, own_words: bool = False
) -> Callable[[Body[Arguments]], Tool]:
    """Make a tool of a function; its first argument's type is the schema, its docstring the description."""

    def decorate(body: Body[Arguments]) -> Tool:
        arguments = get_type_hints(body)["args"]
        return Tool(name, inspect.getdoc(body) or "", arguments, effect, parallel, body, seconds, own_words)

    return decorate
