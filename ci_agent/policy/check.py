"""`policy check` and `policy schema`."""

from __future__ import annotations

import json
from pathlib import Path

from ci_agent.errors import PolicyError
from ci_agent.policy.load import load_policy
from ci_agent.policy.schema import Policy

__all__ = ["check_file", "print_schema"]


def check_file(name: str) -> int:
    """Say that a file is right, or raise with the line that is not."""
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{name} cannot be read: {error}", hint="name a policy file") from None
    load_policy(text, name)
    print(f"{name}: ok")  # noqa: T201 - the command's answer
    return 0


def print_schema() -> int:
    """Print the JSON Schema, for editors and other checkers."""
    print(json.dumps(Policy.model_json_schema(), indent=2))  # noqa: T201 - the command's answer
    return 0
