"""`init`: writes ready workflows and a commented policy into a repository, and never overwrites."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from ci_agent.errors import ConfigError
from ci_agent.github.repo import GitRepo

__all__ = ["TARGETS", "write_templates"]

TARGETS = {
    "mention": ".github/workflows/ci-agent-mention.yml",
    "review": ".github/workflows/ci-agent-review.yml",
    "diagnose": ".github/workflows/ci-agent-diagnose.yml",
    "schedule": ".github/workflows/ci-agent-schedule.yml",
    "policy": ".github/ci-agent.yml",
}
PLACEHOLDER = "OWNER/ci_agent@0000000000000000000000000000000000000000"


def write_templates(names: Sequence[str], action: str, *, dry_run: bool) -> int:
    """Write the named files, all when none is named. Existing files stay as they are."""
    root = _repository_root()
    chosen = [_known(name) for name in names] or list(TARGETS)
    reference = _checked(action) or _own_reference()
    lines = []
    for name in dict.fromkeys(chosen):
        text = resources.files("ci_agent.templates").joinpath(f"{name}.yml").read_text(encoding="utf-8")
        if reference:
            text = text.replace(PLACEHOLDER, reference)
        lines.append(_place(root / TARGETS[name], text, dry_run=dry_run, shown=TARGETS[name]))
    if dry_run:
        lines.append("Nothing was written. Run it again without --dry-run to write these files.")
    if not reference and set(chosen) != {"policy"}:
        lines.append(f"Replace {PLACEHOLDER} in the workflows by the action's repository and a commit that you trust.")
    print("\n".join(lines))  # noqa: T201 - the command's answer
    return 0


def _checked(action: str) -> str:
    if action and not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action):
        raise ConfigError(f"--action {action} is not OWNER/REPOSITORY@COMMIT", hint="give the full 40-character commit")
    return action


def _own_reference() -> str:
    """The action that this very copy is: its origin and commit, when it runs from a clone of a GitHub repository."""
    repo = GitRepo(Path(__file__).parents[1])
    if not repo.is_repository():
        return ""
    origin = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", repo.origin() or "")
    commit = repo.commit_of("HEAD")
    return f"{origin[1]}@{commit}" if origin and commit else ""


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
