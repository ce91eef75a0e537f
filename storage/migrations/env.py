"""Entry point for Alembic. It uses the caller's connection and transaction."""

from alembic import context

from storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes most things by rebuilding the table
)
context.run_migrations()
