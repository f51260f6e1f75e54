"""`init`: writes ready workflows and a commented policy into a repository, and never overwrites."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from ci_agent.errors import ConfigError

__all__ = ["TARGETS", "write_templates"]

TARGETS = {
    "mention": ".github/workflows/ci-agent-mention.yml",
    "review": ".github/workflows/ci-agent-review.yml",
    "diagnose": ".github/workflows/ci-agent-diagnose.yml",
    "schedule": ".github/workflows/ci-agent-schedule.yml",
    "policy": ".github/ci-agent.yml",
}


def write_templates(names: Sequence[str], *, dry_run: bool) -> int:
    """Write the named files, all when none is named. Existing files stay as they are."""
    root = _repository_root()
    chosen = [_known(name) for name in names] or list(TARGETS)
    for name in dict.fromkeys(chosen):
        target = root / TARGETS[name]
        text = resources.files("ci_agent.templates").joinpath(f"{name}.yml").read_text(encoding="utf-8")
        print(_place(target, text, dry_run=dry_run, shown=TARGETS[name]))  # noqa: T201 - the command's answer
    if dry_run:
        print("Nothing was written. Run it again without --dry-run to write these files.")  # noqa: T201
    return 0


def _place(target: Path, text: str, *, dry_run: bool, shown: str) -> str:
    if target.exists() or target.is_symlink():
        same = target.is_file() and target.read_text(encoding="utf-8", errors="replace") == text
        return f"kept     {shown} ({'already the same' if same else 'it exists and differs'})"
    if dry_run:
        return f"would write {shown}:\n\n{text}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{shown} cannot be written: {error.strerror}") from None
    return f"wrote    {shown} ({len(text.splitlines())} lines)"


def _known(name: str) -> str:
    if name in TARGETS:
        return name
    close = difflib.get_close_matches(name, TARGETS, n=1, cutoff=0.5)
    better = f'did you mean "{close[0]}"?' if close else f"known: {', '.join(TARGETS)}"
    raise ConfigError(f'there is no template "{name}"', hint=better)


def _repository_root() -> Path:
    """The top of the repository around the current directory."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    raise ConfigError(
        f"{here} is not inside a git repository", hint="run it in the repository that should get the files"
    )
