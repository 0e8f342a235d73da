"""Language models: any provider, known cost, hard caps, every call recorded.

Nothing here imports a provider's SDK until a call is really sent: records are read and replayed
without the extra `warploom[llm]`.
"""

from warploom.llm.client import LLMClient
from warploom.llm.embed import EmbeddingClient
from warploom.llm.errors import LLMError
from warploom.llm.records import Budget, LLMReply, LLMRequest, LLMSettings, Price, Tool, Usage

__all__ = [
    "Budget",
    "EmbeddingClient",
    "LLMClient",
    "LLMError",
    "LLMReply",
    "LLMRequest",
    "LLMSettings",
    "Price",
    "Tool",
    "Usage",
]
