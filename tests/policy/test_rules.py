"""Rules: what they mean, and that no path a model chooses makes them slow."""

import time

import pytest

from ci_agent.policy.rules import LONGEST_PATH, matches_path, parse_rule


@pytest.mark.parametrize("pattern", ["x[z-a]", "[Z-a]", "**/[b-a]/*"])
def test_pattern_that_is_no_glob_is_a_problem(pattern: str) -> None:
    assert "bad character range" in parse_rule(f"Read({pattern})").problem


def test_pattern_of_a_tool_without_paths_is_no_glob() -> None:
    assert parse_rule("Bash(rm [z-a])").problem == ""


MATCHES = [
    ("secrets/**", "secrets/key"),
    ("secrets/**", "SECRETS/a/b"),
    ("secrets", "secrets/a/b"),
    ("secrets", "deep/secrets"),
    ("*.pem", "a/b.pem"),
    ("*.pem", "a/b.pem/c"),
    ("**/secrets/**", "a/b/secrets/c"),
    ("a/***/b", "a/x/y/b"),
    ("**/**/**/b", "b"),
    ("a/**/**/b", "a/b"),
    ("*a*b*.pem", "abab.pem"),
    ("*a?*b*", "xaab"),
    ("*.{pem,key}", "x.key"),
    ("x[!a].txt", "xb.txt"),
    ("a**b", "a/x/b"),
    ("**/a/**/b/**/c", "x/a/a/y/b/c"),
    ("**/a/**/a/b", "a/a/b"),
    ("a**/b**/c", "ab/bc"),
]
MISSES = [
    ("secrets/**", "secrets"),
    ("secrets/**", "a/secrets/key"),
    ("*.pem", "a/b.pemx"),
    ("a/*/b", "a/x/y/b"),
    ("*a*b*.pem", "a/b.pem"),
    ("x[!a].txt", "x/.txt"),
    ("a", "ab"),
]


@pytest.mark.parametrize(("pattern", "path"), MATCHES)
def test_rule_speaks_of_a_path(pattern: str, path: str) -> None:
    assert matches_path(pattern, path)


@pytest.mark.parametrize(("pattern", "path"), MISSES)
def test_rule_does_not_speak_of_a_path(pattern: str, path: str) -> None:
    assert not matches_path(pattern, path)


def test_path_longer_than_the_system_takes_is_denied() -> None:
    assert not matches_path("x", "a" * LONGEST_PATH)
    assert matches_path("x", "a" * (LONGEST_PATH + 1))


@pytest.mark.parametrize(
    "pattern", ["**/secrets/**", "*.pem", "*a*a*a*a*.pem", "***a***.pem", "**/**/**/**/x", "**/a/**/a/**/a/**/x"]
)
@pytest.mark.parametrize("unit", ["a/", "a", "secrets", "/"])
def test_path_of_a_model_costs_little(pattern: str, unit: str) -> None:
    start = time.process_time()
    matches_path(pattern, unit * (LONGEST_PATH // len(unit)))
    matches_path(pattern, unit * 10_000)
    assert time.process_time() - start < 5
