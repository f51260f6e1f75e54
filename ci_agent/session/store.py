"""The artifact folder. Nothing reaches the disk before it was redacted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci_agent.errors import CiAgentError, ConfigError
from ci_agent.types.messages import whole

__all__ = ["ArtifactStore", "cleaned"]

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]


def cleaned(value: object, redact: Callable[[str], str]) -> Json:
    """Plain JSON data with every string, keys too, redacted."""
    match value:
        case str():
            return whole(redact(value))
        case float() if not math.isfinite(value):
            # JSON has no such number, and one would make the line unreadable for others.
            return str(value)
        case bool() | int() | float() | None:
            return value
        case Mapping():
            return {redact(str(key)): cleaned(item, redact) for key, item in value.items()}
        case list() | tuple():
            return [cleaned(item, redact) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} is not JSON")


@dataclass(frozen=True, slots=True)
class ArtifactStore:
    """Files of one run."""

    folder: Path
    redact: Callable[[str], str]

    @classmethod
    def open(cls, folder: Path, redact: Callable[[str], str]) -> ArtifactStore:
        """Make the folder; one that cannot be written is the operator's to mend."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            store = cls(folder, redact)
            for name in ("transcript.jsonl", "ledger.jsonl"):
                store.path(name).write_text("", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"the artifact folder {folder} cannot be written: {error.strerror}", hint="check RUNNER_TEMP"
            ) from None
        return store

    def path(self, name: str) -> Path:
        """Where a file of the run is."""
        return self.folder / name

    def append(self, name: str, record: Mapping[str, object]) -> dict[str, object]:
        """One more line, on disk at once, so that a killed run leaves what it did. Gives the redacted record."""
        clean = {self.redact(key): cleaned(value, self.redact) for key, value in record.items()}
        self._write(name, json.dumps(clean, ensure_ascii=False) + "\n", mode="a")
        return dict(clean)

    def write_json(self, name: str, record: Mapping[str, object]) -> None:
        """A whole file."""
        text = json.dumps(cleaned(record, self.redact), ensure_ascii=False, indent=2)
        self._write(name, text + "\n", mode="w")

    def _write(self, name: str, text: str, mode: str) -> None:
        try:
            with self.path(name).open(mode, encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise CiAgentError(f"{self.path(name)} cannot be written: {error.strerror}") from None
