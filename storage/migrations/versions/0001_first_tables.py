"""The first tables"""

import sqlalchemy as sa
from alembic import op

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('journal',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('session', sa.String(), nullable=True),
    sa.Column('turn', sa.Integer(), nullable=True),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('user', sa.String(), nullable=True),
    sa.Column('detail', sa.JSON(), nullable=False),
    sa.Column('at', sa.Float(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_journal'))
    )
    op.create_table('memories',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('owner', sa.String(), nullable=False),
    sa.Column('short_id', sa.String(), nullable=False),
    sa.Column('audience', sa.String(), nullable=False),
    sa.Column('audience_channel', sa.String(), nullable=True),
    sa.Column('content', sa.Text(), nullable=False),
    sa.Column('content_hash', sa.String(), nullable=False),
    sa.Column('type', sa.String(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('tags', sa.JSON(), nullable=False),
    sa.Column('confidence', sa.Float(), nullable=False),
    sa.Column('importance', sa.Float(), nullable=False),
    sa.Column('valid_from', sa.Float(), nullable=True),
    sa.Column('valid_until', sa.Float(), nullable=True),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('superseded_by', sa.Integer(), nullable=True),
    sa.Column('source_session', sa.String(), nullable=True),
    sa.Column('source_channel', sa.String(), nullable=True),
    sa.Column('source_ts', sa.String(), nullable=True),
    sa.Column('permalink', sa.String(), nullable=True),
    sa.Column('created', sa.Float(), nullable=False),
    sa.Column('updated', sa.Float(), nullable=False),
    sa.Column('last_used', sa.Float(), nullable=True),
    sa.Column('hits', sa.Integer(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_memories')),
    sa.UniqueConstraint('team', 'owner', 'short_id', name=op.f('uq_memories_team_owner_short_id'))
    )
    with op.batch_alter_table('memories', schema=None) as batch_op:
        batch_op.create_index('ix_memories_owner', ['team', 'owner', 'status'], unique=False)

    op.create_table('memory_events',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('owner', sa.String(), nullable=False),
    sa.Column('memory', sa.Integer(), nullable=False),
    sa.Column('event', sa.String(), nullable=False),
    sa.Column('actor', sa.String(), nullable=False),
    sa.Column('session', sa.String(), nullable=True),
    sa.Column('turn', sa.Integer(), nullable=True),
    sa.Column('at', sa.Float(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_memory_events'))
    )
    op.create_table('occurrences',
    sa.Column('job', sa.String(), nullable=False),
    sa.Column('due', sa.Float(), nullable=False),
    sa.Column('claimed', sa.Float(), nullable=False),
    sa.Column('finished', sa.Float(), nullable=True),
    sa.Column('report', sa.JSON(), nullable=True),
    sa.PrimaryKeyConstraint('job', 'due', name=op.f('pk_occurrences'))
    )
    op.create_table('people',
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('locale', sa.String(), nullable=False),
    sa.Column('timezone', sa.String(), nullable=False),
    sa.Column('guest', sa.Boolean(), nullable=False),
    sa.Column('external', sa.Boolean(), nullable=False),
    sa.Column('bot', sa.Boolean(), nullable=False),
    sa.Column('memory_epoch', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('memory_paused', sa.Boolean(), server_default=sa.text('0'), nullable=False),
    sa.Column('fetched', sa.Float(), nullable=False),
    sa.PrimaryKeyConstraint('team', 'id', name=op.f('pk_people'))
    )
    op.create_table('places',
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('shared', sa.Boolean(), nullable=False),
    sa.Column('fetched', sa.Float(), nullable=False),
    sa.PrimaryKeyConstraint('team', 'channel', name=op.f('pk_places'))
    )
    op.create_table('sessions',
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('root', sa.String(), nullable=False),
    sa.Column('generation', sa.Integer(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('shared', sa.Boolean(), nullable=False),
    sa.Column('phase', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('last_turn', sa.Integer(), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.Column('steps_used', sa.Integer(), nullable=False),
    sa.Column('requester', sa.String(), nullable=False),
    sa.Column('calls', sa.JSON(), nullable=False),
    sa.Column('closed', sa.Boolean(), nullable=False),
    sa.Column('hydrated', sa.Boolean(), server_default=sa.text('0'), nullable=False),
    sa.Column('summary', sa.JSON(), nullable=True),
    sa.Column('summary_seq', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('fields', sa.JSON(), nullable=True),
    sa.Column('fields_turn', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('flow', sa.JSON(), nullable=True),
    sa.Column('lease_owner', sa.String(), nullable=True),
    sa.Column('lease_until', sa.Float(), nullable=True),
    sa.Column('fence', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('created', sa.Float(), nullable=False),
    sa.Column('updated', sa.Float(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_sessions')),
    sa.UniqueConstraint('team', 'channel', 'root', 'generation', name=op.f('uq_sessions_team_channel_root_generation'))
    )
    with op.batch_alter_table('sessions', schema=None) as batch_op:
        batch_op.create_index('ix_sessions_phase', ['phase'], unique=False)

    op.create_table('entries',
    sa.Column('seq', sa.Integer(), nullable=False),
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.Column('role', sa.String(), nullable=False),
    sa.Column('content', sa.JSON(), nullable=False),
    sa.Column('tokens', sa.Integer(), nullable=False),
    sa.Column('source_ts', sa.String(), nullable=True),
    sa.Column('created', sa.Float(), nullable=False),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_entries_session')),
    sa.PrimaryKeyConstraint('seq', name=op.f('pk_entries'))
    )
    with op.batch_alter_table('entries', schema=None) as batch_op:
        batch_op.create_index('ix_entries_session', ['session', 'seq'], unique=False)

    op.create_table('inbox',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('ts', sa.String(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('variant', sa.String(), nullable=False),
    sa.Column('event_id', sa.String(), nullable=True),
    sa.Column('user', sa.String(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('addressed', sa.Boolean(), nullable=False),
    sa.Column('access', sa.String(), nullable=False),
    sa.Column('state', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=True),
    sa.Column('data', sa.JSON(), nullable=False),
    sa.Column('received', sa.Float(), nullable=False),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_inbox_session')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_inbox')),
    sa.UniqueConstraint('team', 'channel', 'ts', 'kind', 'variant', name=op.f('uq_inbox_team_channel_ts_kind_variant'))
    )
    with op.batch_alter_table('inbox', schema=None) as batch_op:
        batch_op.create_index('ix_inbox_waiting', ['session'], unique=False, sqlite_where=sa.text("state = 'waiting'"), postgresql_where=sa.text("state = 'waiting'"))

    op.create_table('tool_calls',
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.Column('position', sa.Integer(), nullable=False),
    sa.Column('provider_id', sa.String(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('arguments', sa.JSON(), nullable=False),
    sa.Column('arguments_hash', sa.String(), nullable=False),
    sa.Column('effect', sa.String(), nullable=False),
    sa.Column('decision', sa.String(), nullable=False),
    sa.Column('state', sa.String(), nullable=False),
    sa.Column('repeatable', sa.Boolean(), nullable=False),
    sa.Column('repaired', sa.Boolean(), nullable=False),
    sa.Column('key', sa.String(), nullable=False),
    sa.Column('requester', sa.String(), nullable=False),
    sa.Column('attempt', sa.Integer(), nullable=False),
    sa.Column('result', sa.Text(), nullable=False),
    sa.Column('full_result', sa.Text(), nullable=True),
    sa.Column('created', sa.Float(), nullable=False),
    sa.Column('updated', sa.Float(), nullable=False),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_tool_calls_session')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_tool_calls'))
    )
    with op.batch_alter_table('tool_calls', schema=None) as batch_op:
        batch_op.create_index('ix_tool_calls_running', ['session'], unique=False, sqlite_where=sa.text("state = 'running'"), postgresql_where=sa.text("state = 'running'"))
        batch_op.create_index('ix_tool_calls_session', ['session', 'name'], unique=False)

    op.create_table('turns',
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('number', sa.Integer(), nullable=False),
    sa.Column('requester', sa.String(), nullable=False),
    sa.Column('steps_used', sa.Integer(), nullable=False),
    sa.Column('started', sa.Float(), nullable=False),
    sa.Column('resumed', sa.Float(), nullable=True),
    sa.Column('active_seconds', sa.Float(), nullable=False),
    sa.Column('ended', sa.Float(), nullable=True),
    sa.Column('outcome', sa.String(), nullable=False),
    sa.Column('memories', sa.JSON(), nullable=False),
    sa.Column('source_ts', sa.String(), nullable=False),
    sa.Column('prompt_version', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_turns_session')),
    sa.PrimaryKeyConstraint('session', 'number', name=op.f('pk_turns'))
    )
    op.create_table('usage',
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('prompt', sa.Integer(), nullable=False),
    sa.Column('completion', sa.Integer(), nullable=False),
    sa.Column('cached', sa.Integer(), nullable=False),
    sa.Column('seconds', sa.Float(), nullable=False),
    sa.Column('at', sa.Float(), nullable=False),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_usage_session')),
    sa.PrimaryKeyConstraint('session', 'step', name=op.f('pk_usage'))
    )
    op.create_table('approvals',
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('call', sa.String(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('tool', sa.String(), nullable=False),
    sa.Column('arguments', sa.JSON(), nullable=False),
    sa.Column('arguments_hash', sa.String(), nullable=False),
    sa.Column('requester', sa.String(), nullable=False),
    sa.Column('approvers', sa.JSON(), nullable=False),
    sa.Column('quorum', sa.Integer(), nullable=False),
    sa.Column('not_requester', sa.Boolean(), nullable=False),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('root', sa.String(), nullable=False),
    sa.Column('message_ts', sa.String(), nullable=True),
    sa.Column('shown_status', sa.String(), nullable=True),
    sa.Column('created', sa.Float(), nullable=False),
    sa.Column('expires', sa.Float(), nullable=False),
    sa.Column('settled', sa.Float(), nullable=True),
    sa.ForeignKeyConstraint(['call'], ['tool_calls.id'], name=op.f('fk_approvals_call')),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_approvals_session')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_approvals'))
    )
    with op.batch_alter_table('approvals', schema=None) as batch_op:
        batch_op.create_index('ix_approvals_call', ['call'], unique=False)
        batch_op.create_index('ix_approvals_session', ['session'], unique=False)
        batch_op.create_index('ix_approvals_status', ['status'], unique=False)

    op.create_table('attempts',
    sa.Column('call', sa.String(), nullable=False),
    sa.Column('number', sa.Integer(), nullable=False),
    sa.Column('state', sa.String(), nullable=False),
    sa.Column('fence', sa.Integer(), nullable=False),
    sa.Column('started', sa.Float(), nullable=False),
    sa.Column('finished', sa.Float(), nullable=True),
    sa.Column('error', sa.String(), nullable=True),
    sa.ForeignKeyConstraint(['call'], ['tool_calls.id'], name=op.f('fk_attempts_call')),
    sa.PrimaryKeyConstraint('call', 'number', name=op.f('pk_attempts'))
    )
    op.create_table('deliveries',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('session', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('root', sa.String(), nullable=False),
    sa.Column('part', sa.Integer(), nullable=False),
    sa.Column('key', sa.String(), nullable=False),
    sa.Column('content', sa.JSON(), nullable=False),
    sa.Column('state', sa.String(), nullable=False),
    sa.Column('ts', sa.String(), nullable=True),
    sa.Column('approval', sa.String(), nullable=True),
    sa.Column('attempts', sa.Integer(), nullable=False),
    sa.Column('error', sa.String(), nullable=True),
    sa.Column('created', sa.Float(), nullable=False),
    sa.Column('updated', sa.Float(), nullable=False),
    sa.ForeignKeyConstraint(['approval'], ['approvals.id'], name=op.f('fk_deliveries_approval')),
    sa.ForeignKeyConstraint(['session'], ['sessions.id'], name=op.f('fk_deliveries_session')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_deliveries'))
    )
    with op.batch_alter_table('deliveries', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_deliveries_key'), ['key'], unique=False)
        batch_op.create_index('ix_deliveries_owed', ['session'], unique=False, sqlite_where=sa.text("state IN ('pending', 'sending')"), postgresql_where=sa.text("state IN ('pending', 'sending')"))

    op.create_table('votes',
    sa.Column('approval', sa.String(), nullable=False),
    sa.Column('user', sa.String(), nullable=False),
    sa.Column('verdict', sa.String(), nullable=False),
    sa.Column('at', sa.Float(), nullable=False),
    sa.ForeignKeyConstraint(['approval'], ['approvals.id'], name=op.f('fk_votes_approval')),
    sa.PrimaryKeyConstraint('approval', 'user', name=op.f('pk_votes'))
    )

    # Owner and words in one index: the owner is matched inside the search, so that one person's rows are all it touches.
    op.execute("CREATE VIRTUAL TABLE memories_fts USING fts5(owner, words, tokenize='porter unicode61')")


def downgrade() -> None:
    op.execute("DROP TABLE memories_fts")
    op.drop_table('votes')
    with op.batch_alter_table('deliveries', schema=None) as batch_op:
        batch_op.drop_index('ix_deliveries_owed', sqlite_where=sa.text("state IN ('pending', 'sending')"), postgresql_where=sa.text("state IN ('pending', 'sending')"))
        batch_op.drop_index(batch_op.f('ix_deliveries_key'))

    op.drop_table('deliveries')
    op.drop_table('attempts')
    with op.batch_alter_table('approvals', schema=None) as batch_op:
        batch_op.drop_index('ix_approvals_status')
        batch_op.drop_index('ix_approvals_session')
        batch_op.drop_index('ix_approvals_call')

    op.drop_table('approvals')
    op.drop_table('usage')
    op.drop_table('turns')
    with op.batch_alter_table('tool_calls', schema=None) as batch_op:
        batch_op.drop_index('ix_tool_calls_session')
        batch_op.drop_index('ix_tool_calls_running', sqlite_where=sa.text("state = 'running'"), postgresql_where=sa.text("state = 'running'"))

    op.drop_table('tool_calls')
    with op.batch_alter_table('inbox', schema=None) as batch_op:
        batch_op.drop_index('ix_inbox_waiting', sqlite_where=sa.text("state = 'waiting'"), postgresql_where=sa.text("state = 'waiting'"))

    op.drop_table('inbox')
    with op.batch_alter_table('entries', schema=None) as batch_op:
        batch_op.drop_index('ix_entries_session')

    op.drop_table('entries')
    with op.batch_alter_table('sessions', schema=None) as batch_op:
        batch_op.drop_index('ix_sessions_phase')

    op.drop_table('sessions')
    op.drop_table('places')
    op.drop_table('people')
    op.drop_table('occurrences')
    op.drop_table('memory_events')
    with op.batch_alter_table('memories', schema=None) as batch_op:
        batch_op.drop_index('ix_memories_owner')

    op.drop_table('memories')
    op.drop_table('journal')
