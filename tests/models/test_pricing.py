"""Costs come from the dated list, never from a guess."""

import re

import pytest

from ci_agent.models.pricing import load_prices, price
from ci_agent.policy.schema import ModelSection
from ci_agent.types.messages import Usage

MILLION = 1_000_000


def test_list_has_a_date_and_the_default_models() -> None:
    prices = load_prices()
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", prices.as_of)
    assert {ModelSection().main, ModelSection().light} <= set(prices.models)


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(MILLION, MILLION, MILLION, MILLION)
    band = load_prices().models["claude-sonnet-5-5"][0]
    assert price("claude-sonnet-5-5", usage) == band.input + band.output + band.cache_read + band.cache_write


def test_long_prompt_is_charged_by_its_own_band_cached_tokens_included() -> None:
    below, above = load_prices().models["claude-haiku-5-5"]
    assert price("claude-haiku-5-5", Usage(input_tokens=100_000)) == pytest.approx(below.input / 10)
    cached = Usage(input_tokens=1, cache_read_input_tokens=100_000)
    assert price("claude-haiku-5-5", cached) == pytest.approx((above.input + 100_000 * above.cache_read) / MILLION)


def test_unknown_model_has_no_price() -> None:
    assert price("claude-unheard-of", Usage(MILLION, MILLION)) is None
