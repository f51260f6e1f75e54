"""Secrets leave in no usual form."""

import base64
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci_agent.redact import Redactor

SECRET = "s3cr3t/VALUE+with=signs"
redact = Redactor([SECRET, "x"])

FORMS = {
    "plain": SECRET,
    "other case": SECRET.upper(),
    "reversed": SECRET[::-1],
    "url": urllib.parse.quote(SECRET, safe=""),
    "hex": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 url": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base64 inside 1": base64.b64encode(b"a" + SECRET.encode() + b"tail").decode(),
    "base64 inside 2": base64.b64encode(b"ab" + SECRET.encode() + b"tail").decode(),
    "base32": base64.b32encode(SECRET.encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_form_is_redacted(form: str) -> None:
    assert "[redacted]" in redact(f"before {FORMS[form]} after")
    assert FORMS[form] not in redact(f"before {FORMS[form]} after")


@pytest.mark.parametrize(
    "token",
    [
        "ghp_" + "a1B2" * 9,
        "ghs_" + "a1B2" * 9,
        "github_pat_" + "a1_B2" * 9,
        "sk-ant-api03-" + "abc-_9" * 5,
        "AKIA" + "ABCD1234" * 2,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_known_token_shape_is_redacted_without_being_known(token: str) -> None:
    assert Redactor()(f"<{token}>") == "<[redacted]>"


def test_ordinary_words_and_short_values_stay() -> None:
    assert redact("x marks the spot; commit 4ff16e5b71826267f3b67aabd868b05c55432e56") == (
        "x marks the spot; commit 4ff16e5b71826267f3b67aabd868b05c55432e56"
    )


@given(st.text(), st.text())
def test_secret_never_survives_wherever_it_stands(before: str, after: str) -> None:
    assert SECRET not in redact(before + SECRET + after)


def seconds(text: str) -> float:
    """The best of three, so that a pause of the machine does not count."""
    times = []
    for _ in range(3):
        start = time.process_time()
        redact(text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ", "eyJ.", "eyJaaaaaaaaaa.", "eyJaaaaaaaaaa.eyJaaaaaaaaaa.", "a.", "-----BEGIN X PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY", "-----END ", "-", "ghp_", "ghp_a", "github_pat_", "sk-ant-", "AKIA", "xoxb-", "npm_",
        "pypi-", "glpat-", "-----BEGIN ",
    ],
)  # fmt: skip
def test_time_grows_with_the_text_only(unit: str) -> None:
    short, long = (seconds(unit * (size // len(unit))) for size in (15_000, 60_000))
    assert long < 8 * short + 0.5


def test_web_token_is_redacted_inside_dotted_words() -> None:
    token = "eyJ" + "a" * 10 + ".eyJ" + "b" * 10 + "." + "c" * 10
    assert Redactor()(f"x.y_{token}.z eyJ.eyJ.short") == "x.y_[redacted].z eyJ.eyJ.short"


def test_secret_that_is_no_unicode_is_no_crash() -> None:
    assert Redactor(["secret\udcff"])("a secret\udcff b") == "a [redacted] b"
