"""What a hostile model may write, and what is posted of it."""

import pytest

from ci_agent.outputs.sanitise import Sanitiser

sanitise = Sanitiser(frozenset({"github.com"}))

TABLE = {
    "plain": ("Fine, as **it** is.\n\n- a\n- b", "Fine, as **it** is.\n\n- a\n- b"),
    "mention": ("ping @bob and @org/team", "ping `@bob` and `@org/team`"),
    "mail address": ("me@example.com", "me@example.com"),
    "image": ("![a](https://evil.example/x)", "!\\[a] (link to evil.example removed)"),
    "image of github": ("![a](https://github.com/x.png)", "!\\[a](https://github.com/x.png)"),
    "reference image": ("![a][b]\n\n[b]: https://evil.example", "!\\[a][b]\n\n(link to evil.example removed)"),
    "link": ("[a](https://evil.example/?q=1)", "[a] (link to evil.example removed)"),
    "link with title": ('[a](https://evil.example "t")', "[a] (link to evil.example removed)"),
    "link over lines": ("[a](\nhttps://evil.example)", "[a] (link to evil.example removed)"),
    "link in angles": ("[a](<https://evil.example>)", "[a](&lt;(link to evil.example removed)>)"),
    "link to github": ("[a](https://github.com/o/r)", "[a](https://github.com/o/r)"),
    "link with user": ("[a](https://github.com@evil.example)", "[a] (link to evil.example removed)"),
    "relative link": ("[a](docs/x.md#L3)", "[a](docs/x.md#L3)"),
    "protocol-relative": ("[a](//evil.example)", "[a] (link to evil.example removed)"),
    "script link": ("[a](javascript:alert(1))", "[a] (link to another place removed))"),
    "entity in link": ("[a](h&#116;tps://evil.example)", "[a](h&amp;#116;tps://evil.example)"),
    "escape in link": ("[a](https\\://evil.example)", "[a] (link to evil.example removed)"),
    "bare address": ("see https://evil.example/a?b.", "see (link to evil.example removed)"),
    "www": ("see www.evil.example/a", "see (link to evil.example removed)"),
    "autolink": ("<https://evil.example>", "&lt;(link to evil.example removed)>"),
    "html": ('<img src="x"> <a href="x">y</a>', '&lt;img src="x"> &lt;a href="x">y&lt;/a>'),
    "allowed html": (
        "<details><summary>s</summary>\n\nt\n\n</details>",
        "<details><summary>s</summary>\n\nt\n\n</details>",
    ),
    "html with attributes": ("<details onclick=x>", "&lt;details onclick=x>"),
    "html comment": ("a<!-- ci-agent: comment-1 -->b", "ab"),
    "open html comment": ("a<!-- b", "a"),
    "command": ("/merge\nok /no", "`/merge`\nok /no"),
    "foreign issue": ("see other/repo#3 and #4", "see `other/repo#3` and #4"),
    "invisible": ("a\u200bb\u202ec", "abc"),
    "control": ("a\x1b[31mb", "a[31mb"),
    "code span stays": ("`@bob <b> https://evil.example`", "`@bob <b> https://evil.example`"),
    "escaped backtick": ("\\`![a](u)\\`", "\\`!\\[a](u)\\`"),
    "span over lines": ("`a\n![b](https://evil.example)`", "`a\n!\\[b] (link to evil.example removed)`"),
    "span in a table": (
        "|a|b|\n|-|-|\n|`x|![a](https://evil.example)`|",
        "|a|b|\n|-|-|\n|`x|!\\[a] (link to evil.example removed)`|",
    ),
    "fence stays": ("```python\n@bob = '<b>'\n```", "```python\n@bob = '<b>'\n```"),
    "drawing": ("```mermaid\nclick A 'https://evil.example'\n```", "```text\nclick A 'https://evil.example'\n```"),
    "open fence": ("```\nx", "```\nx\n```"),
    "fence after html": ("<details>\n```\n@bob\n```", "<details>\n\n```\n@bob\n```"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_markdown_is_made_safe(name: str) -> None:
    text, expected = TABLE[name]
    assert sanitise(text) == expected


@pytest.mark.parametrize("name", TABLE)
def test_safe_markdown_stays_the_same(name: str) -> None:
    once = sanitise(TABLE[name][0])
    assert sanitise(once).replace("&amp;", "&") == once.replace("&amp;", "&")
