"""The artifact folder."""

import json
from pathlib import Path

import pytest

from ci_agent.errors import ConfigError
from ci_agent.session.store import ArtifactStore


def hide(text: str) -> str:
    return text.replace("secret", "[redacted]")


def test_every_string_is_redacted_before_it_reaches_the_disk(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path / "a", hide)
    record = {"secret": [{"x": "a secret"}, ("secret",)], "n": 1, "none": None}
    shown = store.append("transcript.jsonl", record)
    store.write_json("usage.json", record)
    for text in (*(path.read_text() for path in store.folder.iterdir()), json.dumps(shown)):
        assert "secret" not in text
    assert json.loads(store.path("usage.json").read_text())["n"] == 1


def test_folder_that_cannot_be_written_is_the_operators_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        ArtifactStore.open(tmp_path / "file" / "a", hide)


def test_number_that_json_does_not_know_leaves_the_line_readable(tmp_path: Path) -> None:
    def unknown(name: str) -> None:
        raise AssertionError(name)

    store = ArtifactStore.open(tmp_path, str)
    store.append("transcript.jsonl", {"input": {"x": float("inf"), "y": [float("nan")]}})
    record = json.loads(store.path("transcript.jsonl").read_text(), parse_constant=unknown)
    assert record["input"] == {"x": "inf", "y": ["nan"]}
