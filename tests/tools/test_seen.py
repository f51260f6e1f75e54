"""Which files changed since the model saw them, on real files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ci_agent.policy.paths import PathPolicy
from ci_agent.tools.files import ReadFile, read
from ci_agent.tools.seen import LARGEST_HASHED_BYTES, SeenFiles
from ci_agent.types.tools import SeenNothing, ToolContext

LONG_AGO = 1_000_000_000
FAR_AHEAD = 4_000_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    return path


def seen(path: Path) -> SeenFiles:
    """A log that knows a file as it is."""
    log = SeenFiles()
    log.record(path, path.read_bytes())
    return log


def replace_by_link_to_a_twin(path: Path) -> None:
    path.rename(path.with_name("twin"))
    path.symlink_to("twin")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "another size": lambda path: path.write_bytes(b"one and more\n"),
    "the same size": lambda path: path.write_bytes(b"two\n"),
    "emptied": lambda path: path.write_bytes(b""),
    "gone": Path.unlink,
    "a link": replace_by_link_to_a_twin,
    "a pipe": replace_by_pipe,
    "a folder": replace_by_folder,
    "too large": lambda path: os.truncate(path, LARGEST_HASHED_BYTES + 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_is_told_once(file: Path, change: str) -> None:
    log = seen(file)
    assert log.changed() == ()
    CHANGES[change](file)
    assert log.changed() == (file,)
    assert log.changed() == ()


def test_every_change_is_told_and_so_is_the_way_back(file: Path) -> None:
    log = seen(file)
    for content in (b"two\n", b"one\n"):
        file.write_bytes(content)
        assert log.changed() == (file,)
    file.unlink()
    assert log.changed() == (file,)
    file.write_bytes(b"one\n")
    assert log.changed() == (file,)
    assert log.changed() == ()


def test_another_time_stamp_or_inode_alone_is_no_change(file: Path) -> None:
    log = seen(file)
    os.utime(file, (LONG_AGO, LONG_AGO))
    assert log.changed() == ()
    twin = file.with_name("twin")
    twin.write_bytes(b"one\n")
    twin.replace(file)
    assert log.changed() == ()


def test_file_with_a_known_old_stat_is_not_read(file: Path) -> None:
    os.utime(file, (LONG_AGO, LONG_AGO))
    log = SeenFiles()
    log.record(file, b"two\n")
    assert log.changed() == ()


def test_file_that_is_too_young_for_its_time_stamp_to_tell_is_read(file: Path) -> None:
    os.utime(file, (FAR_AHEAD, FAR_AHEAD))
    log = seen(file)
    file.write_bytes(b"two\n")
    os.utime(file, (FAR_AHEAD, FAR_AHEAD))
    assert log.changed() == (file,)


def test_file_that_changed_before_it_was_recorded_is_told(file: Path) -> None:
    os.utime(file, (LONG_AGO, LONG_AGO))
    log = SeenFiles()
    log.record(file, b"what it was when it was read\n")
    assert log.changed() == (file,)


def test_large_file_is_told_by_its_stat_alone(file: Path) -> None:
    os.truncate(file, LARGEST_HASHED_BYTES + 1)
    log = seen(file)
    assert log.changed() == ()
    for time in (LONG_AGO, LONG_AGO + 1):
        os.utime(file, (time, time))
        assert log.changed() == (file,)
        assert log.changed() == ()


def test_seen_again_is_known_again(file: Path) -> None:
    log = seen(file)
    file.write_bytes(b"two\n")
    log.record(file, b"two\n")
    assert log.changed() == ()


async def test_read_records_what_it_showed_and_nothing_else(tmp_path: Path, file: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"\0")
    log = SeenFiles()
    ctx = ToolContext(PathPolicy(tmp_path), seen=log)
    for name in ("a.txt", "empty", "binary", "missing"):
        await read.run(ReadFile(file_path=name), ctx)
    for path in (file, tmp_path / "empty", tmp_path / "binary", tmp_path / "missing"):
        path.write_bytes(b"new")
    assert set(log.changed()) == {file, tmp_path / "empty"}


def test_default_log_forgets(tmp_path: Path, file: Path) -> None:
    ctx = ToolContext(PathPolicy(tmp_path))
    assert isinstance(ctx.seen, SeenNothing)
    ctx.seen.record(file, b"other")
    assert ctx.seen.changed() == ()
