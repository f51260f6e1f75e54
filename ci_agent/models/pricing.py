"""What a call cost, from a dated price list; a model that is not in it has no cost, only tokens."""

from __future__ import annotations

from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict

from ci_agent.types.messages import Usage

__all__ = ["PriceList", "load_prices", "price", "price_without_cache"]

MILLION = 1_000_000


class Band(BaseModel):
    """Prices per million tokens, for prompts up to a size."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float
    output: float
    cache_write: float
    cache_read: float
    up_to_prompt_tokens: int | None = None


class PriceList(BaseModel):
    """`prices.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: str
    currency: str
    source: str
    models: dict[str, tuple[Band, ...]]


@cache
def load_prices() -> PriceList:
    """The shipped list."""
    return PriceList.model_validate_json(resources.files("ci_agent.models").joinpath("prices.json").read_bytes())


def price(model: str, usage: Usage) -> float | None:
    """The cost of one call in US dollars; None for a model without a price."""
    bands = load_prices().models.get(model, ())
    size = usage.prompt_tokens
    band = next((b for b in bands if b.up_to_prompt_tokens is None or size <= b.up_to_prompt_tokens), None)
    if band is None:
        return None
    total = (
        usage.input_tokens * band.input
        + usage.output_tokens * band.output
        + usage.cache_creation_input_tokens * band.cache_write
        + usage.cache_read_input_tokens * band.cache_read
    )
    return total / MILLION


def price_without_cache(model: str, usage: Usage) -> float | None:
    """What the call would have cost had no part of its prompt been cached."""
    return price(model, Usage(input_tokens=usage.prompt_tokens, output_tokens=usage.output_tokens))
