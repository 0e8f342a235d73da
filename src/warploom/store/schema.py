"""The tables. A change here needs a migration in `migrations/versions` and a saved file in tests.

`programs` is one row per attempt, failures too; `number` counts within a run. `events` are what
else decides how a run goes on, in order. Both are only ever appended to. Where several runners
share a run, `runs.version` grows with each transaction, and `claims` are what each of them works
on: nobody else may, while the runner is `seen`.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()
_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts INTEGER keys only by itself

RUNS = Table(
    "runs",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created", Float, nullable=False),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("facts", JSON, nullable=False),
    Column("version", Integer, nullable=False, default=0, server_default="0"),
)

RUNNERS = Table(
    "runners",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run_id", _ID, ForeignKey("runs.id"), nullable=False),
    Column("name", String(200), nullable=False),
    Column("token", String(32), nullable=False),
    Column("seen", DateTime(timezone=True)),
    UniqueConstraint("run_id", "name", name="one_runner_of_a_name"),
)

CLAIMS = Table(
    "claims",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run_id", _ID, ForeignKey("runs.id"), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("number", Integer, nullable=False),
    Column("normal_hash", String(32)),
    Column("runner_id", _ID, ForeignKey("runners.id"), nullable=False),
    Column("data", JSON, nullable=False),
    UniqueConstraint("run_id", "kind", "number", name="one_claim_per_attempt"),
    UniqueConstraint("run_id", "normal_hash", name="one_claim_per_text"),
)

PROGRAMS = Table(
    "programs",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run_id", _ID, ForeignKey("runs.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("language", String(16), nullable=False),
    Column("code", Text, nullable=False),
    Column("code_hash", String(32), nullable=False),
    Column("normal_hash", String(32), nullable=False),
    Column("parent", Integer),
    Column("partner", Integer),
    Column("inspirations", JSON, nullable=False),
    Column("island", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("operator", String(40), nullable=False),
    Column("proposer", String(40), nullable=False),
    Column("model", String(200), nullable=False),
    Column("changes", JSON, nullable=False),
    Column("directives", JSON, nullable=False),
    Column("rejected", Integer, nullable=False),
    Column("correct", Boolean, nullable=False),
    Column("score", Float),
    Column("time_ms", Float),
    Column("time_source", String(16), nullable=False),
    Column("public", JSON, nullable=False),
    Column("private", JSON, nullable=False),
    Column("feedback", Text, nullable=False),
    Column("failure", String(80), nullable=False),
    Column("findings", JSON, nullable=False),
    Column("level", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("nloc", Integer, nullable=False),
    Column("functions", Integer, nullable=False),
    Column("cyclomatic", Integer, nullable=False),
    Column("diff", Text, nullable=False),
    Column("cost", Float, nullable=False),
    Column("created", Float, nullable=False),
    Column("embedding", LargeBinary),
    Column("projection", JSON),
    Column("cluster", Integer),
    UniqueConstraint("run_id", "number", name="one_number_per_run"),
    Index("programs_by_score", "run_id", "correct", "score"),
    Index("programs_by_island", "run_id", "island", "score"),
    Index("programs_by_parent", "run_id", "parent"),
    Index("programs_by_code", "run_id", "code_hash"),
    Index("programs_by_normal_code", "run_id", "normal_hash"),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run_id", _ID, ForeignKey("runs.id"), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("at", Integer, nullable=False),
    Column("data", JSON, nullable=False),
    Index("events_of_run", "run_id", "id"),
)
