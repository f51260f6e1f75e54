"""GitHub's OIDC token, which keyless sign-in exchanges for a short-lived credential."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

__all__ = ["IdentityTokenSource", "NoIdentityToken"]

TIMEOUT_SECONDS = 15.0


class NoIdentityToken(OSError):
    """GitHub gave no identity token."""


@dataclass(frozen=True, slots=True)
class IdentityTokenSource:
    """Asks the runner for identity tokens. Tokens are short-lived, so each exchange fetches a new one."""

    request_url: str
    request_token: str
    audience: str
    federation_rule_id: str
    organization_id: str
    service_account_id: str = ""
    workspace_id: str = ""

    def fetch(self) -> str:
        """A fresh token for the audience."""
        joint = "&" if "?" in self.request_url else "?"
        request = urllib.request.Request(  # noqa: S310 - settings admit http(s) addresses only
            f"{self.request_url}{joint}{urllib.parse.urlencode({'audience': self.audience})}",
            headers={"Authorization": f"Bearer {self.request_token}", "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - as above
                return str(json.loads(response.read())["value"])
        except urllib.error.HTTPError as error:
            raise NoIdentityToken(f"GitHub refused an identity token: HTTP {error.code}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NoIdentityToken(f"GitHub gave no identity token: {error}") from None
