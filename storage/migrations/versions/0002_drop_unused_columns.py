"""Drop the columns that nothing reads or writes"""

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None

# ALTER TABLE … DROP COLUMN (SQLite 3.35, which RETURNING needs as well) instead of batch mode: batch mode would drop
# and rebuild tables that others refer to, and foreign keys cannot be switched off inside a transaction.
UNUSED: dict[str, list[sa.Column[object]]] = {
    'attempts': [sa.Column('fence', sa.Integer(), server_default=sa.text('0'), nullable=False)],
    'memories': [sa.Column('source_session', sa.String(), nullable=True)],
    'memory_events': [
        sa.Column('session', sa.String(), nullable=True),
        sa.Column('turn', sa.Integer(), nullable=True),
    ],
    'people': [
        sa.Column('memory_epoch', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('memory_paused', sa.Boolean(), server_default=sa.false(), nullable=False),
    ],
    'sessions': [
        sa.Column('flow', sa.JSON(), nullable=True),
        sa.Column('lease_owner', sa.String(), nullable=True),
        sa.Column('lease_until', sa.Float(), nullable=True),
        sa.Column('fence', sa.Integer(), server_default=sa.text('0'), nullable=False),
    ],
}
STATES = "state IN ('pending', 'sending')"


def upgrade() -> None:
    for table, columns in UNUSED.items():
        for column in columns:
            op.drop_column(table, column.name)
    op.drop_index('ix_deliveries_owed', 'deliveries')
    # SQLite cannot drop a column with a foreign key in place. No table refers to deliveries, so it may be rebuilt.
    with op.batch_alter_table('deliveries') as batch_op:
        batch_op.drop_constraint('fk_deliveries_approval', type_='foreignkey')
        batch_op.drop_column('approval')
    op.create_index('ix_deliveries_unfinished', 'deliveries', ['session'], sqlite_where=sa.text(STATES), postgresql_where=sa.text(STATES))


def downgrade() -> None:
    op.drop_index('ix_deliveries_unfinished', 'deliveries')
    with op.batch_alter_table('deliveries') as batch_op:
        batch_op.add_column(sa.Column('approval', sa.String(), nullable=True))
        batch_op.create_foreign_key('fk_deliveries_approval', 'approvals', ['approval'], ['id'])
    op.create_index('ix_deliveries_owed', 'deliveries', ['session'], sqlite_where=sa.text(STATES), postgresql_where=sa.text(STATES))
    for table, columns in reversed(UNUSED.items()):
        for column in columns:
            op.add_column(table, column)
