"""A throw-away project around the real entrypoint.sh, whose lock files name one tiny local wheel each."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2]
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
# All that a start may need besides bash and python3.
TOOLS = ("env", "find", "grep", "mkdir", "mv", "readlink", "rm", "sha256sum", "tail")

MAIN = """
import json, os, sys
import tiny
names = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYDANTIC_DISABLE_PLUGINS", "PATH")
print(json.dumps({
    "args": sys.argv[1:],
    "cwd": os.getcwd(),
    "path": sys.path,
    "safe_path": sys.flags.safe_path,
    "user_site": not sys.flags.no_user_site,
    "prefix": sys.prefix,
    "tiny": tiny.VERSION,
    "env": {name: os.environ.get(name) for name in names},
}))
sys.exit(int(os.environ.get("EXIT", "0")))
"""


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> str:
    """Write a wheel that pip and uv accept; give the lock line that pins it."""
    info = f"{name}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-script = {name}:main\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


@dataclass(frozen=True, slots=True)
class Project:
    """The project's root, a home folder, the wheels on offer and the only commands on PATH."""

    root: Path
    home: Path
    wheels: Path
    bin: Path

    @classmethod
    def create(cls, base: Path) -> "Project":
        """Lay out everything below `base`, with spaces where users may have them."""
        project = cls(base / "my clone", base / "my home", base / "wheels", base / "bin")
        (project.root / "ci_agent").mkdir(parents=True)
        for folder in (project.home, project.wheels, project.bin):
            folder.mkdir()
        shutil.copy(SOURCE / "entrypoint.sh", project.root)
        (project.root / "ci_agent" / "__main__.py").write_text(MAIN)
        project.pin("1.0")
        for tool in ("bash", *TOOLS):
            project.link(tool, shutil.which(tool) or tool)
        project.link("python3", sys._base_executable)  # type: ignore[attr-defined]
        return project

    def pin(self, version: str) -> None:
        """Put a new version of the packages on offer and into both lock files."""
        tiny = self.tiny(version)
        pytest = write_wheel(self.wheels, "pytest", version, {"pytest/__init__.py": "", "pytest/__main__.py": MAIN})
        (self.root / "requirements.lock").write_text(tiny)
        (self.root / "requirements-dev.lock").write_text(tiny + pytest)

    def tiny(self, version: str) -> str:
        """Put a version of the one package on offer; give the lock line that pins it."""
        body = f"VERSION = '{version}'\ndef main() -> None:\n    print('tiny', VERSION)\n"
        files = {
            "tiny.py": body,
            "unused.py": "",
            # A script whose name ends in .py gets compiled too, which makes a folder beside it.
            f"tiny-{version}.data/scripts/tiny_tool.py": "#!python\n",
        }
        return write_wheel(self.wheels, "tiny", version, files)

    def link(self, name: str, target: str) -> None:
        """Put a command on PATH."""
        (self.bin / name).symlink_to(target)

    def script(self, name: str, body: str) -> None:
        """Put a bash script on PATH, in place of what has that name."""
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!{self.bin}/bash\n{body}\n")
        (self.bin / name).chmod(0o755)

    def old_python(self) -> None:
        """Make `python3` a Python 3.10."""
        pretend = "import sys; sys.version_info = (3, 10); exec(sys.argv[1])"
        real = os.path.realpath(self.bin / "python3")
        self.script("python3", f'[[ $1 == -I && $2 == -c ]] && exec "{real}" -I -c "{pretend}" "$3"')

    def add_uv(self) -> None:
        """Put uv on PATH."""
        assert UV, "uv is in the extra `test`; install it"
        self.link("uv", UV)

    def env(self, **changes: str) -> dict[str, str]:
        """The whole environment of a start: no index, only the local wheels. An empty change unsets."""
        env = {"PATH": str(self.bin), "HOME": str(self.home), "UV_OFFLINE": "1"}
        for client in ("PIP", "UV"):
            env |= {f"{client}_NO_INDEX": "1", f"{client}_FIND_LINKS": str(self.wheels)}
        return {name: value for name, value in (env | changes).items() if value}

    def popen(self, *args: str, cwd: str | Path = "", script: str | Path = "", **env: str) -> "subprocess.Popen[str]":
        """Start entrypoint.sh in its own process group."""
        return subprocess.Popen(
            [str(self.bin / "bash"), str(script or self.root / "entrypoint.sh"), *args],
            cwd=cwd or self.home,
            env=self.env(**env),
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def start(self, *args: str, cwd: str | Path = "", script: str | Path = "", **env: str) -> "Start":
        """Run entrypoint.sh to its end."""
        process = self.popen(*args, cwd=cwd, script=script, **env)
        stdout, stderr = process.communicate(timeout=120)
        return Start(process.returncode, stdout, stderr)

    @property
    def cache(self) -> Path:
        """The cache folder in the home folder."""
        return self.home / ".cache" / "ci-agent"

    def environments(self) -> list[Path]:
        """The finished environments."""
        return sorted(self.cache.glob("env-*/"))

    def litter(self) -> Iterator[Path]:
        """What the home folder holds besides finished environments."""
        for path in self.home.rglob("*"):
            inside = any(path.is_relative_to(environment) for environment in self.environments())
            if not inside and path not in (self.cache.parent, self.cache):
                yield path


@dataclass(frozen=True, slots=True)
class Start:
    """How a start ended."""

    code: int
    stdout: str
    stderr: str
