"""What GitHub's own renderer makes of sanitised text, however it was attacked."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from urllib.parse import urlsplit

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from ci_agent.outputs.sanitise import Sanitiser

sanitise = Sanitiser(frozenset({"github.com"}), "own/repo")

EXPECTED = frozenset(
    {"p", "ul", "ol", "li", "code", "pre", "strong", "em", "del", "table", "thead", "tbody", "tr", "th", "td"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "a", "br", "hr", "input"}
)  # fmt: skip
IMG = "<img src=https://evil.example/leak>"
ATTACKS = {
    "indented closer": f"```\n   ```\n{IMG}\n```",
    "indented opener": f"  ```\n```\n{IMG}\n```",
    "opener in a list": f"- a\n\n\t```\n```\n{IMG}\n```\n",
    "fence after a bullet": f"- ```\n  x\n```\n{IMG}\n```",
    "fence in a quote": f"> ```\n{IMG}\n> ```",
    "backtick in the info": f"~~~ a`\n~~~\n{IMG}\n~~~",
    "hidden character in a fence": f"`\u200b``\n{IMG}\n```",
    "longer closer": f"```\n{IMG}\n`````\n{IMG}",
    "other closer": f"```\n```~~~\n```\n{IMG}\n```",
    "span over a line's end": f"a `\n`{IMG}`",
    "link in a span over lines": "a `\n`[x](https://evil.example) ![y](https://evil.example/p.png)`",
    "span in an HTML block": f"<details><summary>\n`{IMG}`\n</summary></details>",
    "span in a quoted table": f"> | h | i |\n> |---|---|\n> | `{IMG} | ` |",
    "span in a table of one column": f"| h\n|---\n| `{IMG} | `",
    "span in a table with an escape": f"| h | i |\n|\\:---|---|\n| `{IMG} | ` |",
    "span in a listed table": f"- | h | i |\n  |---|---|\n  | `{IMG} | ` |",
    "span under a heading": f"a\n`\n=\n`{IMG}`",
    "escaped span": f"\\`{IMG}`",
    "half escaped span": f"\\``{IMG}``",
    "span in a destination": f"[a](x`){IMG}`",
    "span after an address": f"https://github.com/o/r`{IMG}`",
    "span after an address and a bracket": f"https://github.com/o/r),`{IMG}`",
    "image after an address": "https://github.com/own/repo![x](docs/a.md)",
    "link without its bracket": f"](https://github.com/own/repo)`{IMG}` !\\[](https://github.com/own/repo)|me@evil.example",
    "www as a relative link": "](www.evil.example) [a](www.evil.example)",
    "bar after an address": "https://github.com| https://github.com] https://github.com.|",
    "address before a sign": "---https://evil.example/x@---: ---https://github.com@;",
    "address after a bracket": "[x]https://evil.example",
    "address in an address": "https://github.com/own/repohttps://github.com/a/b/issues/1",
    "thread in an address": "https://github.com/a/b/issues/1 [x](https://github.com/a/b/pull/1) https://github.com/a/b#1",
    "thread in an odd address": "https://GITHUB.com//a/./b/%69ssues/1 https://github.com/own/repo/../../a/b/issues/1",
    "foreign issue": "a ` b evil/repo#1 evil\\/repo#1 evil/repo\\#1 \\evil/repo#1",
    "command": "`\n/close\n- /close\n\\/close\n> 1. /close",
    "comment": f"!<!-- x -->[y](/a.png) <!-- `-->{IMG}`",
    "definition in a list": "- [x]: //evil.example/l\n\n[x] ![x]",
    "definition with escapes": "1. [x]: http:\\/\\/evil.example\n\n[x]",
    "definition over two lines": "[x\ny]: //evil.example/l\n\n[x y]",
    "definition with a bracket": "[x\\]y]: //evil.example/l\n\n[x\\]y]",
    "definition with an escaped colon": "[x]\\: //evil.example/l\n\n[x]",
    "footnote": "x[^1]\n\n[^1]: ![a](//evil.example)",
    "overlapping links": "[a](ok [b](//evil.example/l)",
    "overlapping links with escapes": "[a](ok [b](http:\\/\\/evil.example/l)",
    "title over lines": "[x](ok\n'](//evil.example/l)",
    "destination in angles": "[x](<//evil.example/l>)",
    "www after an underscore": "_www.evil.example/l",
    "www twice": "www.www.evil.example *www.evil.example*",
    "address with escapes": "https:\\//evil.example www\\.evil.example 1https://evil.example",
    "user in an address": "https://github.com@evil.example https://github.com\\@evil.example",
    "other mail schemes": "xmpp:me@evil.example/l mailto:me@evil.example",
    "mail address": "me@evil.example me\\@evil.example me@\\_x.example",
    "pairing backtick": "a ` b @alice c",
    "several signs": "x/@alice and @@alice and `@alice \\@alice é@alice",
    "backslash before a name": "\\a/@alice \\\\@alice `x`@alice",
    "name after an address": "https://github.com/o@alice https://github.com/o\\@alice",
    "entities": "&#64;alice &commat;alice [x](&#104;ttps://evil.example)",
    "drawn greek backtick": f"\u1fef{IMG}\u1fef",
    "open details": "hello\n<details>",
}  # fmt: skip


class Page(HTMLParser):
    """Collects what a rendered page would load, link to or call."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.text = ""
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._flush()
        values = dict(attrs)
        self._code += tag == "code"
        if tag not in EXPECTED or (tag == "input" and values.get("type") != "checkbox"):
            self.problems.append(f"<{tag}>")
        if tag == "a":
            self._check_link(values.get("href") or "")

    def _check_link(self, href: str) -> None:
        parts = urlsplit(href)
        is_relative = not parts.scheme and not parts.netloc and not href.startswith(("//", "/\\", "\\"))
        if not is_relative and (parts.scheme not in ("http", "https") or parts.netloc != "github.com"):
            self.problems.append(f"link to {href}")
        if re.search(r"(?i)github\.com/+(?!own/repo/)[^/]+/[^/]+/(?:issues|pull|discussions|commit)/", href):
            self.problems.append(f"reference to {href}")

    def handle_endtag(self, tag: str) -> None:
        self._flush()
        self._code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._code else data

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"comment {data}")

    def close(self) -> None:
        super().close()
        self._flush()

    def _flush(self) -> None:
        self.problems += re.findall(r"@[A-Za-z0-9][\w-]*|[\w.-]+/[\w.-]+#\d+", self.text)
        self.text = ""


