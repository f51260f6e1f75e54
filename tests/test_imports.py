"""A module imports only what stands to its left, and public names are pinned."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import ci_agent

ORDER = (
    "errors", "types", "settings", "redact", "telemetry", "github", "events", "policy", "context", "models", "provide",
    "sandbox", "hooks", "tools", "session", "loop", "outputs", "admit", "answer", "app", "init", "demo", "cli",
    "__main__",
)  # fmt: skip
PACKAGE = Path(ci_agent.__file__).parent
# Bundled data that only happens to end in .py.
DATA = ("demo/repo",)
FILES = [
    path.relative_to(PACKAGE)
    for path in sorted(PACKAGE.rglob("*.py"))
    if not path.relative_to(PACKAGE).as_posix().startswith(DATA)
]


def stage(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of ci_agent that a file imports, at the top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("ci_agent.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_module_imports_only_to_its_left(path: Path) -> None:
    here = stage(path)
    if here in ("__init__", "templates", "commands"):
        assert imported(path) == set()
        return
    assert here in ORDER, f"{path} belongs to no stage; name it in ORDER and in docs/architecture.md"
    for other in imported(path):
        assert ORDER.index(other) <= ORDER.index(here), f"{path} imports {other}, which stands to its right"


def test_errors_imports_nothing_of_ours() -> None:
    assert imported(Path("errors.py")) == set()


def test_every_module_pins_its_public_names() -> None:
    for found in pkgutil.walk_packages([str(PACKAGE)], "ci_agent."):
        if found.ispkg or ".demo.repo" in found.name or found.name in ("ci_agent.__main__", "ci_agent.tools.walk"):
            continue
        module = importlib.import_module(found.name)
        names = getattr(module, "__all__", None)
        assert names is not None, f"{found.name} has no __all__"
        assert names == sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name)), found.name
        assert all(hasattr(module, name) for name in names), found.name


def test_public_names_of_the_package() -> None:
    assert ci_agent.__all__ == ["__version__"]


def test_no_file_and_no_function_outgrows_its_reader() -> None:
    for path in FILES:
        source = (PACKAGE / path).read_text()
        assert source.count("\n") <= 400, path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                assert node.end_lineno - node.lineno < 50, f"{path}: {node.name}"
