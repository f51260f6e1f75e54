"""The policy file: every key, its type and its default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ci_agent.types.outputs import OutputKind
from ci_agent.types.tasks import TaskKind, Tier

__all__ = [
    "BudgetSection",
    "ModelSection",
    "PermissionSection",
    "Policy",
    "ProfileSection",
]

ModelName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@/-]*$")]
Effort = Literal["low", "medium", "high", "xhigh", "max"]


def _plain_number(value: object) -> object:
    """YAML's `true` and `1.0` compare equal to 1, and are not what was meant."""
    return value if type(value) is int else str(value)


class Section(BaseModel):
    """Ours, so a key we do not know is a mistake and not a wish."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSection(Section):
    """Which models, and how hard they think."""

    main: ModelName = "claude-sonnet-5-5"
    light: ModelName = "claude-haiku-5-5"
    effort: Effort = "medium"
    fallback: ModelName | None = None


class BudgetSection(Section):
    """Where a run stops."""

    usd: float = Field(2.0, gt=0, le=1000)
    turns: int = Field(40, ge=1, le=500)
    minutes: float = Field(20, gt=0, le=360)
    tokens: int | None = Field(None, ge=1_000)
    min_tokens: int | None = Field(None, ge=1_000)


class PermissionSection(Section):
    """Rules added to the profile's own; deny always wins."""

    mode: Literal["default", "plan", "acceptEdits", "dontAsk", "bypass"] = "default"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ProfileSection(Section):
    """A named set of rights."""

    extends: str | None = None
    tools: tuple[str, ...] | None = None
    outputs: dict[OutputKind, Annotated[int, Field(ge=0, le=1000)]] | None = None


class PathSection(Section):
    """Where files may change, and where never."""

    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()


class NetworkSection(Section):
    """Hosts that tool processes may reach."""

    allow: tuple[str, ...] = ()


class SandboxSection(Section):
    """The walls that project code needs."""

    level: Literal["bubblewrap", "landlock", "none"] = "bubblewrap"
    network: NetworkSection = NetworkSection()


class ReviewSection(Section):
    """What a review reports."""

    min_severity: Literal["low", "medium", "high", "critical"] = "low"
    min_confidence: float = Field(0.6, ge=0, le=1)
    max_inline: int = Field(20, ge=0, le=200)
    ignore: tuple[str, ...] = ()


class DiagnoseSection(Section):
    """Which red runs are diagnosed."""

    workflows: tuple[str, ...] = ()
    fix: bool = False


class ScheduleSection(Section):
    """What a scheduled review looks at."""

    mode: Literal["changes", "full"] = "changes"
    topics: tuple[str, ...] = ()


class Policy(Section):
    """`.github/ci-agent.yml`."""

    version: Annotated[Literal[1], BeforeValidator(_plain_number)]
    trigger: str = Field("@agent", min_length=2, max_length=40, pattern=r"^[@/][A-Za-z0-9][A-Za-z0-9-]*$")
    model: ModelSection = ModelSection()
    budget: BudgetSection = BudgetSection()
    bots: tuple[str, ...] = ()
    permissions: PermissionSection = PermissionSection()
    profiles: dict[str, ProfileSection] = {}
    tasks: dict[TaskKind, dict[Tier, str]] = {}
    paths: PathSection = PathSection()
    sandbox: SandboxSection = SandboxSection()
    review: ReviewSection = ReviewSection()
    diagnose: DiagnoseSection = DiagnoseSection()
    schedule: ScheduleSection = ScheduleSection()
    hooks: dict[str, object] = {}
    mcp: dict[str, object] = {}
