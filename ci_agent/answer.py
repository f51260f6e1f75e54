"""The costly half of a run: context, loop, tools, outbox, post."""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ci_agent import __version__
from ci_agent.context.gather import freeze_thread
from ci_agent.context.instructions import read_instructions
from ci_agent.context.prompt import build_prompt, local_prompt
from ci_agent.context.untrusted import Wrapper
from ci_agent.errors import CiAgentError, ConfigError
from ci_agent.github.repo import GitRepo
from ci_agent.loop.budget import Deadline, Meter
from ci_agent.loop.engine import Ended, Engine
from ci_agent.loop.run import Conversation
from ci_agent.outputs.comment import RunFacts, explain, render_comment
from ci_agent.outputs.plan import make_plan
from ci_agent.outputs.post import post_comment
from ci_agent.outputs.progress import describe
from ci_agent.outputs.sanitise import Sanitiser
from ci_agent.outputs.summary import render_summary
from ci_agent.policy.paths import PathPolicy
from ci_agent.provide import make_model
from ci_agent.session.spill import Spill
from ci_agent.session.store import ArtifactStore
from ci_agent.session.transcript import Recorder
from ci_agent.settings import Mode
from ci_agent.tools.executor import Executor
from ci_agent.tools.registry import specs
from ci_agent.tools.seen import SeenFiles
from ci_agent.types.notices import Reason
from ci_agent.types.outputs import Comment
from ci_agent.types.tools import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from ci_agent.admit import Case
    from ci_agent.context.prompt import Prompt
    from ci_agent.github.client import GitHubClient
    from ci_agent.models.base import Model
    from ci_agent.redact import Redactor
    from ci_agent.session.transcript import Record
    from ci_agent.settings import Settings
    from ci_agent.types.notices import Terminal
    from ci_agent.types.outputs import Plan, Posted
    from ci_agent.types.tasks import Grant

__all__ = ["Outside", "Result", "answer_event", "answer_local"]

CONCLUSIONS = {
    Reason.COMPLETED: ("success", 0),
    Reason.MAX_TURNS: ("partial", 4),
    Reason.BUDGET_USD: ("partial", 4),
    Reason.BUDGET_TOKENS: ("partial", 4),
    Reason.DEADLINE: ("partial", 4),
    Reason.CANCELLED_STREAMING: ("cancelled", 130),
    Reason.CANCELLED_TOOLS: ("cancelled", 130),
}
FAILED = ("failure", 1)
LONGEST_NOTE = 200


@dataclass(frozen=True, slots=True)
class Outside:
    """Where a run shows itself while it goes on."""

    show: Callable[[str], None]
    emit: Callable[[Record], None]
    redact: Redactor


