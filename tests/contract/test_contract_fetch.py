"""The descriptions are fetched whole, unaltered and only once."""

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tests.contract import description, fetch


def _archive(folder: Path, **files: str) -> Path:
    path = folder / "package.tgz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return path


def _integrity(archive: Path) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()


def test_an_archive_with_another_hash_is_refused(tmp_path: Path) -> None:
    archive = _archive(tmp_path, wanted="text")
    pinned = _integrity(archive)
    fetch.check_integrity(archive, pinned)
    archive.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(fetch.FetchError, match="its sha512 is"):
        fetch.check_integrity(archive, pinned)


def test_only_the_needed_file_is_unpacked(tmp_path: Path) -> None:
    target = tmp_path / "out" / "kept.json"
    target.parent.mkdir()
    fetch.unpack(_archive(tmp_path, wanted="{}", other="x"), "package/wanted", target)
    assert [(path.name, path.read_text()) for path in target.parent.iterdir()] == [("kept.json", "{}")]


def test_what_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fetch.FetchError, match="npm is not installed"):
        fetch.fetch(tmp_path / "empty")
    for package in (fetch.OPENAPI, fetch.GRAPHQL):
        (tmp_path / package.kept_as).write_text("{}")
    assert [path.name for path in fetch.fetch(tmp_path)] == ["openapi-23.0.2.json", "schema-15.26.1.graphql"]


def test_the_cache_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI_AGENT_CONTRACT_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fetch.cache_folder() == tmp_path / "ci-agent" / "contract"
    monkeypatch.setenv("CI_AGENT_CONTRACT_DIR", str(tmp_path / "own"))
    assert fetch.cache_folder() == tmp_path / "own"


def test_a_description_is_cut_to_what_is_served() -> None:
    text = {"type": "string", "description": "prose"}
    thing = {"type": "object", "properties": {"description": text, "next": {"$ref": "#/components/schemas/next"}}}
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/thing"}}}}}
    enum = {"type": "string", "nullable": True, "enum": ["a"]}
    spec = {
        "openapi": "3.0.3",
        "paths": {"/a": {"get": {"summary": "s", "responses": answer}, "post": {}}, "/b": {"get": {}}},
        "components": {"schemas": {"thing": thing, "next": enum, "unused": text}},
    }
    cut = description.trim(spec, [("GET", "/a")])
    assert cut["paths"] == {"/a": {"get": {"responses": answer}}}
    assert cut["components"]["schemas"] == {
        "thing": {**thing, "properties": {"description": {"type": "string"}, "next": thing["properties"]["next"]}},  # type: ignore[index]
        "next": {**enum, "enum": ["a", None]},
    }
    assert cut["x-paths"] == {"/a": ["get", "post"], "/b": ["get"]}
