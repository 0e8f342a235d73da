"""Runs that several runners share: who they are, and what each works on."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables, and the runs' versions."""
    op.add_column("runs", sa.Column("version", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "runners",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True)),
        sa.UniqueConstraint("run_id", "name", name="one_runner_of_a_name"),
    )
    op.create_table(
        "claims",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("normal_hash", sa.String(32)),
        sa.Column("runner_id", _ID, sa.ForeignKey("runners.id"), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.UniqueConstraint("run_id", "kind", "number", name="one_claim_per_attempt"),
        sa.UniqueConstraint("run_id", "normal_hash", name="one_claim_per_text"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("claims")
    op.drop_table("runners")
    op.drop_column("runs", "version")
