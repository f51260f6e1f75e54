"""Fetch GitHub's API descriptions from npm into a cache folder: `python -m tests.contract.fetch [DIR]`."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """One npm package, the hash of its archive, and the only file of it that is kept."""

    name: str
    version: str
    integrity: str
    member: str
    kept_as: str


OPENAPI = Package(
    "@octokit/openapi",
    "23.0.2",
    "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
    "package/generated/api.github.com.json",
    "openapi-23.0.2.json",
)
GRAPHQL = Package(
    "@octokit/graphql-schema",
    "15.26.1",
    "sha512-RFDC2MpRBd4AxSRvUeBIVeBU7ojN/SxDfALUd7iVYOSeEK3gZaqR2MGOysj4Zh2xj2RY5fQAUT+Oqq7hWTraMA==",
    "package/schema.graphql",
    "schema-15.26.1.graphql",
)


class FetchError(Exception):
    """The descriptions cannot be had; the message is for a person."""


def cache_folder() -> Path:
    """Where the descriptions are kept: CI_AGENT_CONTRACT_DIR, else below the user's cache folder."""
    chosen = os.environ.get("CI_AGENT_CONTRACT_DIR")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ci-agent" / "contract"


def check_integrity(archive: Path, integrity: str) -> None:
    """Refuse an archive whose hash is not the pinned one."""
    kind, _, wanted = integrity.partition("-")
    actual = base64.b64encode(hashlib.new(kind, archive.read_bytes()).digest()).decode()
    if actual != wanted:
        raise FetchError(f"{archive.name}: its {kind} is {actual}, not {wanted}")


def unpack(archive: Path, member: str, target: Path) -> None:
    """Put one file of an archive in its place, whole or not at all."""
    with tarfile.open(archive) as packed:
        source = packed.extractfile(member)
        if source is None:
            raise FetchError(f"{archive.name}: {member} is not a file")
        part = target.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as out:
            shutil.copyfileobj(source, out)
    part.replace(target)


def pack(package: Package, folder: Path) -> Path:
    """Let npm download the archive of a package."""
    command = ["npm", "pack", f"{package.name}@{package.version}", "--pack-destination", str(folder), "--silent"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, cwd=folder)
    except FileNotFoundError as problem:
        raise FetchError("npm is not installed") from problem
    except subprocess.TimeoutExpired as problem:
        raise FetchError(f"npm took more than {problem.timeout:.0f} s for {package.name}") from problem
    except subprocess.CalledProcessError as problem:
        said = (problem.stderr or problem.stdout).strip().splitlines()
        raise FetchError(f"npm cannot fetch {package.name}: {said[-1] if said else problem}") from problem
    return folder / done.stdout.strip().splitlines()[-1]


def fetch(folder: Path) -> list[Path]:
    """Make sure of both descriptions in `folder`; what is there is not fetched again."""
    folder.mkdir(parents=True, exist_ok=True)
    targets = []
    for package in (OPENAPI, GRAPHQL):
        target = folder / package.kept_as
        targets.append(target)
        if target.is_file():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            archive = pack(package, Path(scratch))
            check_integrity(archive, package.integrity)
            unpack(archive, package.member, target)
    return targets


def main() -> int:
    """Fetch into the folder given as the argument, or into the default one."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else cache_folder()
    try:
        paths = fetch(folder)
    except FetchError as problem:
        sys.stderr.write(f"fetch: {problem}\n")
        return 1
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
