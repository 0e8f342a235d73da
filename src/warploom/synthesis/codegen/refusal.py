"""Why the rules have no kernel for a reference."""

from warploom.core.errors import UnsupportedError


class BeyondRulesError(UnsupportedError):
    """An operation, a type or a form that the rules have no code for; names the line."""

    def __init__(self, what: str, *, line: int | None = None) -> None:
        super().__init__(
            f"the rules have no code for {what}",
            line=line,
            hint="--proposer llm --model NAME has a model write the kernel",
        )
