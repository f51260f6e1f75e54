"""The lock files hold what pyproject.toml asks for, with hashes, and nothing that names a place."""

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
RUNTIME, DEVELOPMENT = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
BEDROCK, GOOGLE = ROOT / "requirements-bedrock.lock", ROOT / "requirements-google.lock"
LOCKS = [RUNTIME, BEDROCK, GOOGLE, DEVELOPMENT]


def pins(lock: Path) -> dict[str, Requirement]:
    """Every pinned requirement of a lock file, by its name."""
    lines = re.findall(r"^[a-z0-9].*?(?= \\$)", lock.read_text(), flags=re.MULTILINE)
    return {canonicalize_name(pin.name): pin for pin in map(Requirement, lines)}


def version(pin: Requirement) -> str:
    """The one version that a pin allows."""
    [specifier] = pin.specifier
    assert specifier.operator == "==", pin
    return specifier.version


def wanted(*extras: str) -> Iterable[Requirement]:
    """What pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for group in (project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)):
        yield from map(Requirement, group)


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        (RUNTIME, ()),
        (BEDROCK, ("bedrock",)),
        (GOOGLE, ("google-cloud", "vertex")),
        (DEVELOPMENT, ("test", "dev", "bedrock", "google-cloud", "vertex")),
    ],
)
def test_lock_satisfies_pyproject(lock: Path, extras: tuple[str, ...]) -> None:
    pinned = pins(lock)
    for requirement in wanted(*extras):
        pin = pinned.get(canonicalize_name(requirement.name))
        assert pin, f"{requirement} is not in {lock.name}; run .ci/lock"
        assert requirement.specifier.contains(version(pin)), f"{pin} is not {requirement}; run .ci/lock"


@pytest.mark.parametrize("lock", [RUNTIME, BEDROCK, GOOGLE])
def test_tests_run_on_the_versions_that_ship(lock: Path) -> None:
    development = pins(DEVELOPMENT)
    for name, pin in pins(lock).items():
        assert version(development[name]) == version(pin)


@pytest.mark.parametrize("lock", [BEDROCK, GOOGLE])
def test_provider_changes_no_version_of_the_others(lock: Path) -> None:
    own = pins(lock)
    assert {name: version(own[name]) for name in pins(RUNTIME)} == {n: version(p) for n, p in pins(RUNTIME).items()}


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_needs_nothing_that_it_does_not_pin(lock: Path) -> None:
    """Walks the installed packages, because both installers run without looking at dependencies."""
    pinned = pins(lock)
    here = {name for name, pin in pinned.items() if not pin.marker or pin.marker.evaluate()}
    for name in here & {canonicalize_name(found.name) for found in metadata.distributions()}:
        for text in metadata.requires(name) or ():
            requirement = Requirement(text)
            # Extras show only in the lock's own choice of packages, so they are left out here.
            if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
                assert canonicalize_name(requirement.name) in here, f"{name} needs {requirement}"


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_hashes_and_names_no_place(lock: Path) -> None:
    text = lock.read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert len(entries) == len(pins(lock)) > 10
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|^--|^-|\s@\s|^\s*/", text, flags=re.MULTILINE)
    assert ".ci/lock" in text.splitlines()[1]
