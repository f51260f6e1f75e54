"""What a hostile model may write, and what is posted of it."""

import pytest

from ci_agent.outputs.sanitise import Sanitiser

sanitise = Sanitiser(frozenset({"github.com"}), "own/repo")

ORDINARY = """# Cause

The *test* `test_x` fails in **two** places, see [the log](https://github.com/own/repo/actions/runs/1) and #12:

1. `a < b && c` is ~~right~~ wrong; it's [here](src/a.py#L3).
   - nested (https://github.com/own/repo/pull/3), done
2. - [x] task

| name | value |
|------|:-----:|
| `x`  | 1 & 2 |

> [!NOTE]
> Quoted > text.

```python
@decorated
def f(): return "<b>"
```

---

Done."""

TABLE = {
    "plain": ("Fine, as **it** is.\n\n- a\n- b", "Fine, as **it** is.\n\n- a\n- b"),
    "mention": ("ping @bob and @org/team", "ping `@bob` and `@org/team`"),
    "mail address": ("me@example.com.", "`me@example.com`."),
    "image": ("![a](https://evil.example/x)", "!\\[a] (link to evil.example removed)"),
    "image of github": ("![a](https://github.com/x.png)", "!\\[a](https://github.com/x.png)"),
    "reference image": ("![a][b]\n\n[b]: https://evil.example", "!\\[a][b]\n\n[b]\\: (link to evil.example removed)"),
    "link": ("[a](https://evil.example/?q=1)", "[a] (link to evil.example removed)"),
    "link with title": ('[a](https://evil.example "t")', "[a] (link to evil.example removed)"),
    "link over lines": ("[a](\nhttps://evil.example)", "[a]\\(\n(link to evil.example removed))"),
    "link in angles": ("[a](<https://evil.example>)", "[a]\\(&lt;(link to evil.example removed)>)"),
    "link to github": ("[a](https://github.com/o/r)", "[a](https://github.com/o/r)"),
    "link with user": ("[a](https://github.com@evil.example)", "[a] (link to evil.example removed)"),
    "relative link": ("[a](docs/x.md#L3)", "[a](docs/x.md#L3)"),
    "protocol-relative": ("[a](//evil.example)", "[a] (link to evil.example removed)"),
    "script link": ("[a](javascript:alert(1))", "[a]\\(javascript:alert(1))"),
    "entity in link": ("[a](h&#116;tps://evil.example)", "[a] (link to another place removed)"),
    "escape in link": ("[a](https\\://evil.example)", "[a] (link to evil.example removed)"),
    "bare address": ("see https://evil.example/a?b.", "see (link to evil.example removed)"),
    "www": ("see www.evil.example/a", "see (link to evil.example removed)"),
    "autolink": ("<https://evil.example>", "&lt;(link to evil.example removed)>"),
    "html": ('<img src="x"> <a href="x">y</a>', '&lt;img src="x"> &lt;a href="x">y&lt;/a>'),
    "details": ("<details><summary>s</summary>", "&lt;details>&lt;summary>s&lt;/summary>"),
    "html with attributes": ("<details onclick=x>", "&lt;details onclick=x>"),
    "html comment": ("a<!-- ci-agent: comment-1 -->b", "a&lt;!-- ci-agent: comment-1 -->b"),
    "open html comment": ("a<!-- b", "a&lt;!-- b"),
    "command": ("/merge\nok /no", "`/merge`\nok /no"),
    "foreign issue": ("see other/repo#3 and #4", "see `other/repo#3` and #4"),
    "invisible": ("a\u200bb\u202ec", "abc"),
    "control": ("a\x1b[31mb", "a[31mb"),
    "code span stays": ("`@bob <b> https://evil.example`", "`@bob <b> https://evil.example`"),
    "escaped backtick": ("\\`![a](u)\\`", "\\`!\\[a](u)\\`"),
    "span over lines": ("`a\n![b](https://evil.example)`", "\\`a\n!\\[b] (link to evil.example removed)\\`"),
    "span in a table": (
        "|a|b|\n|-|-|\n|`x|![a](https://evil.example)`|",
        "|a|b|\n|-|-|\n|\\`x|!\\[a] (link to evil.example removed)\\`|",
    ),
    "bar in a span": ("use `a || b` here", "use `a || b` here"),
    "lone backtick": ("a ` b @alice c", "a \\` b `@alice` c"),
    "signs": ("/@alice @@alice `@alice", "`/@alice` `@@alice` \\` `@alice`"),
    "sign alone": ("a @ b", "a @ b"),
    "backslash": ("C:\\Users \\@bob \\*", "C:\\\\Users `@bob` \\*"),
    "variation selectors": ("a\ufe00\ufe0fb\U000e0101", "ab"),
    "many marks": ("a" + "\u0315" * 50, "a" + "\u0315" * 8),
    "formula": ("$\\phantom{x}$ for $5", "\uff04\\\\phantom{x}\uff04 for $5"),
    "price": ("$5 or $6", "$5 or $6"),
    "own thread": ("https://github.com/own/repo/issues/1", "https://github.com/own/repo/issues/1"),
    "own issue by name": ("own/repo#1", "own/repo#1"),
    "foreign thread": ("[a](https://github.com/a/b/pull/1)", "[a] (link to another thread removed)"),
    "encoded thread": ("https://github.com/a/b/%69ssues/1", "(link to another thread removed)"),
    "thread by detour": ("https://github.com/own/repo/../../a/b/issues/1", "(link to another thread removed)"),
    "relative thread": ("[a](../../../a/b/issues/1)", "[a] (link to another thread removed)"),
    "foreign file": ("https://github.com/a/b/blob/m/c.py#L3.", "https://github.com/a/b/blob/m/c.py#L3."),
    "query": ("[a](https://github.com/s?q=1&t=2)", "[a](https://github.com/s?q=1&amp;t=2)"),
    "indented fence": ("1. a\n   ```py\n   x\n   ```\n2. b", "1. a\n\n```py\nx\n```\n\n2. b"),
    "indented closer": ("```\n   ```\n<b>\n```", "```\n```\n\n&lt;b>\n\n```\n```"),
    "fence in a fence": ("````md\n```\nx\n```\n````", "````md\n```\nx\n```\n````"),
    "fence in a quote": ("> ```\n> x", "> \\`\\`\\`\n> x"),
    "fence in a list": ("- ~~~~\n  x", "- \\~\\~\\~\\~\n  x"),
    "info": ("~~~py`<b> title=x\n~~~", "~~~py\n~~~"),
    "command in a list": ("- /close\n> /close", "- `/close`\n> `/close`"),
    "fence stays": ("```python\n@bob = '<b>'\n```", "```python\n@bob = '<b>'\n```"),
    "drawing": ("```mermaid\nclick A 'https://evil.example'\n```", "```text\nclick A 'https://evil.example'\n```"),
    "open fence": ("```\nx", "```\nx\n```"),
    "fence after html": ("<details>\n```\n@bob\n```", "&lt;details>\n\n```\n@bob\n```"),
    "ordinary answer": (ORDINARY, ORDINARY),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_markdown_is_made_safe(name: str) -> None:
    text, expected = TABLE[name]
    assert sanitise(text) == expected


@pytest.mark.parametrize("name", TABLE)
def test_safe_markdown_stays_the_same(name: str) -> None:
    once = sanitise(TABLE[name][0])
    assert sanitise(once).replace("&amp;", "&") == once.replace("&amp;", "&")


def test_every_thread_is_foreign_without_a_repository() -> None:
    unsure = Sanitiser(frozenset({"github.com"}))
    assert unsure("https://github.com/own/repo/issues/1 own/repo#1") == "(link to another thread removed) `own/repo#1`"


def test_a_line_is_safe_after_other_words() -> None:
    assert sanitise.line("```\n<img src=x>\n```") == "\\`\\`\\` &lt;img src=x> \\`\\`\\`"
