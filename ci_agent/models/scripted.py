"""A model that plays a YAML script: for the demo, for tests, and for trying a policy without a key.

A script is a list of turns. Each call plays the next turn whose `when` holds against the newest tool results:

    turns:
      - say: Looking for it.
        call:
          - {tool: Grep, input: {pattern: "def add"}}
      - when: {matches: '(?P<file>\\S+):(?P<line>\\d+):'}   # named groups become variables
        call:
          - {tool: Read, input: {file_path: "${file}"}}
      - when: {error: true}
        say: That tool was refused.
      - say: "It is in ${file}, line ${line}."
    facts: {context_tokens: 8000, max_output_tokens: 1000}   # what `describe` answers
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from string import Template
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from ci_agent.errors import ConfigError
from ci_agent.models.base import (
    UNKNOWN_MODEL,
    BlockDone,
    Failed,
    FailureKind,
    Finished,
    ModelEvent,
    ModelFacts,
    Request,
    Started,
    TextDelta,
)
from ci_agent.types.messages import (
    AssistantBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)

__all__ = ["Script", "ScriptedModel"]


class Part(BaseModel):
    """A piece of a script; a key we do not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class When(Part):
    """A condition on the newest tool results. All that is given must hold."""

    contains: str | None = None
    matches: str | None = None
    error: bool | None = None

    @field_validator("matches")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return pattern


class Call(Part):
    """A tool call to make."""

    tool: str
    input: dict[str, JsonValue] = {}


class Failure(Part):
    """A failure to play instead of an answer."""

    kind: FailureKind
    message: str = "scripted failure"


class Turn(Part):
    """One answer of the model."""

    name: str | None = None
    when: When | None = None
    think: str | None = None
    say: str | None = None
    call: tuple[Call, ...] = ()
    stop: str | None = None
    fail: Failure | None = None
    go_to: str | None = Field(None, description="Name of the turn that the next call starts from.")
    usage: dict[str, int] = {}


class Facts(Part):
    """How large the model pretends to be."""

    context_tokens: int = Field(UNKNOWN_MODEL.context_tokens, ge=1)
    max_output_tokens: int = Field(UNKNOWN_MODEL.max_output_tokens, ge=1)


class Script(Part):
    """A whole script."""

    turns: tuple[Turn, ...] = Field(min_length=1)
    facts: Facts = Facts()

    @classmethod
    def parse(cls, text: str, name: str) -> Self:
        """A script from YAML, or one line that says what is wrong with it."""
        try:
            return cls.model_validate(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise ConfigError(f"script {name} is not YAML: {str(error).splitlines()[0]}") from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the top level"
            raise ConfigError(f"script {name} is wrong at {place}: {first['msg']}") from None

    @classmethod
    def load(cls, path: Path) -> Self:
        """A script from a file."""
        try:
            return cls.parse(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"script {path} cannot be read: {error}", hint="correct CI_AGENT_SCRIPT") from None


class ScriptedModel:
    """Plays a script, one turn a call."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._position = 0
        self._calls = 0
        self._messages = 0
        self._variables: dict[str, str] = {}

    async def close(self) -> None:
        """Nothing to give back."""

    async def describe(self, name: str) -> ModelFacts:
        """What the script says, for every name."""
        facts = self._script.facts
        return ModelFacts(facts.context_tokens, facts.max_output_tokens)

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The next turn whose condition holds."""
        turn = self._choose(request)
        if turn is None:
            yield Failed(FailureKind.INVALID_REQUEST, "the script has no turn left whose condition holds")
            return
        if turn.fail is not None:
            yield Failed(turn.fail.kind, turn.fail.message)
            return
        self._messages += 1
        yield Started(request.model, f"msg_scripted_{self._messages}")
        for block in self._blocks(turn):
            if isinstance(block, TextBlock):
                yield TextDelta(block.text)
            yield BlockDone(block)
        yield Finished(turn.stop or ("tool_use" if turn.call else "end_turn"), Usage(**turn.usage))

    def _choose(self, request: Request) -> Turn | None:
        last = request.messages[-1].content if request.messages else ()
        results = [block for block in last if isinstance(block, ToolResultBlock)]
        for index in range(self._position, len(self._script.turns)):
            turn = self._script.turns[index]
            if turn.when is None or self._holds(turn.when, results):
                self._position = self._after(turn, index)
                return turn
        return None

    def _after(self, turn: Turn, index: int) -> int:
        names = [other.name for other in self._script.turns]
        return names.index(turn.go_to) if turn.go_to in names and turn.go_to else index + 1

    def _holds(self, when: When, results: list[ToolResultBlock]) -> bool:
        text = "\n".join(result.content for result in results)
        if when.error is not None and when.error != any(result.is_error for result in results):
            return False
        if when.contains is not None and when.contains not in text:
            return False
        if when.matches is not None:
            found = re.search(when.matches, text, re.MULTILINE)
            if found is None:
                return False
            self._variables |= {name: value or "" for name, value in found.groupdict().items()}
        return True

    def _blocks(self, turn: Turn) -> Iterator[AssistantBlock]:
        if turn.think is not None:
            yield ThinkingBlock(self._filled(turn.think), "scripted")
        if turn.say is not None:
            yield TextBlock(self._filled(turn.say).strip())
        for call in turn.call:
            self._calls += 1
            filled = {key: self._filled_value(value) for key, value in call.input.items()}
            yield ToolUseBlock(f"toolu_scripted_{self._calls}", call.tool, filled)

    def _filled(self, text: str) -> str:
        return Template(text).safe_substitute(self._variables)

    def _filled_value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._filled(value)
            case list():
                return [self._filled_value(item) for item in value]
            case dict():
                return {key: self._filled_value(item) for key, item in value.items()}
            case _:
                return value
