"""Permission rules: `Tool` or `Tool(pattern)`, as users of coding agents write them."""

from __future__ import annotations

import difflib
import fnmatch
import re
from dataclasses import dataclass
from functools import lru_cache

from ci_agent.types.tools import KNOWN_TOOLS

__all__ = ["FILE_TOOLS", "Rule", "glob_expression", "matches_path", "parse_rule"]

RULE = re.compile(r"^(?P<tool>[A-Za-z][\w*-]*)(?:\((?P<pattern>.*)\))?$", re.DOTALL)
# A rule on `Read` speaks of reading, by whichever tool: a file kept from Read is kept from Grep too.
FILE_TOOLS = frozenset({"Read", "Glob", "Grep", "LS"})
LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Rule:
    """A parsed rule; `problem` says why it cannot be used."""

    text: str
    tool: str = ""
    pattern: str = ""
    problem: str = ""

    def names(self, tool: str) -> bool:
        """Whether the rule speaks of that tool."""
        return fnmatch.fnmatchcase(tool, self.tool)


@lru_cache(maxsize=512)
def parse_rule(text: str) -> Rule:
    """A rule, with its problem where it has one."""
    match = RULE.match(text.strip())
    if match is None:
        return Rule(text, problem=f'rule "{text}" is not of the form Tool or Tool(pattern)')
    tool, pattern = match["tool"], match["pattern"]
    if "*" not in tool and tool not in KNOWN_TOOLS and not tool.startswith("mcp__"):
        close = difflib.get_close_matches(tool, KNOWN_TOOLS, n=1, cutoff=0.5)
        better = f', did you mean "{close[0]}"?' if close else ""
        return Rule(text, problem=f'rule "{text}" names the unknown tool "{tool}"{better}')
    if pattern == "":
        return Rule(text, problem=f'rule "{text}" has an empty pattern, write {tool} for every call')
    rule = Rule(text, tool, pattern or "")
    if pattern and any(map(rule.names, FILE_TOOLS)):
        try:
            _path_expression(pattern)
        except re.error as error:
            return Rule(text, problem=f'rule "{text}" has a pattern that is no glob: {error.msg}')
    return rule


def matches_path(pattern: str, path: str) -> bool:
    """Whether a path below the workspace (or a folder above it) is what a file rule speaks of.

    Case is ignored: on file systems that ignore it, `SECRETS/key` and `secrets/key` are one file.
    A path longer than the system takes matches every pattern: it names no file, and the model chose its length.
    """
    return len(path) > LONGEST_PATH or _path_expression(pattern).fullmatch(path.lower()) is not None


@lru_cache(maxsize=512)
def _path_expression(pattern: str) -> re.Pattern[str]:
    """What a rule speaks of, and everything below it."""
    return re.compile(f"(?:{glob_expression(pattern.lower()).pattern})(?:/.*)?", re.DOTALL)


@lru_cache(maxsize=512)
def glob_expression(pattern: str) -> re.Pattern[str]:
    """A glob with `**` for any depth; a pattern without a slash means the name at any depth."""
    cleaned = pattern.removeprefix("./").removeprefix("/").removesuffix("/")
    if "/" not in cleaned and not cleaned.startswith("**"):
        cleaned = f"**/{cleaned}"
    # The same places can be reached in many ways through `***` and `**/**/`, and each would be tried.
    cleaned = re.sub(r"(?:(?<=/)|^)(?:\*\*/)+", "**/", re.sub(r"\*{3,}", "**", cleaned))
    pieces = [piece for piece in re.split(r"(\*\*/|/\*\*$|\*+|\?|\[[^\]]*\]|\{[^{}]*\})", cleaned) if piece]
    return re.compile(_translate(pieces), re.DOTALL)


def _translate(pieces: list[str]) -> str:
    """Pieces as one expression. A star that its like follows takes the first fit, which is as good as any."""
    done, index = "", 0
    while index < len(pieces):
        end = _next_star(pieces, index) if pieces[index] in FIRST_FIT else index
        if end > index:
            done += f"(?>{FIRST_FIT[pieces[index]]}{''.join(map(_piece, pieces[index + 1 : end]))})"
            index = end
        else:
            done += _piece(pieces[index])
            index += 1
    return done


def _next_star(pieces: list[str], index: int) -> int:
    """Where the next star of the same kind stands, with only letters and `?` between; else `index`."""
    star = pieces[index]
    for later in range(index + 1, len(pieces)):
        if pieces[later] == star:
            return later if star != "**/" or pieces[later - 1].endswith("/") else index
        if pieces[later][0] in "*[{" or (star == "*" and "/" in pieces[later]) or pieces[later] == "/**":
            break
    return index


FIRST_FIT = {"**/": "(?:.*?/)??", "**": ".*?", "*": "[^/]*?"}
WILDCARDS = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _piece(piece: str) -> str:
    """One piece of a glob as a regular expression."""
    if piece in WILDCARDS:
        return WILDCARDS[piece]
    if len(piece) > 2 and piece[0] == "[" and piece[-1] == "]":
        inner = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^/{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    if len(piece) > 1 and piece[0] == "{" and piece[-1] == "}":
        return f"(?:{'|'.join(map(_alternative, piece[1:-1].split(',')))})"
    return re.escape(piece)


def _alternative(text: str) -> str:
    return "".join(WILDCARDS[part] if part in WILDCARDS else re.escape(part) for part in re.split(r"(\*+|\?)", text))
