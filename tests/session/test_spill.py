"""Results too long for the model: what it gets, and that it can get the rest."""

import re
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci_agent.policy.paths import PathPolicy
from ci_agent.session.spill import LARGEST_MESSAGE, ROOM, SIZES, Spill
from ci_agent.tools.files import ReadFile, read
from ci_agent.tools.search import SearchText, grep
from ci_agent.types.messages import ToolResultBlock
from ci_agent.types.tools import LARGEST_RESULT, ResultShelf, ToolContext

LINES = "".join(f"line {number}\n" for number in range(1, 10_001))
NOTE = re.compile(r"(?:^|\n)\[Mark3r gave [^\]]*\](?:\n|\Z)")
PATH = re.compile(r"The whole text is in (\S+): Read with this path and offset (\d+) shows the rest\.\]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "artifacts" / "results"


@pytest.fixture
def spill(folder: Path) -> Spill:
    return Spill(folder, str)


def kept(shown: str) -> tuple[Path, int]:
    """Where a shown excerpt says that the rest is."""
    found = PATH.search(shown)
    assert found is not None
    return Path(found[1]), int(found[2])


def texts() -> Iterator[st.SearchStrategy[str]]:
    """Short texts, and texts around and above the limit, with lines of any length."""
    yield st.text(max_size=300)
    yield st.builds(
        lambda text, size: (text * size)[:size], st.text(min_size=1, max_size=5_000), st.integers(1, 90_000)
    )
    yield st.builds(lambda left, right: left + "\n" * 31_000 + right, st.text(), st.text())


@given(st.one_of(*texts()))
def test_what_is_shown_is_bounded_and_a_part_of_the_content(content: str) -> None:
    with TemporaryDirectory() as place:
        shown = Spill(Path(place), str).fit("Mark3r", "t", content)
        if len(content) <= LARGEST_RESULT:
            assert shown == content
            assert list(Path(place).iterdir()) == []
            return
        [path] = Path(place).iterdir()
        on_disk = path.read_bytes().decode()
    note = NOTE.search(shown)
    assert note is not None
    head, tail = shown[: note.start()], shown[note.end() :]
    assert content.startswith(head)
    assert content.endswith(tail)
    assert len(shown) <= sum(SIZES[0]) + ROOM + len(place)
    assert 3_999 <= len(head) <= 8_000
    assert 2_000 <= len(tail) <= 4_000
    assert re.sub(r"[\r\n]", "", on_disk) == re.sub(r"[\r\n]", "", content.encode("utf-8", "replace").decode())


def test_excerpt_ends_and_starts_at_lines_and_says_what_is_missing(spill: Spill, folder: Path) -> None:
    shown = spill.fit("Bash", "toolu_1", LINES)
    head, note, tail = re.split(r"\n(?=\[Bash)|(?<=\])\n", shown)
    assert LINES.startswith(head + "\n")
    assert LINES.endswith("\n" + tail)
    last, first = int(head.split()[-1]), int(tail.split()[1])
    missing = sum(len(f"line {number}\n") for number in range(last + 1, first))
    assert note == (
        f"[Bash gave {len(LINES):,} characters in 10,000 lines, too many to show. Left out here: {missing:,} "
        f"characters after the text above and before the text below. The whole text is in {folder}/toolu_1.txt: "
        f"Read with this path and offset {last + 1} shows the rest.]"
    )
    assert (folder / "toolu_1.txt").read_text() == LINES
    assert (folder / "toolu_1.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [LINES, "x" * 100_000, "<" + "y" * 50_000 + "\r\nshort\r\n" + "z" * 50_000 + ">", "q" * 2_000 + LINES]
)
async def test_read_shows_the_rest_page_by_page(tmp_path: Path, folder: Path, spill: Spill, content: str) -> None:
    (tmp_path / "work").mkdir()
    ctx = ToolContext(PathPolicy(tmp_path / "work", also_readable=folder))
    shown = spill.fit("Bash", "t", content)
    path, offset = kept(shown)
    pages: list[str] = []
    while offset:
        page = await read.run(ReadFile(file_path=str(path), offset=offset, limit=10_000), ctx)
        assert not page.is_error
        assert spill.fit("Read", "page", page.content) == page.content
        pages += re.findall(r"^ *\d+\t(.*)$", page.content, re.MULTILINE)
        more = re.search(r"go on with offset (\d+)\]$", page.content)
        offset = int(more[1]) if more else 0
    head = shown[: shown.index("\n[Bash gave ")]
    rest = "".join(content[len(head) :].split())
    assert "".join("".join(pages).split()).endswith(rest)
    assert not any("line cut" in line for line in pages)


async def test_grep_searches_what_was_kept(tmp_path: Path, folder: Path, spill: Spill) -> None:
    (tmp_path / "work").mkdir()
    ctx = ToolContext(PathPolicy(tmp_path / "work", ["Read(*.txt)"], also_readable=folder))
    path, _ = kept(spill.fit("Bash", "t", LINES))
    for start in (path, folder):
        found = await grep.run(SearchText(pattern="^line 5000$", path=str(start)), ctx)
        assert found.content == f"{path}:5000:line 5000"


def test_id_of_a_model_names_a_plain_file_inside_the_folder(spill: Spill, folder: Path) -> None:
    for name in ("../../escape", "/etc/x", "a\0b", "", "\u00e9\n", "x" * 500):
        path, _ = kept(spill.fit("Bash", name, LINES))
        assert path.parent == folder
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}\.txt", path.name)
    assert len(list(folder.iterdir())) == 6
    assert len(list(folder.parent.iterdir())) == 1


