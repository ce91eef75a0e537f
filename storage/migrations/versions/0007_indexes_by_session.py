"""Index inbox, deliveries and journal by session, for the removal of old conversations"""

from alembic import op

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index('ix_inbox_session', 'inbox', ['session'])
    op.create_index('ix_deliveries_session', 'deliveries', ['session', 'turn'])
    op.create_index('ix_journal_session', 'journal', ['session'])


def downgrade() -> None:
    op.drop_index('ix_journal_session', 'journal')
    op.drop_index('ix_deliveries_session', 'deliveries')
    op.drop_index('ix_inbox_session', 'inbox')
