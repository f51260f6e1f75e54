"""Reads a policy's text; every mistake is named with file, line, key and the nearest valid one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ci_agent.errors import PolicyError
from ci_agent.policy.grant import check_references
from ci_agent.policy.schema import Policy

__all__ = ["load_policy"]

LARGEST_POLICY_CHARACTERS = 256 * 1024

Location = tuple[int | str, ...]


def load_policy(text: str, name: str) -> Policy:
    """The policy in `text`, or a `PolicyError` whose line says what to change."""
    if len(text) > LARGEST_POLICY_CHARACTERS:
        raise PolicyError(f"{name}:1: the file is larger than {LARGEST_POLICY_CHARACTERS} characters")
    data, lines = _read_yaml(text, name)
    try:
        policy = Policy.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        first = min(details, key=lambda detail: _line(lines, detail["loc"]))
        raise PolicyError(f"{name}:{_line(lines, first['loc'])}: {_explain(first)}") from None
    for location, problem in check_references(policy):
        raise PolicyError(f"{name}:{_line(lines, location)}: {problem}")
    return policy


def _read_yaml(text: str, name: str) -> tuple[object, dict[Location, int]]:
    """The plain data, and the line on which each key and item stands."""
    lines: dict[Location, int] = {}
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise PolicyError(f"{name}:{line}: aliases are not supported, write the value out")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is not None:
            _number(root, (), lines, name)
        return yaml.safe_load(text) or {}, lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise PolicyError(f"{name}:{mark.line + 1 if mark else 1}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise PolicyError(f"{name}:1: not YAML: {error}") from None


def _number(node: yaml.Node, location: Location, lines: dict[Location, int], name: str) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise PolicyError(
                    f"{name}:{key.start_mark.line + 1}: a key must be plain text, put it in quotes: {key.value!r}"
                )
            here = (*location, str(key.value))
            if here in lines:
                raise PolicyError(
                    f'{name}:{key.start_mark.line + 1}: key "{key.value}" stands twice, first on line {lines[here]}'
                )
            lines[here] = key.start_mark.line + 1
            _number(value, here, lines, name)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[*location, index] = item.start_mark.line + 1
            _number(item, (*location, index), lines, name)
    else:
        _check_scalar(node, name)


def _check_scalar(node: yaml.Node, name: str) -> None:
    """A value that YAML takes for a date or a number must be one."""
    try:
        yaml.SafeLoader("").construct_object(node)
    except (ValueError, AttributeError, OverflowError, yaml.YAMLError) as error:
        problem = getattr(error, "problem", None) or error
        line = node.start_mark.line + 1 if node.start_mark else 1
        raise PolicyError(
            f"{name}:{line}: {str(node.value)[:60]!r} cannot be read: {problem}; put it in quotes"
        ) from None


def _line(lines: dict[Location, int], location: Iterable[int | str]) -> int:
    """The line of a location, or of the nearest thing around it."""
    path = tuple(part for part in location if part != "[key]")
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1


def _explain(detail: ErrorDetails) -> str:
    location = detail["loc"]
    key = ".".join(str(part) for part in location if part != "[key]")
    match detail["type"]:
        case "extra_forbidden":
            return f'unknown key "{key}"{_nearest(str(location[-1]), _keys_at(location[:-1]))}'
        case "enum" if location[-1] == "[key]":
            valid = [part.strip(" '") for part in detail.get("ctx", {})["expected"].replace(" or ", ",").split(",")]
            return f'unknown key "{key}"{_nearest(str(location[-2]), valid)}'
        case "missing":
            return f'key "{key}" is missing{", add: version: 1" if key == "version" else ""}'
        case "model_type" if not location:
            return "the file must hold keys and values, starting with: version: 1"
        case _:
            return f'"{key}": {detail["msg"]}, not {detail["input"]!r}'


def _nearest(key: str, valid: list[str]) -> str:
    close = difflib.get_close_matches(key, valid, n=1, cutoff=0.5)
    return f', did you mean "{close[0]}"?' if close else f"; valid keys here: {', '.join(valid)}"


def _keys_at(location: Location) -> list[str]:
    """The keys that the schema knows at a place."""
    model: type[BaseModel] | None = Policy
    for part in location:
        field = model.model_fields.get(str(part)) if model else None
        # Below a mapping of names (`profiles`) the next part is a free name; its values carry the model.
        model = _model_of(field.annotation) if field else model
    return list(model.model_fields) if model else []


def _model_of(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_of(part))), None)
