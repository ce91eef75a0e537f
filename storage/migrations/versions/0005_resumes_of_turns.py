"""Count how often a turn was resumed, and record its place in the inbox"""

import sqlalchemy as sa
from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('turns', sa.Column('resumes', sa.Integer(), server_default=sa.text('0'), nullable=False))
    op.add_column('turns', sa.Column('inbox_row', sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column('turns', 'inbox_row')
    op.drop_column('turns', 'resumes')