@dataclass(frozen=True, slots=True)
class Session:
    """What a conversation runs on."""

    id: str
    root: Path
    grant: Grant
    model: Model
    store: ArtifactStore
    # What marks the contents of files as data; None where they are the asker's own.
    wrapper: Wrapper | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a run left behind."""

    record: Record
    terminal: Terminal
    folder: Path
    conclusion: str
    exit_code: int
    summary: str = ""
    posted: Posted | None = None
    problem: str = ""


def answer_event(settings: Settings, case: Case, client: GitHubClient, outside: Outside) -> Result:
    """Read the thread, ask the model, post the answer."""
    model = make_model(settings)
    store = ArtifactStore.open(settings.artifacts, outside.redact)
    target = case.task.target
    thread = freeze_thread(client.newest_comments(target.issue_number), target)
    wrapper = Wrapper.fresh()
    prompt = build_prompt(case.task, case.trust, thread, read_instructions(case.source.read), wrapper)
    facts: Record = {
        "task": case.task.kind.value,
        "actor": case.trust.login,
        "tier": case.trust.tier.value,
        "evidence": case.trust.evidence,
        "policy": f"{settings.policy} at {case.source.label}",
        "target": asdict(target),
    }
    files_of_strangers = wrapper if _may_hold_strangers_files(settings, case) else None
    session = Session(settings.session_id, settings.workspace, case.grant, model, store, files_of_strangers)
    engine, ended = converse(session, prompt, outside, facts)
    _refuse_wrong_address(settings, ended.terminal)
    # What was paid for is posted first: a job that is cancelled has some seconds left for that.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    return _deliver(settings, case, client, outside, engine, ended, thread.notes)


def _may_hold_strangers_files(settings: Settings, case: Case) -> bool:
    """Whether the checkout may be a pull request's. Only the trusted commit itself is the repository's own word."""
    head = GitRepo(settings.workspace).commit_of("HEAD")
    return case.task.is_pull_request or head is None or head != case.source.commit


def answer_local(
    settings: Settings, grant: Grant, request: str, read: Callable[[str], str | None], outside: Outside
) -> Result:
    """Ask the model about the current directory and print the answer; nothing is posted."""
    model = make_model(settings)
    root = Path.cwd()
    store = ArtifactStore.open(root / ".ci-agent" / settings.session_id, outside.redact)
    prompt = local_prompt(request, read_instructions(read))
    engine, ended = converse(Session(settings.session_id, root, grant, model, store), prompt, outside, {"task": "exec"})
    _refuse_wrong_address(settings, ended.terminal)
    conclusion, exit_code = CONCLUSIONS.get(ended.terminal.reason, FAILED)
    record = engine.finish(ended, outside.redact(explain(ended.terminal)))
    return Result(record, ended.terminal, store.folder, conclusion, exit_code)


def converse(session: Session, prompt: Prompt, outside: Outside, facts: Record) -> tuple[Engine, Ended]:
    """Run the loop to its end."""
    gc.enable()
    grant = session.grant

    async def go() -> tuple[Engine, Ended]:
        deadline = Deadline(grant.minutes * 60)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, deadline.cut)
        shelf = Spill(session.store.folder / "results", outside.redact)
        paths = PathPolicy(session.root, grant.deny, also_readable=shelf.folder)
        executor = Executor(
            grant, ToolContext(paths, seen=SeenFiles()), outside.redact, shelf=shelf, wrapper=session.wrapper
        )
        conversation = Conversation(prompt, grant, specs(grant), session.model, executor, deadline, Meter(grant))
        engine = Engine(conversation, Recorder(session.id), session.store, outside.emit)
        start = {
            "version": __version__,
            "model": grant.model,
            "profile": grant.profile,
            "tools": sorted(grant.tools),
        }
        try:
            async with aclosing(engine.run({**start, **facts})) as stream:
                async for item in stream:
                    if isinstance(item, Ended):
                        return engine, item
                    for line in describe(item, outside.redact):
                        outside.show(line)
        finally:
            await session.model.close()
        raise AssertionError("a run ends with Ended")

    return asyncio.run(go())


def _refuse_wrong_address(settings: Settings, terminal: Terminal) -> None:
    """A model address somebody chose and that nothing answers at is a mistake in the configuration."""
    if terminal.reason is Reason.MODEL_ERROR and settings.anthropic_base_url and not terminal.reached:
        raise ConfigError(
            f"no model answers at ANTHROPIC_BASE_URL {settings.anthropic_base_url}: {terminal.detail}",
            hint="correct anthropic-base-url",
        )


def _deliver(
    settings: Settings,
    case: Case,
    client: GitHubClient,
    outside: Outside,
    engine: Engine,
    ended: Ended,
    notes: tuple[str, ...],
) -> Result:
    """Plan, write the files, post, and say what became of it."""
    terminal, target = ended.terminal, case.task.target
    sanitise = Sanitiser(frozenset({_host(settings.server_url)}), target.repository)
    plan = make_plan([Comment(explain(terminal))], case.grant, sanitise, outside.redact)
    safe = [sanitise.line(_short(outside.redact(denial))) for denial in _denials(engine)]
    dropped = tuple(f"{drop.kind.value} not posted: {drop.reason}" for drop in plan.dropped)
    facts = RunFacts(case.grant.model, _run_url(settings), safe, (*notes, *dropped, *_unpriced(terminal)))
    posted, problem = None, "".join(f"nothing was posted: {note}" for note in dropped if not plan.outputs)
    try:
        _write_outputs_file(engine, settings.mode, asdict(target), plan)
        if settings.mode is Mode.PUBLISH and plan.outputs:
            body = render_comment(target.trigger_id, plan.outputs[0].body, terminal, facts)
            posted = post_comment(client, target, body)
    except CiAgentError as error:
        problem = f"the answer could not be posted: {error}"
    conclusion, exit_code = CONCLUSIONS.get(terminal.reason, FAILED)
    if problem:
        conclusion, exit_code = FAILED
    headline = {
        Mode.PUBLISH: "ci_agent",
        Mode.PROPOSE: "ci_agent proposes",
        Mode.STAGE: "ci_agent would post",
    }[settings.mode]
    policy = f"{settings.policy} at {case.source.label}"
    summary = render_summary(headline, plan, terminal, facts, case.trust, case.grant, policy)
    text = "\n\n".join(output.body for output in plan.outputs)
    record = engine.finish(ended, text)
    return Result(record, terminal, engine.store.folder, conclusion, exit_code, summary, posted, problem)


def _denials(engine: Engine) -> list[str]:
    return [f"{denial['tool_name']}: {denial['reason']}" for denial in engine.recorder.denials]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}…"


def _unpriced(terminal: Terminal) -> list[str]:
    unknown = terminal.cost_usd is None and terminal.usage.prompt_tokens > 0
    return ["The budget in US dollars had no effect: no price is known for this model."] if unknown else []


def _write_outputs_file(engine: Engine, mode: Mode, target: Record, plan: Plan) -> None:
    record: Record = {
        "version": 1,
        "session_id": engine.recorder.session_id,
        "mode": mode.value,
        "target": target,
        "outputs": [{"kind": output.kind.value, "body": output.body} for output in plan.outputs],
        "dropped": [{"kind": drop.kind.value, "reason": drop.reason} for drop in plan.dropped],
    }
    engine.store.write_json("outputs.json", record)


def _run_url(settings: Settings) -> str:
    return f"{settings.server_url}/{settings.repository}/actions/runs/{settings.run_id}" if settings.run_id else ""


def _host(address: str) -> str:
    return address.split("://", 1)[-1].split("/", 1)[0].split(":", 1)[0].lower()
