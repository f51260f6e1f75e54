"""Owns a run: records every notice, hands it on, and knows how the run ended."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ci_agent.models.pricing import load_prices
from ci_agent.types.notices import Decided, Notice, Terminal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ci_agent.loop.run import Conversation
    from ci_agent.session.store import ArtifactStore
    from ci_agent.session.transcript import Record, Recorder

__all__ = ["Ended", "Engine"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, and how long it took."""

    terminal: Terminal
    seconds: float


@dataclass(frozen=True, slots=True)
class Engine:
    """One run over one conversation."""

    conversation: Conversation
    recorder: Recorder
    store: ArtifactStore
    emit: Callable[[Record], None]

    async def run(self, facts: Record) -> AsyncGenerator[Notice | Ended, None]:
        """Every notice as it happens, then `Ended`."""
        started = time.monotonic()
        self._keep(self.recorder.init({**facts, "prompt": self._prompt()}))
        async with aclosing(self.conversation.run()) as notices:
            async for notice in notices:
                self._keep(self.recorder.record(notice))
                if isinstance(notice, Decided):
                    self._ledger(notice)
                yield notice
                if isinstance(notice, Terminal):
                    yield Ended(notice, time.monotonic() - started)

    def finish(self, ended: Ended, text: str) -> Record:
        """Write what only the end knows, and give the last record."""
        result = self._keep(self.recorder.result(ended.terminal, text, ended.seconds))
        usage = {
            "model": self.conversation.grant.model,
            "turns": ended.terminal.turns,
            "usage": asdict(ended.terminal.usage),
            "total_cost_usd": ended.terminal.cost_usd,
            "prices_as_of": load_prices().as_of,
            **self.conversation.meter.report(),
        }
        self.store.write_json("usage.json", usage)
        return result

    def _keep(self, record: Record) -> Record:
        """Put a record on disk and show it; only its redacted form goes on."""
        clean = self.store.append("transcript.jsonl", record)
        self.emit(clean)
        return clean

    def _ledger(self, notice: Decided) -> None:
        call = {"tool": notice.call.name, "input": notice.call.input, "tool_use_id": notice.call.id}
        decision = asdict(notice.decision)
        decision["decision"] = "allow" if decision.pop("allowed") else "deny"
        self.store.append("ledger.jsonl", {"call": call, **decision})

    def _prompt(self) -> Record:
        prompt = self.conversation.prompt
        parts = {"system": prompt.system, "user": prompt.user}
        return {
            role: [{"source": part.source, "cache": part.cache.value, "text": part.text} for part in sections]
            for role, sections in parts.items()
        }
