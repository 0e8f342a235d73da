"""Which models rewrite and judge, and what they may cost."""

from dataclasses import dataclass, field

from warploom.core.errors import BadInputError
from warploom.llm import Budget, LLMSettings
from warploom.llm.transport import Transport


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which models propose programs, within which caps.

    Attributes:
        models: who rewrites, as model strings (docs/providers) or objects that answer.
        judge: who explains a failed attempt before the next one; None: the first of `models`.
        judged: whether to ask for that explanation at all. Its absence saves one call for each
            failed attempt; the findings themselves are always shown.
        budget: caps over all calls of a run.
        settings: how calls are made.
        context_tokens: how much may be told in one prompt, by an estimate of three bytes a token.
        max_output_tokens: how much one reply may be, reasoning included.
    """

    models: tuple[str | Transport, ...]
    judge: str | Transport | None = None
    judged: bool = True
    budget: Budget = field(default_factory=Budget)
    settings: LLMSettings = field(default_factory=LLMSettings)
    context_tokens: int = 48_000
    max_output_tokens: int = 32_768

    def __post_init__(self) -> None:
        if not self.models:
            raise BadInputError("models must name at least one model, got none")
        for name in ("context_tokens", "max_output_tokens"):
            if getattr(self, name) < 1024:
                raise BadInputError(f"{name} must be at least 1024, got {getattr(self, name)}")
