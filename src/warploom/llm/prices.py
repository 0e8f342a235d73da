"""What calls cost: prices that the user gives, then those of genai-prices, then none.

genai-prices ships its table of prices in the package; nothing is fetched.
"""

import math
from collections.abc import Mapping
from decimal import Decimal

from warploom.core.errors import MissingToolError
from warploom.llm.errors import LLMModelError, LLMPriceError
from warploom.llm.names import ModelName, parse_model
from warploom.llm.records import Budget, Price, Usage

_MILLION = Decimal(1_000_000)
# What a token costs that is written to a cache, as a multiple of one that is read, where a price
# does not say so: the models that cache for five minutes ask for more.
_CACHE_WRITES = {"anthropic": Decimal("1.25"), "bedrock": Decimal("1.25")}


class Prices:
    """Prices by model string; `given` go before the built-in ones, `usual` is that of all others.

    `usual` goes before the built-in prices too: it is for models that only an agent knows.
    """

    def __init__(self, given: Mapping[str, Price], usual: Price | None = None) -> None:
        self._given = given
        self._usual = usual

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """Return US dollars for a call, or None where no price is known."""
        price = self._given.get(model, self._usual)
        if price is not None:
            return _cost(price, usage, _CACHE_WRITES.get(model.partition(":")[0], Decimal(1)))
        return _table_cost(model, usage)

    def bound(self, model: str, prompt_tokens: int, output_tokens: int) -> Decimal | None:
        """Return the most that a call can cost, if all of the prompt is written to a cache too."""
        plain = self.cost(model, Usage(prompt_tokens, output_tokens))
        cached = self.cost(model, Usage(prompt_tokens, output_tokens, cache_write=prompt_tokens))
        return None if plain is None or cached is None else max(plain, cached)

    def require(self, model: str, budget: Budget) -> None:
        """Make sure that what the model may use is bounded, or priced.

        What a command costs is told by it, if by anybody: a cap in dollars alone asks for a price.

        Raises:
            LLMPriceError: no price is known, and no cap in tokens is set.
        """
        if budget.dollars is None and model.startswith("command:"):
            return
        if budget.tokens is None and self.cost(model, Usage(1, 1)) is None:
            raise LLMPriceError(
                f"no price is known for {model}, so no cap in dollars can hold",
                hint="give its price in dollars per million tokens, or a cap in tokens "
                "(a price of 0 for a server of your own)",
            )


def _cost(price: Price, usage: Usage, cache_writes: Decimal) -> Decimal:
    fresh = usage.input - usage.cached - usage.cache_write
    read = Decimal(str(price.input))
    rates = (
        (fresh, read),
        (usage.cached, read if price.cached is None else Decimal(str(price.cached))),
        (
            usage.cache_write,
            read * cache_writes if price.cache_write is None else Decimal(str(price.cache_write)),
        ),
        (usage.output, Decimal(str(price.output))),
    )
    return sum((tokens * rate for tokens, rate in rates), Decimal(0)) / _MILLION


def _table_cost(model: str, usage: Usage) -> Decimal | None:
    try:
        name = parse_model(model)
    except LLMModelError:  # a scripted model
        return None
    return _calculate(name, usage) if name.provider.prices else None


def _calculate(name: ModelName, usage: Usage) -> Decimal | None:
    try:
        from genai_prices import Usage as PricedUsage
        from genai_prices import calc_price
    except ModuleNotFoundError:
        raise MissingToolError(
            "prices of models need genai-prices", hint="pip install 'warploom[llm]'"
        ) from None
    counted = PricedUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_write,
    )
    try:
        price = calc_price(counted, name.model, provider_id=name.provider.prices).total_price
    except LookupError:
        return None
    return price if math.isfinite(price) else None
