"""The only reader of the environment."""

from __future__ import annotations

import tempfile
import uuid
from enum import Enum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ci_agent.errors import ConfigError

__all__ = ["Mode", "OutputFormat", "Provider", "Settings", "load_settings"]


class Mode(Enum):
    """How far a run goes: post, stop before posting, or show a preview."""

    PUBLISH = "publish"
    PROPOSE = "propose"
    STAGE = "stage"


class OutputFormat(Enum):
    """What stdout carries."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


class Provider(Enum):
    """Where the model's answers come from."""

    ANTHROPIC = "anthropic"
    BEDROCK = "bedrock"
    GOOGLE_CLOUD = "google-cloud"
    VERTEX = "vertex"
    FOUNDRY = "foundry"
    SCRIPTED = "scripted"


class Effort(Enum):
    """How hard the model should think."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http(s) address; use for example https://api.example.com")
    if parts.port == 0:
        raise ValueError("port 0 is no address")
    return value.rstrip("/")


def _token(value: SecretStr) -> SecretStr:
    """Pasted secrets often end with a line break; anything else that no header can carry is a mistake."""
    text = value.get_secret_value().strip()
    if not all("!" <= character <= "~" for character in text):
        raise ValueError("it holds spaces, line breaks or characters outside ASCII; paste the secret again")
    return SecretStr(text)


HttpAddress = Annotated[str, AfterValidator(_http_url)]
Token = Annotated[SecretStr, AfterValidator(_token)]


class Settings(BaseSettings):
    """One run's environment: what GitHub sets, our secrets, and one `CI_AGENT_<NAME>` for each action input."""

    model_config = SettingsConfigDict(env_prefix="CI_AGENT_", env_ignore_empty=True, extra="ignore")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment and nothing else: a `.env` file in a checkout is a stranger's."""
        return (env_settings,)

    event_name: str = Field("", validation_alias="GITHUB_EVENT_NAME")
    event_path: Path | None = Field(None, validation_alias="GITHUB_EVENT_PATH")
    repository: str = Field("", validation_alias="GITHUB_REPOSITORY", pattern=r"^([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)?$")
    workspace: Path = Field(Path(), validation_alias="GITHUB_WORKSPACE")
    api_url: HttpAddress = Field("https://api.github.com", validation_alias="GITHUB_API_URL")
    server_url: HttpAddress = Field("https://github.com", validation_alias="GITHUB_SERVER_URL")
    sha: str = Field("", validation_alias="GITHUB_SHA")
    run_id: str = Field("", validation_alias="GITHUB_RUN_ID")
    in_actions: bool = Field(default=False, validation_alias="GITHUB_ACTIONS")
    output_file: Path | None = Field(None, validation_alias="GITHUB_OUTPUT")
    summary_file: Path | None = Field(None, validation_alias="GITHUB_STEP_SUMMARY")
    runner_temp: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()), validation_alias="RUNNER_TEMP")
    github_token: Token = Field(SecretStr(""), validation_alias="GITHUB_TOKEN")
    anthropic_api_key: Token = Field(SecretStr(""), validation_alias="ANTHROPIC_API_KEY")
    anthropic_base_url: HttpAddress = Field("", validation_alias="ANTHROPIC_BASE_URL", validate_default=False)

    # `model` alone would shadow pydantic's own attribute names in readers' minds, so the field says which.
    main_model: str = Field("", validation_alias="CI_AGENT_MODEL")
    light_model: str = ""
    policy: str = ".github/ci-agent.yml"
    max_turns: int | None = Field(None, ge=1, le=500)
    budget_usd: float | None = Field(None, gt=0)
    budget_tokens: int | None = Field(None, ge=1_000)
    timeout_minutes: float | None = Field(None, gt=0, le=360)
    mode: Mode = Mode.PUBLISH
    trigger: str = ""
    prompt: str = ""
    effort: Effort | None = None
    output_format: OutputFormat = OutputFormat.TEXT
    model_provider: Provider = Provider.ANTHROPIC
    script: Path | None = None
    idle_seconds: float = Field(90.0, gt=0, le=3600)
    # ASCII and a length of its own: compiled, a counted Unicode class costs more than all other fields together.
    session_id: str = Field(default_factory=lambda: str(uuid.uuid4()), pattern="^[A-Za-z0-9-]+$", max_length=64)
    artifact_dir: Path | None = None

    # The clouds that serve the model too. Names become parts of an address, so they hold nothing else.
    aws_region: str = Field("", pattern="^[a-z0-9-]*$")
    google_project: str = Field("", pattern="^[a-z0-9.:-]*$")
    google_location: str = Field("", pattern="^[a-z0-9-]*$")
    foundry_resource: str = Field("", pattern="^[A-Za-z0-9-]*$")
    foundry_api_key: Token = Field(SecretStr(""), validation_alias="ANTHROPIC_FOUNDRY_API_KEY")
    aws_bearer_token: Token = Field(SecretStr(""), validation_alias="AWS_BEARER_TOKEN_BEDROCK")
    # The AWS SDK reads these by itself; here they are known only to be redacted.
    aws_secret_access_key: SecretStr = Field(SecretStr(""), validation_alias="AWS_SECRET_ACCESS_KEY")
    aws_session_token: SecretStr = Field(SecretStr(""), validation_alias="AWS_SESSION_TOKEN")
    anthropic_aws_api_key: SecretStr = Field(SecretStr(""), validation_alias="ANTHROPIC_AWS_API_KEY")

    # Keyless sign-in: which federation rule turns GitHub's OIDC token into a model credential.
    federation_rule_id: str = ""
    organization_id: str = ""
    service_account_id: str = ""
    workspace_id: str = ""
    oidc_audience: str = "https://api.anthropic.com"
    oidc_request_url: HttpAddress = Field("", validation_alias="ACTIONS_ID_TOKEN_REQUEST_URL", validate_default=False)
    oidc_request_token: Token = Field(SecretStr(""), validation_alias="ACTIONS_ID_TOKEN_REQUEST_TOKEN")

    @property
    def artifacts(self) -> Path:
        """Where a run in Actions leaves its files."""
        return self.artifact_dir or self.runner_temp / "ci-agent"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value this process holds."""
        values = (getattr(self, name) for name in type(self).model_fields)
        secrets = (value.get_secret_value() for value in values if isinstance(value, SecretStr))
        return tuple(secret for secret in secrets if secret)


def load_settings() -> Settings:
    """Read the environment, or say in one line which variable is wrong and how to mend it."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        name = _variable(first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{name}: {message}", hint=f"correct {name} or leave it unset") from None


def _variable(location: tuple[int | str, ...]) -> str:
    """The environment variable a pydantic error location speaks of."""
    name = str(location[-1]) if location else ""
    return name if name.isupper() else f"CI_AGENT_{name.upper()}"
