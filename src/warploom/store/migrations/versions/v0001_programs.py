"""The first schema: runs, programs, events."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _runs()
    _events()
    _programs()


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("programs")
    op.drop_table("events")
    op.drop_table("runs")


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("facts", sa.JSON, nullable=False),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("at", sa.Integer, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )
    op.create_index("events_of_run", "events", ["run_id", "id"])


def _programs() -> None:
    op.create_table(
        "programs",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("code_hash", sa.String(32), nullable=False),
        sa.Column("normal_hash", sa.String(32), nullable=False),
        sa.Column("parent", sa.Integer),
        sa.Column("partner", sa.Integer),
        sa.Column("inspirations", sa.JSON, nullable=False),
        sa.Column("island", sa.Integer, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("operator", sa.String(40), nullable=False),
        sa.Column("proposer", sa.String(40), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("changes", sa.JSON, nullable=False),
        sa.Column("directives", sa.JSON, nullable=False),
        sa.Column("rejected", sa.Integer, nullable=False),
        sa.Column("correct", sa.Boolean, nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("time_ms", sa.Float),
        sa.Column("time_source", sa.String(16), nullable=False),
        sa.Column("public", sa.JSON, nullable=False),
        sa.Column("private", sa.JSON, nullable=False),
        sa.Column("feedback", sa.Text, nullable=False),
        sa.Column("failure", sa.String(80), nullable=False),
        sa.Column("findings", sa.JSON, nullable=False),
        sa.Column("level", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("nloc", sa.Integer, nullable=False),
        sa.Column("functions", sa.Integer, nullable=False),
        sa.Column("cyclomatic", sa.Integer, nullable=False),
        sa.Column("diff", sa.Text, nullable=False),
        sa.Column("cost", sa.Float, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("embedding", sa.LargeBinary),
        sa.Column("projection", sa.JSON),
        sa.Column("cluster", sa.Integer),
        sa.UniqueConstraint("run_id", "number", name="one_number_per_run"),
    )
    op.create_index("programs_by_code", "programs", ["run_id", "code_hash"])
    op.create_index("programs_by_island", "programs", ["run_id", "island", "score"])
    op.create_index("programs_by_normal_code", "programs", ["run_id", "normal_hash"])
    op.create_index("programs_by_parent", "programs", ["run_id", "parent"])
    op.create_index("programs_by_score", "programs", ["run_id", "correct", "score"])