def test_end_that_starts_a_line_already_is_not_cut_further(spill: Spill) -> None:
    assert spill.fit("Bash", "a", "123456789\n" * 4_000).endswith("]\n" + "123456789\n" * 400)


def test_no_call_overwrites_another(spill: Spill) -> None:
    paths = [kept(spill.fit("Bash", name, f"{number}\n{LINES}"))[0] for number, name in enumerate(["a", "a", "a"])]
    assert [path.name for path in paths] == ["a.txt", "a-2.txt", "a-3.txt"]
    assert [path.read_text()[0] for path in paths] == ["0", "1", "2"]


def test_link_in_place_of_the_file_is_not_followed(tmp_path: Path, spill: Spill, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "a.txt").symlink_to(tmp_path / "victim")
    assert kept(spill.fit("Bash", "a", LINES))[0].name == "a-2.txt"
    assert not (tmp_path / "victim").exists()


def lost(shown: str) -> bool:
    return "could not be kept, so this part is lost" in shown and len(shown) < 13_000


def test_link_in_place_of_the_folder_is_not_followed(tmp_path: Path, spill: Spill, folder: Path) -> None:
    (tmp_path / "victim").mkdir()
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "victim")
    assert lost(spill.fit("Bash", "a", LINES))
    assert list((tmp_path / "victim").iterdir()) == []


def test_folder_that_cannot_be_written_costs_the_middle_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert lost(Spill(tmp_path / "file" / "results", str).fit("Bash", "a", LINES))


def test_disk_that_is_full_leaves_no_half_file(folder: Path, spill: Spill) -> None:
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        shown = spill.fit("Bash", "a", LINES)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert lost(shown)
    assert list(folder.iterdir()) == []


def test_secret_reaches_neither_the_disk_nor_an_edge_of_the_excerpt(folder: Path) -> None:
    spill = Spill(folder, lambda text: text.replace("S3CR3T", "[redacted]"))
    content = "x" * 7_997 + "S3CR3T" + "y" * 30_000
    shown = spill.fit("Bash", "a", content)
    assert "S3C" not in shown
    assert "S3C" not in (folder / "a.txt").read_text()


def test_content_that_redaction_makes_short_is_shown_whole(folder: Path) -> None:
    assert Spill(folder, lambda _: "[redacted]").fit("Bash", "a", LINES) == "[redacted]"


def test_half_character_is_no_obstacle(spill: Spill, folder: Path) -> None:
    spill.fit("Bash", "a", "\ud800" + LINES)
    assert (folder / "a.txt").read_text() == "?" + LINES


def blocks(*sizes: int) -> list[ToolResultBlock]:
    return [ToolResultBlock(f"t{index}", f"{index} " + "x" * (size - 2)) for index, size in enumerate(sizes)]


def total(results: tuple[ToolResultBlock, ...]) -> int:
    return sum(len(result.content) for result in results)


def test_message_that_fits_is_not_touched(spill: Spill, folder: Path) -> None:
    results = blocks(30_000, 30_000, 30_000, 29_998, 2)
    assert spill.fit_all(results) == tuple(results)
    assert not folder.exists()


def test_longest_results_of_a_message_are_shortened_first(spill: Spill, folder: Path) -> None:
    results = blocks(20_000, 29_000, 25_000, 20_000, 28_000, 10_000)
    fitted = spill.fit_all(results)
    assert [new == old for new, old in zip(fitted, results, strict=True)] == [True, False, True, True, True, True]
    assert total(fitted) <= LARGEST_MESSAGE
    assert [path.name for path in folder.iterdir()] == ["t1.txt"]


def test_error_stays_an_error_and_order_stays(spill: Spill) -> None:
    results = [ToolResultBlock(str(index), LINES, is_error=index == 3) for index in range(40)]
    fitted = spill.fit_all(results)
    assert [(result.tool_use_id, result.is_error) for result in fitted] == [(str(n), n == 3) for n in range(40)]


def test_shortened_once_more_it_still_leads_to_the_whole(spill: Spill, folder: Path) -> None:
    results = [ToolResultBlock(f"t{n}", spill.fit("Bash", f"t{n}", f"{n}\n{LINES}")) for n in range(60)]
    fitted = spill.fit_all(results)
    assert total(fitted) <= LARGEST_MESSAGE
    assert len(list(folder.iterdir())) == 60
    for number, result in enumerate(fitted):
        assert f"[Bash gave {len(LINES) + len(str(number)) + 1:,} characters" in result.content
        assert kept(result.content)[0].read_text() == f"{number}\n{LINES}"


@given(st.lists(st.integers(2, 60_000), max_size=60), st.integers(0, 1_500))
def test_message_is_bounded_whatever_it_holds(sizes: list[int], small: int) -> None:
    with TemporaryDirectory() as place:
        fitted = Spill(Path(place), str).fit_all(blocks(*sizes, *[500] * small))
    assert total(fitted) <= LARGEST_MESSAGE
    assert len(fitted) == len(sizes) + small


def test_spill_is_a_shelf(spill: Spill) -> None:
    shelf: ResultShelf = spill
    assert shelf.fit_all([]) == ()
