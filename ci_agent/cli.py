"""The command line: parsing only."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from ci_agent import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A runner without a UTF-8 locale must not end a run over a character.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    options = _parser().parse_args(arguments)
    if getattr(options, "output_format", None):
        # The flag is the input of the same name, so that one reader serves both.
        os.environ["CI_AGENT_OUTPUT_FORMAT"] = options.output_format
    code: int = options.handler(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ci-agent", description="A CI agent that stays safe with a hostile model.")
    parser.add_argument("--version", action="version", version=f"ci-agent {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="handle the event of this GitHub Actions job")
    _add_format(run)
    run.set_defaults(handler=_run)

    local = commands.add_parser("exec", help="run the agent on the current directory, without GitHub")
    local.add_argument("prompt", nargs="?", help="what to do; read from stdin when left out or -")
    _add_format(local)
    local.set_defaults(handler=_exec)

    demo = commands.add_parser("demo", help="see it work: no key, no network")
    demo.set_defaults(handler=_demo)

    init = commands.add_parser("init", help="write ready workflows and a commented policy into this repository")
    init.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="mention, review, diagnose, schedule, policy; all when left out",
    )
    init.add_argument("--action", default="", metavar="OWNER/REPO@COMMIT", help="which copy of the action to use")
    init.add_argument("--dry-run", action="store_true", help="only show what would be written")
    init.set_defaults(handler=_init)

    policy = commands.add_parser("policy", help="check a policy file, or print its JSON Schema")
    actions = policy.add_subparsers(required=True, metavar="check|schema")
    check = actions.add_parser("check", help="validate a policy file")
    check.add_argument("file", nargs="?", default=".github/ci-agent.yml")
    check.set_defaults(handler=_policy_check)
    actions.add_parser("schema", help="print the JSON Schema").set_defaults(handler=_policy_schema)
    return parser


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), help="what stdout carries")


def _run(options: argparse.Namespace) -> int:
    from ci_agent.app import guarded, run_event

    return guarded(run_event)


def _exec(options: argparse.Namespace) -> int:
    from ci_agent.app import guarded, run_local

    piped = options.prompt in (None, "-")
    request = sys.stdin.buffer.read().decode("utf-8", "replace") if piped else options.prompt
    return guarded(lambda settings: run_local(settings, request))


def _demo(options: argparse.Namespace) -> int:
    from ci_agent.demo.play import play

    return play()


def _init(options: argparse.Namespace) -> int:
    from ci_agent.app import guarded
    from ci_agent.init import write_templates

    return guarded(lambda settings: write_templates(options.names, options.action, dry_run=options.dry_run))


def _policy_check(options: argparse.Namespace) -> int:
    from ci_agent.app import guarded
    from ci_agent.policy.check import check_file

    return guarded(lambda settings: check_file(options.file))


def _policy_schema(options: argparse.Namespace) -> int:
    from ci_agent.policy.check import print_schema

    return print_schema()
