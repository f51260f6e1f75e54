"""The runner's OIDC endpoint: hands out an unsigned identity token to those who know the request token."""

import base64
import json
from typing import TYPE_CHECKING, Any

from tests.fakes.github.wire import ApiError, Reply, Request

if TYPE_CHECKING:
    from tests.fakes.github.world import World

PATH = "/_oidc/token"


class Oidc:
    """What `ACTIONS_ID_TOKEN_REQUEST_URL` leads to."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.token = "oidc-request-token"
        self.claims: dict[str, Any] = {"iss": "https://token.actions.githubusercontent.com", "sub": "repo:octo/hello"}
        self.issued: list[str] = []

    @property
    def url(self) -> str:
        """The address, with a query so that clients must append theirs with `&` as on a real runner."""
        return f"{self._world.url}{PATH}?api-version=2.0"

    def answer(self, request: Request) -> Reply:
        """A token for the asked audience."""
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise ApiError(401, "Bad credentials")
        now = int(self._world.clock.now.timestamp())
        audience = request.query.get("audience", "https://github.com/octo")
        claims = {**self.claims, "aud": audience, "iat": now, "exp": now + 300, "jti": str(self._world.next_id())}
        token = ".".join([_part({"alg": "none", "typ": "JWT"}), _part(claims), "c2lnbmF0dXJl"])
        self.issued.append(token)
        return Reply(200, {"count": len(token), "value": token})


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
