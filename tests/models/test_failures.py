"""How long a server wants to be left alone, and answers of servers that are no Messages API."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from ci_agent.models.base import UNKNOWN_MODEL, ModelFacts
from ci_agent.models.facts import read_facts
from ci_agent.models.failures import read_retry_after

WAITS: dict[str, tuple[dict[str, str], float | None]] = {
    "nothing": ({}, None),
    "seconds": ({"retry-after": "7"}, 7.0),
    "parts of seconds": ({"retry-after": "0.5"}, 0.5),
    "milliseconds go first": ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
    "broken milliseconds": ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    "negative": ({"retry-after": "-3"}, 0.0),
    "not a number": ({"retry-after": "NaN"}, None),
    "infinite": ({"retry-after": "inf"}, None),
    "a date that is over": ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    "a date without a zone that is over": ({"retry-after": "Wed, 21 Oct 2015 07:28:00"}, 0.0),
    "an impossible date": ({"retry-after": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
    "words": ({"retry-after": "later"}, None),
}


@pytest.mark.parametrize("name", WAITS)
def test_wait_is_read(name: str) -> None:
    headers, expected = WAITS[name]
    assert read_retry_after(headers) == expected


def test_date_to_come_is_read() -> None:
    then = datetime.now(UTC) + timedelta(hours=1)
    seconds = read_retry_after({"retry-after": format_datetime(then, usegmt=True)})
    assert seconds is not None
    assert 3000 < seconds <= 3600


ODD: dict[str, tuple[object, ModelFacts]] = {
    "nothing": (None, UNKNOWN_MODEL),
    "a list": ([1], UNKNOWN_MODEL),
    "no numbers": ({"max_input_tokens": "many", "max_tokens": True}, UNKNOWN_MODEL),
    "no sense": ({"max_input_tokens": -1, "max_tokens": 0, "capabilities": []}, UNKNOWN_MODEL),
    "words for yes": ({"capabilities": {"effort": {"low": {"supported": "true"}}}}, UNKNOWN_MODEL),
    "half of it": (
        {"max_input_tokens": 5, "capabilities": {"effort": {"low": {"supported": True}, "odd": {"supported": True}}}},
        ModelFacts(5, UNKNOWN_MODEL.max_output_tokens, frozenset({"low"})),
    ),
    "adaptive only": (
        {"max_tokens": 9, "capabilities": {"thinking": {"types": {"adaptive": {"supported": True}}}}},
        ModelFacts(UNKNOWN_MODEL.context_tokens, 9, adaptive_thinking=True),
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_facts_are_read_from_what_is_there(name: str) -> None:
    data, expected = ODD[name]
    assert read_facts(data) == expected
