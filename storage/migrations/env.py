"""Alembic's entry: runs on the connection that the caller hands over, inside the caller's transaction."""

from alembic import context

from storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot ALTER most things in place
)
context.run_migrations()