def problems(text: str) -> list[str]:
    """What is wrong with a text once it is rendered and read by other bots."""
    page = Page()
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    page.feed(cmarkgfm.github_flavored_markdown_to_html(text, options=options))
    page.close()
    fenced = re.sub(r"(?ms)^(`{3,}|~{3,})[^\n`]*\n.*?^\1$", "", text)
    commands = re.findall(r"(?m)^[\s>*+-]*/\w+", fenced)
    return page.problems + commands


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_renders_as_nothing_but_text(name: str) -> None:
    once = sanitise(ATTACKS[name])
    assert problems(once) == []
    assert problems(sanitise(once)) == []
    assert problems(f"- refused: {sanitise.line(ATTACKS[name])}\n\n") == []


def test_the_oracle_sees_what_is_wrong() -> None:
    text = f"{IMG} [x](//evil.example) @alice a/b#1 me@evil.example\n\n/close https://github.com/a/b/issues/1"
    assert problems(text) == [
        "<img>",
        "link to //evil.example",
        "@alice",
        "a/b#1",
        "link to mailto:me@evil.example",
        "@evil",
        "reference to https://github.com/a/b/issues/1",
        "\n/close",
    ]


PIECES = st.sampled_from(
    [
        *["`", "``", "```", "~~~", "~", "\n", "\n\n", " ", "    ", "\t", "\\", "|", "---", "|-|-|", "> ", "- ", "1. "],
        *["# ", IMG, "[x](//evil.example)", "[x](docs/a.md)", "](", "]:", "![", "[", "]", "(", ")", "[x]", "[^1]", "<"],
        *["@alice", "@", "me@evil.example", "/close", "/", "evil/repo#1", "#1", "a", "_", "*", "**", ":", ".", "$"],
        *["https://evil.example/x", "www.evil.example", "//evil.example", "mailto:", "xmpp:", "https:", "ftp://"],
        *["https://github.com/own/repo", "https://github.com", "https://github.com/a/b/issues/1", "&#116;", "&", ";"],
        *["<!--", "-->", "<details>", "</p>", "\r", ">", "=", "\u200b", "\ufe0f", "\u2028", "&amp;", "&lt;"],
        *['"', "'", "!", "](https://github.com/own/repo)", "](https://github.com)", "](www.evil.example)"],
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_no_mixture_renders_as_more_than_text(text: str) -> None:
    once = sanitise(text)
    assert problems(once) == []
    assert problems(sanitise(once)) == []
    assert problems(f"- refused: {sanitise.line(text)}\n\n") == []


SLOW = [
    *[" ", "\t", "~", "`"],
    *["-", "- ", "> ", "\n", "```a\n", "~~~\n", "a-", "www.", "https://", "https://github.com/", "@", "a@"],
    *["[", "]("],
    *["](a", "]:", "![", "\\", "`|", "``` ", "`` `", "x`", "x``y`", "&", "<", "<!--", "a/", "a.b", "#1", "$"],
    *["1.", "*", "_", "|-", "/a", "\u0315\u0300", "\u200b"],
]  # fmt: skip


def _seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        sanitise(text)
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.parametrize("ending", ["/", "\n```"])
@pytest.mark.parametrize("piece", SLOW)
def test_time_grows_with_length_alone(piece: str, ending: str) -> None:
    opened = "```\n" if ending == "\n```" else ""
    short, long = (opened + (piece * size)[:size] + ending for size in (15_000, 60_000))
    assert _seconds(long) < 12 * _seconds(short) + 0.5
