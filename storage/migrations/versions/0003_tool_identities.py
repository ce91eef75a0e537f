"""Record which tool a call and an approval are about, and every tool that was offered"""

import sqlalchemy as sa
from alembic import op

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None

IDENTITY = ('tool_source', 'tool_own_name', 'tool_fingerprint')


def upgrade() -> None:
    # Not batch mode: it would drop and rebuild tables that others refer to.
    for table in ('tool_calls', 'approvals'):
        for name in IDENTITY:
            op.add_column(table, sa.Column(name, sa.String(), server_default='', nullable=False))
    op.create_table(
        'known_tools',
        sa.Column('source', sa.String(), nullable=False),
        sa.Column('own_name', sa.String(), nullable=False),
        sa.Column('name', sa.String(), nullable=False),
        sa.Column('fingerprint', sa.String(), nullable=False),
        sa.Column('definition', sa.JSON(), nullable=False),
        sa.Column('changed_fingerprint', sa.String(), nullable=True),
        sa.Column('changed_definition', sa.JSON(), nullable=True),
        sa.Column('created', sa.Float(), nullable=False),
        sa.Column('updated', sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint('source', 'own_name', name='pk_known_tools'),
        sa.UniqueConstraint('name', name='uq_known_tools_name'),
    )


def downgrade() -> None:
    op.drop_table('known_tools')
    for table in ('approvals', 'tool_calls'):
        for name in reversed(IDENTITY):
            op.drop_column(table, name)
