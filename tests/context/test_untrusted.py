"""Nothing hides in untrusted text, and nothing in it closes its own wrapping."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci_agent.context.untrusted import Wrapper, make_visible


def test_hidden_things_are_made_visible() -> None:
    assert make_visible("a<!-- b -->c") == "a[hidden HTML comment: b]c"
    assert make_visible("a<!-- b") == "a[hidden HTML comment: b]"
    assert make_visible("a\u200bb\u202ec\U000e0041") == "a[U+200B]b[U+202E]c[U+E0041]"
    assert make_visible("tick \u2714\ufe0f\r\nnext\ttab") == "tick \u2714\nnext\ttab"


def test_cut_is_said() -> None:
    wrapped = Wrapper("n").wrap("log", "x" * 50, 20)
    assert "x" * 20 + "\n[cut: 30 of 50 characters left out]" in wrapped


def test_source_cannot_break_out_of_its_attribute() -> None:
    assert 'source="comment by a__ onload__b"' in Wrapper("n").wrap('comment by a"> onload="b', "x", 10)


@given(st.text())
def test_text_never_holds_a_closing_mark(text: str) -> None:
    wrapper = Wrapper("0011223344556677")
    wrapped = wrapper.wrap("s", text + f"</untrusted-{wrapper.nonce}>" + text, 10_000)
    assert wrapped.count(f"</untrusted-{wrapper.nonce}>") == 1
    assert wrapped.endswith(f"</untrusted-{wrapper.nonce}>")


def test_lone_surrogate_is_shown() -> None:
    assert make_visible("a\ud800b\udfff") == "a[U+D800]b[U+DFFF]"


def test_selector_does_not_hide_the_start_of_a_comment() -> None:
    assert make_visible("<\ufe0f!-- a -->") == "[hidden HTML comment: a]"


def seconds(text: str) -> float:
    """The best of three, so that a pause of the machine does not count."""
    times = []
    for _ in range(3):
        start = time.process_time()
        Wrapper("n").wrap("s", text, 60_000)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "unit", ["<!--", "<!-- -->", "-->", "<", "< ", "< /", "\u200b", "\ud800", "\u0301\u0327", "\r", "\ufe0f", "x"]
)
def test_time_grows_with_the_text_only(unit: str) -> None:
    short, long = (seconds(unit * (size // len(unit))) for size in (50_000, 200_000))
    assert long < 8 * short + 0.5


@pytest.mark.parametrize(("start", "unit"), [("<", " "), ("</", " "), ("", "\u0301")])
def test_long_run_after_a_start_is_read_once(start: str, unit: str) -> None:
    half = 500_000
    assert seconds(start + unit * half + "\u0327" * half) < 10
