"""Options that say who proposes a program, and what that may cost."""

from typing import Annotated

import typer

Proposer = Annotated[
    str,
    typer.Option(
        "--proposer", metavar="WHO", help="rules, llm, agent, or auto: rules, then a model."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Who rewrites, such as anthropic:NAME; in turn if many.",
    ),
]
JudgeModel = Annotated[
    str | None,
    typer.Option("--judge-model", metavar="MODEL", help="Who explains failures. [--model]"),
]
NoJudge = Annotated[
    bool, typer.Option("--no-judge", help="Show findings without an explanation of a model.")
]
Agent = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help="own, claude, codex, gemini, opencode, acp:COMMAND or command:TEMPLATE. [own]",
    ),
]
AgentSeconds = Annotated[
    float | None,
    typer.Option("--agent-seconds", metavar="S", help="Seconds for one session. [1800]"),
]
AgentSteps = Annotated[
    int | None,
    typer.Option("--agent-steps", metavar="N", help="Tool calls in one session. [60]"),
]
AgentEnv = Annotated[
    list[str] | None,
    typer.Option("--agent-env", metavar="NAME", help="Pass this variable to the agent."),
]
UncappedAgent = Annotated[
    bool,
    typer.Option(
        "--uncapped-agent", help="Let an outside agent ask its provider itself, with its login."
    ),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="Dollars for models, at most.")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", metavar="N", help="Tokens in and out, at most.")
]
MaxRequests = Annotated[
    int | None, typer.Option("--max-requests", metavar="N", help="Calls of models, at most.")
]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", metavar="S", help="Seconds for the run.")
]
Price = Annotated[
    str | None,
    typer.Option("--price", metavar="IN,OUT", help="Dollars per million tokens, if unknown."),
]
Stream = Annotated[bool, typer.Option("--stream", help="Let replies be streamed.")]
Attempts = Annotated[
    int | None,
    typer.Option("--attempts", metavar="N", help="Per stage. [A 5, B 10; one stage 5]"),
]
