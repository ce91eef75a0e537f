"""The tables of the first build. No database is older, and a new one gets the newest tables from `storage.tables`."""

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None
