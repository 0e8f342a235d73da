"""Run by Alembic for each migration, on the connection that `opening.py` hands over."""

from alembic import context

from warploom.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
