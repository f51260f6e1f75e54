"""Runs one command from start to finish: errors become one line and an exit code.

The costly half is imported only for an event that starts a run.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ci_agent.admit import admit, limits
from ci_agent.errors import CiAgentError, ConfigError
from ci_agent.github.runner import Console, annotation, append_summary, write_outputs
from ci_agent.policy.grant import make_grant, profile_name
from ci_agent.policy.source import TrustedSource, read_policy
from ci_agent.redact import Redactor
from ci_agent.settings import OutputFormat, Settings, load_settings
from ci_agent.types.events import Ignore
from ci_agent.types.tasks import TaskKind, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ci_agent.answer import Outside, Result

__all__ = ["guarded", "handle_event", "run_event", "run_local"]


def guarded(command: Callable[[Settings], int]) -> int:
    """Run a command; what the operator must act on becomes one line on stderr."""
    settings = None
    # A job that is cancelled gets SIGINT first and SIGTERM later; before a conversation begins both just end it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        settings = load_settings()
        return command(settings)
    except CiAgentError as error:
        redact = Redactor(settings.secrets if settings else ())
        in_actions = settings.in_actions if settings else False
        print(annotation("error", redact(str(error)), in_actions=in_actions), file=sys.stderr)  # noqa: T201
        if settings is not None:
            _tell_runner(settings, lambda: write_outputs(settings.output_file, {"conclusion": "failure"}))
        return error.exit_code
    except KeyboardInterrupt:
        print("ci_agent: cancelled before anything was posted", file=sys.stderr)  # noqa: T201
        return 130


def run_event(settings: Settings) -> int:
    """`run`: the event of this job, start to finish."""
    result = handle_event(settings)
    if isinstance(result, Ignore):
        return _ignored(settings, result)
    _print_result(settings, result)
    if result.problem:
        problem = Redactor(settings.secrets)(result.problem)
        print(annotation("error", problem, in_actions=settings.in_actions), file=sys.stderr)  # noqa: T201
    return result.exit_code


def handle_event(settings: Settings) -> Result | Ignore:
    """Answer the event and leave the runner's files behind; what to print is the caller's."""
    case = admit(settings)
    if isinstance(case, Ignore):
        return case
    from ci_agent.answer import answer_event
    from ci_agent.github.client import GitHubClient

    outside = _outside(settings)
    who = f"{case.trust.login} ({case.trust.tier.value}: {case.trust.evidence})"
    outside.show(f"asked by {who}; profile {case.grant.profile}; policy from {case.source.label}")
    client = GitHubClient(settings.api_url, settings.github_token.get_secret_value(), case.task.target.repository)
    with closing(client):
        result = answer_event(settings, case, client, outside)
    if result.posted:
        outside.show(f"{'updated' if result.posted.updated else 'posted'}: {result.posted.url}")
    _leave_files(settings, outside, result)
    return result


def run_local(settings: Settings, request: str) -> int:
    """`exec`: the agent on the current directory, without GitHub."""
    if not request.strip():
        raise ConfigError("the prompt is empty", hint="give it as an argument or on stdin")
    source = TrustedSource("the working tree", _read_here)
    policy = read_policy(source, settings.policy)
    profile = profile_name(policy, TaskKind.MENTION, Tier.OWNER)
    from ci_agent.answer import answer_local

    outside = _outside(settings)
    result = answer_local(settings, make_grant(policy, profile, limits(settings)), request, source.read, outside)
    _print_result(settings, result)
    outside.show(f"files: {result.folder}")
    return result.exit_code


def _read_here(name: str) -> str | None:
    path = Path(name)
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def _outside(settings: Settings) -> Outside:
    from ci_agent.answer import Outside

    redact = Redactor(settings.secrets)
    console = Console()
    streams = settings.output_format is OutputFormat.STREAM_JSON
    return Outside(
        show=lambda line: console.say(redact(line)),
        emit=_print_json if streams else lambda record: None,
        redact=redact,
    )


def _print_json(record: Mapping[str, object]) -> None:
    # The runner finds its old command mark anywhere in a line; as an escape it is the same JSON and no mark.
    line = json.dumps(record, ensure_ascii=False).replace("##[", "#\\u0023[")
    print(line, flush=True)  # noqa: T201 - stdout is the product of these formats


def _ignored(settings: Settings, ignore: Ignore) -> int:
    """Nothing to do is a good end; it says why."""
    if settings.output_format is OutputFormat.TEXT:
        Console(sys.stdout).say(f"ci_agent: nothing to do: {ignore.reason}")
    else:
        _print_json(
            {
                "type": "result",
                "subtype": "ignored",
                "is_error": False,
                "num_turns": 0,
                "result": ignore.reason,
            }
        )
    _tell_runner(settings, lambda: write_outputs(settings.output_file, {"conclusion": "skipped"}))
    return 0


def _print_result(settings: Settings, result: Result) -> None:
    match settings.output_format:
        case OutputFormat.TEXT:
            Console(sys.stdout).say(str(result.record["result"]))
        case OutputFormat.JSON:
            _print_json(result.record)
        case OutputFormat.STREAM_JSON:
            pass


def _leave_files(settings: Settings, outside: Outside, result: Result) -> None:
    """The step summary and the step's outputs."""
    cost = result.terminal.cost_usd
    values = {
        "conclusion": result.conclusion,
        "session-id": settings.session_id,
        "comment-url": result.posted.url if result.posted else "",
        "check-run-url": "",
        "cost-usd": "" if cost is None else f"{cost:.6f}",
        "turns": str(result.terminal.turns),
        "transcript-path": str(result.folder / "transcript.jsonl"),
        "report-path": "",
        "outputs-path": str(result.folder / "outputs.json"),
        "structured-output": json.dumps(result.record, ensure_ascii=False),
    }
    _tell_runner(settings, lambda: append_summary(settings.summary_file, outside.redact(result.summary)))
    _tell_runner(settings, lambda: write_outputs(settings.output_file, values))


def _tell_runner(settings: Settings, write: Callable[[], None]) -> None:
    """Write one of the runner's files. One that cannot be written costs a warning, not the run behind it."""
    try:
        write()
    except OSError as error:
        text = f"{error.filename} cannot be written: {error.strerror}"
        print(annotation("warning", text, in_actions=settings.in_actions), file=sys.stderr)  # noqa: T201
