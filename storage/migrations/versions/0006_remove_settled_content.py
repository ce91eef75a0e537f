"""Remove content that is not needed any longer: of settled deliveries, taken messages and memory tools"""

import json

import sqlalchemy as sa
from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None

PRIVATE = "name IN ('remember', 'recall', 'forget') AND state NOT IN ('running', 'awaiting_approval')"


def upgrade() -> None:
    tx = op.get_bind()
    op.execute("UPDATE deliveries SET content = '{}' WHERE state NOT IN ('pending', 'sending')")
    op.execute("UPDATE inbox SET text = '' WHERE state != 'waiting'")
    op.execute("UPDATE inbox SET data = '{}' WHERE state != 'waiting' AND kind = 'command'")
    calls = {row.id: (row.session, row.turn) for row in tx.execute(sa.text(f'SELECT id, session, turn FROM tool_calls WHERE {PRIVATE}'))}
    closed = f"SELECT id FROM tool_calls WHERE {PRIVATE}"
    op.execute(f"UPDATE approvals SET arguments = '{{}}', arguments_hash = '' WHERE status != 'open' AND call IN ({closed})")
    for session, turn in set(calls.values()):
        found = tx.execute(sa.text("SELECT seq, content FROM entries WHERE session = :s AND turn = :t AND role != 'user'"), {'s': session, 't': turn})
        for seq, text in found.all():
            content = json.loads(text)
            if content.get('call') in calls:
                content['text'] = ''
            for call in content.get('calls') or ():
                if call['id'] in calls:
                    call.update(arguments={}, raw='')
            tx.execute(sa.text('UPDATE entries SET content = :c WHERE seq = :n'), {'c': json.dumps(content), 'n': seq})
    op.execute(f"UPDATE tool_calls SET arguments = '{{}}', arguments_hash = '', result = '', full_result = NULL WHERE {PRIVATE}")
    if tx.dialect.name == 'sqlite':
        op.execute('PRAGMA user_version = 1')  # overwrites what was removed (storage.sqlite.request_erasure)


def downgrade() -> None:
    """The content cannot be brought back."""
