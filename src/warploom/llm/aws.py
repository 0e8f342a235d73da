"""A client for AWS Bedrock; boto3 has no types, so it is kept in here."""

from importlib import import_module
from typing import Any

from warploom.llm.errors import LLMKeyError
from warploom.llm.keys import Keys
from warploom.llm.names import ModelName
from warploom.llm.records import LLMSettings


def bedrock_client(name: ModelName, keys: Keys, settings: LLMSettings) -> Any:
    """Return a `bedrock-runtime` client that does not retry by itself.

    The key is `AWS_BEARER_TOKEN_BEDROCK`, or whatever boto3 finds: `AWS_ACCESS_KEY_ID` and
    `AWS_SECRET_ACCESS_KEY`, a profile, or the machine's role.

    Raises:
        LLMKeyError: no region is named, or the profile is unknown.
    """
    boto3, botocore = import_module("boto3"), import_module("botocore.exceptions")
    config = import_module("botocore.config").Config
    bearer = keys.get("AWS_BEARER_TOKEN_BEDROCK")
    options: dict[str, Any] = {
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "read_timeout": settings.timeout_s,
        "connect_timeout": min(10.0, settings.timeout_s),
        "max_pool_connections": max(10, settings.concurrency),
    }
    try:
        session = boto3.Session(
            aws_access_key_id=keys.get("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=keys.get("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=keys.get("AWS_SESSION_TOKEN"),
            region_name=keys.get("AWS_REGION") or keys.get("AWS_DEFAULT_REGION"),
            profile_name=keys.get("AWS_PROFILE"),
            botocore_session=_bearer_session(bearer) if bearer else None,
        )
        if bearer:
            options["signature_version"] = "bearer"
        return session.client("bedrock-runtime", config=config(**options), endpoint_url=name.url)
    except botocore.BotoCoreError as error:
        raise LLMKeyError(
            f"{name.text} cannot be used: {keys.redact(str(error))}",
            hint="set AWS_REGION, and a key or profile (docs/providers/bedrock.md)",
        ) from None


def bedrock_errors() -> tuple[type[Exception], type[Exception]]:
    """Return boto3's base error, and the one for missing keys."""
    found = import_module("botocore.exceptions")
    return found.BotoCoreError, found.NoCredentialsError


def _bearer_session(token: str) -> Any:
    session = import_module("botocore.session").Session()
    frozen = import_module("botocore.tokens").FrozenAuthToken(token)

    def auth_token(**_: object) -> Any:
        return frozen

    session.get_auth_token = auth_token
    session.get_credentials = lambda: None
    return session
