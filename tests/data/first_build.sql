-- A database of the first build (revision 0001): its tables, then what a run left in them: a memory, a call that waits
-- for an approval, and a complete answer that Slack did not take.
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE journal (
    id INTEGER NOT NULL,
    session VARCHAR,
    turn INTEGER,
    kind VARCHAR NOT NULL,
    user VARCHAR,
    detail JSON NOT NULL,
    at FLOAT NOT NULL,
    CONSTRAINT pk_journal PRIMARY KEY (id)
);
CREATE TABLE memories (
    id INTEGER NOT NULL,
    team VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    short_id VARCHAR NOT NULL,
    audience VARCHAR NOT NULL,
    audience_channel VARCHAR,
    content TEXT NOT NULL,
    content_hash VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    tags JSON NOT NULL,
    confidence FLOAT NOT NULL,
    importance FLOAT NOT NULL,
    valid_from FLOAT,
    valid_until FLOAT,
    status VARCHAR NOT NULL,
    superseded_by INTEGER,
    source_session VARCHAR,
    source_channel VARCHAR,
    source_ts VARCHAR,
    permalink VARCHAR,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    last_used FLOAT,
    hits INTEGER NOT NULL,
    CONSTRAINT pk_memories PRIMARY KEY (id),
    CONSTRAINT uq_memories_team_owner_short_id UNIQUE (team, owner, short_id)
);
CREATE INDEX ix_memories_owner ON memories (team, owner, status);
CREATE TABLE memory_events (
    id INTEGER NOT NULL,
    team VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    memory INTEGER NOT NULL,
    event VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    session VARCHAR,
    turn INTEGER,
    at FLOAT NOT NULL,
    CONSTRAINT pk_memory_events PRIMARY KEY (id)
);
CREATE TABLE occurrences (
    job VARCHAR NOT NULL,
    due FLOAT NOT NULL,
    claimed FLOAT NOT NULL,
    finished FLOAT,
    report JSON,
    CONSTRAINT pk_occurrences PRIMARY KEY (job, due)
);
CREATE TABLE people (
    team VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    locale VARCHAR NOT NULL,
    timezone VARCHAR NOT NULL,
    guest BOOLEAN NOT NULL,
    external BOOLEAN NOT NULL,
    bot BOOLEAN NOT NULL,
    memory_epoch INTEGER DEFAULT 0 NOT NULL,
    memory_paused BOOLEAN DEFAULT 0 NOT NULL,
    fetched FLOAT NOT NULL,
    CONSTRAINT pk_people PRIMARY KEY (team, id)
);
CREATE TABLE places (
    team VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    shared BOOLEAN NOT NULL,
    fetched FLOAT NOT NULL,
    CONSTRAINT pk_places PRIMARY KEY (team, channel)
);
CREATE TABLE sessions (
    id VARCHAR NOT NULL,
    team VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    root VARCHAR NOT NULL,
    generation INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    shared BOOLEAN NOT NULL,
    phase VARCHAR NOT NULL,
    turn INTEGER NOT NULL,
    last_turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    steps_used INTEGER NOT NULL,
    requester VARCHAR NOT NULL,
    calls JSON NOT NULL,
    closed BOOLEAN NOT NULL,
    hydrated BOOLEAN DEFAULT 0 NOT NULL,
    summary JSON,
    summary_seq INTEGER DEFAULT 0 NOT NULL,
    fields JSON,
    fields_turn INTEGER DEFAULT 0 NOT NULL,
    flow JSON,
    lease_owner VARCHAR,
    lease_until FLOAT,
    fence INTEGER DEFAULT 0 NOT NULL,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    CONSTRAINT pk_sessions PRIMARY KEY (id),
    CONSTRAINT uq_sessions_team_channel_root_generation UNIQUE (team, channel, root, generation)
);
CREATE INDEX ix_sessions_phase ON sessions (phase);
CREATE TABLE entries (
    seq INTEGER NOT NULL,
    session VARCHAR NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    role VARCHAR NOT NULL,
    content JSON NOT NULL,
    tokens INTEGER NOT NULL,
    source_ts VARCHAR,
    created FLOAT NOT NULL,
    CONSTRAINT pk_entries PRIMARY KEY (seq),
    CONSTRAINT fk_entries_session FOREIGN KEY(session) REFERENCES sessions (id)
);
CREATE INDEX ix_entries_session ON entries (session, seq);
CREATE TABLE inbox (
    id INTEGER NOT NULL,
    session VARCHAR NOT NULL,
    team VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    ts VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    event_id VARCHAR,
    user VARCHAR NOT NULL,
    text TEXT NOT NULL,
    addressed BOOLEAN NOT NULL,
    access VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    turn INTEGER,
    data JSON NOT NULL,
    received FLOAT NOT NULL,
    CONSTRAINT pk_inbox PRIMARY KEY (id),
    CONSTRAINT fk_inbox_session FOREIGN KEY(session) REFERENCES sessions (id),
    CONSTRAINT uq_inbox_team_channel_ts_kind_variant UNIQUE (team, channel, ts, kind, variant)
);
CREATE INDEX ix_inbox_waiting ON inbox (session) WHERE state = 'waiting';
CREATE TABLE tool_calls (
    id VARCHAR NOT NULL,
    session VARCHAR NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    position INTEGER NOT NULL,
    provider_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    arguments JSON NOT NULL,
    arguments_hash VARCHAR NOT NULL,
    effect VARCHAR NOT NULL,
    decision VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    repeatable BOOLEAN NOT NULL,
    repaired BOOLEAN NOT NULL,
    "key" VARCHAR NOT NULL,
    requester VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    result TEXT NOT NULL,
    full_result TEXT,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    CONSTRAINT pk_tool_calls PRIMARY KEY (id),
    CONSTRAINT fk_tool_calls_session FOREIGN KEY(session) REFERENCES sessions (id)
);
CREATE INDEX ix_tool_calls_running ON tool_calls (session) WHERE state = 'running';
CREATE INDEX ix_tool_calls_session ON tool_calls (session, name);
CREATE TABLE turns (
    session VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    requester VARCHAR NOT NULL,
    steps_used INTEGER NOT NULL,
    started FLOAT NOT NULL,
    resumed FLOAT,
    active_seconds FLOAT NOT NULL,
    ended FLOAT,
    outcome VARCHAR NOT NULL,
    memories JSON NOT NULL,
    source_ts VARCHAR NOT NULL,
    prompt_version VARCHAR NOT NULL,
    CONSTRAINT pk_turns PRIMARY KEY (session, number),
    CONSTRAINT fk_turns_session FOREIGN KEY(session) REFERENCES sessions (id)
);
CREATE TABLE usage (
    session VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    prompt INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    seconds FLOAT NOT NULL,
    at FLOAT NOT NULL,
    CONSTRAINT pk_usage PRIMARY KEY (session, step),
    CONSTRAINT fk_usage_session FOREIGN KEY(session) REFERENCES sessions (id)
);
CREATE TABLE approvals (
    id VARCHAR NOT NULL,
    session VARCHAR NOT NULL,
    call VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    arguments JSON NOT NULL,
    arguments_hash VARCHAR NOT NULL,
    requester VARCHAR NOT NULL,
    approvers JSON NOT NULL,
    quorum INTEGER NOT NULL,
    not_requester BOOLEAN NOT NULL,
    status VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    root VARCHAR NOT NULL,
    message_ts VARCHAR,
    shown_status VARCHAR,
    created FLOAT NOT NULL,
    expires FLOAT NOT NULL,
    settled FLOAT,
    CONSTRAINT pk_approvals PRIMARY KEY (id),
    CONSTRAINT fk_approvals_call FOREIGN KEY(call) REFERENCES tool_calls (id),
    CONSTRAINT fk_approvals_session FOREIGN KEY(session) REFERENCES sessions (id)
);
CREATE INDEX ix_approvals_call ON approvals (call);
CREATE INDEX ix_approvals_session ON approvals (session);
CREATE INDEX ix_approvals_status ON approvals (status);
CREATE TABLE attempts (
    call VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    state VARCHAR NOT NULL,
    fence INTEGER NOT NULL,
    started FLOAT NOT NULL,
    finished FLOAT,
    error VARCHAR,
    CONSTRAINT pk_attempts PRIMARY KEY (call, number),
    CONSTRAINT fk_attempts_call FOREIGN KEY(call) REFERENCES tool_calls (id)
);
CREATE TABLE deliveries (
    id INTEGER NOT NULL,
    session VARCHAR NOT NULL,
    turn INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    root VARCHAR NOT NULL,
    part INTEGER NOT NULL,
    "key" VARCHAR NOT NULL,
    content JSON NOT NULL,
    state VARCHAR NOT NULL,
    ts VARCHAR,
    approval VARCHAR,
    attempts INTEGER NOT NULL,
    error VARCHAR,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    CONSTRAINT pk_deliveries PRIMARY KEY (id),
    CONSTRAINT fk_deliveries_approval FOREIGN KEY(approval) REFERENCES approvals (id),
    CONSTRAINT fk_deliveries_session FOREIGN KEY(session) REFERENCES sessions (id)
);
CREATE INDEX ix_deliveries_key ON deliveries ("key");
CREATE INDEX ix_deliveries_owed ON deliveries (session) WHERE state IN ('pending', 'sending');
CREATE TABLE votes (
    approval VARCHAR NOT NULL,
    user VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    at FLOAT NOT NULL,
    CONSTRAINT pk_votes PRIMARY KEY (approval, user),
    CONSTRAINT fk_votes_approval FOREIGN KEY(approval) REFERENCES approvals (id)
);
CREATE VIRTUAL TABLE memories_fts USING fts5(owner, words, tokenize='porter unicode61');
INSERT INTO alembic_version VALUES('0001');
INSERT INTO "sessions" VALUES('74ef7021-39db-4ce3-87f4-2ae849145e06','T0SIM','C0GENERAL','1796093944.447940',0,'public',0,'awaiting_confirmation',1,1,1,1,'U0ANA','[{"id": "c_c912b00c2a41fb56", "turn": 1, "step": 1, "state": "awaiting_approval", "attempt": 0, "repeatable": false, "detached": false, "quiet": false}]',0,1,NULL,0,NULL,0,NULL,NULL,NULL,0,1796093944.449379,1796093944.641001);
INSERT INTO "sessions" VALUES('cf60f52f-3f6f-404f-88be-03941fadafad','T0SIM','C0GENERAL','1796093944.714168',0,'public',0,'waiting_input',1,1,2,2,'U0ANA','[]',0,1,NULL,0,NULL,0,NULL,NULL,NULL,0,1796093944.715446,1796093944.875679);
INSERT INTO "tool_calls" VALUES('c_c912b00c2a41fb56','74ef7021-39db-4ce3-87f4-2ae849145e06',1,1,0,'call_1','deploy','{"service": "shop", "version": 7}','bebe7cb6140c4f28e0fd74afb07910a862f007eea3ebec7820148663f744a6d2','danger','ask','awaiting_approval',0,0,'hermes-74ef7021-c_c912b00c2a41fb56','U0ANA',0,'',NULL,1796093944.634962,1796093944.634962);
INSERT INTO "tool_calls" VALUES('c_65e8449f469efdde','cf60f52f-3f6f-404f-88be-03941fadafad',1,1,0,'call_2','current_time','{"timezone": "UTC"}','1a80540465bc72267ff78f5d7284d42cd92b7d891cac5eb79af322d776cf955f','read','allow','succeeded',1,0,'hermes-cf60f52f-c_65e8449f469efdde','U0ANA',1,'{"ok": true, "data": {"timezone": "UTC", "time": "2026-12-01T02:59:04+00:00", "weekday": "Tuesday", "abbreviation": "UTC"}}',NULL,1796093944.791073,1796093944.833036);
INSERT INTO "approvals" VALUES('wI9Pw8UiEEwrO5Ke','74ef7021-39db-4ce3-87f4-2ae849145e06','c_c912b00c2a41fb56','approval','deploy','{"service": "shop", "version": 7}','bebe7cb6140c4f28e0fd74afb07910a862f007eea3ebec7820148663f744a6d2','U0ANA','["requester"]',1,0,'open','C0GENERAL','1796093944.447940','1796093944.669780','open',1796093944.637843,1796180344.637843,NULL);
INSERT INTO "attempts" VALUES('c_65e8449f469efdde',1,'succeeded',1796093943,1796093944.791073,1796093944.833036,NULL);
INSERT INTO "deliveries" VALUES(1,'74ef7021-39db-4ce3-87f4-2ae849145e06',1,'answer','C0GENERAL','1796093944.447940',0,'74ef7021-39db-1-1-90b184','{"pause": true}','sent',NULL,NULL,1,NULL,1796093944.500108,1796093944.650388);
INSERT INTO "deliveries" VALUES(2,'cf60f52f-3f6f-404f-88be-03941fadafad',1,'answer','C0GENERAL','1796093944.714168',0,'cf60f52f-3f6f-1-1-5055f8','{"text": "All of it, to the end."}','sending',NULL,NULL,0,NULL,1796093944.737784,1796093944.875269);
INSERT INTO "entries" VALUES(1,'74ef7021-39db-4ce3-87f4-2ae849145e06',1,1,'user','{"text": "deploy the shop", "user": "U0ANA", "name": "ana", "ts": "1796093944.447940"}',7,'1796093944.447940',1796093944.546743);
INSERT INTO "entries" VALUES(2,'74ef7021-39db-4ce3-87f4-2ae849145e06',1,1,'assistant','{"text": "", "calls": [{"id": "c_c912b00c2a41fb56", "name": "deploy", "arguments": {"service": "shop", "version": 7}, "raw": ""}]}',24,NULL,1796093944.640879);
INSERT INTO "entries" VALUES(3,'cf60f52f-3f6f-404f-88be-03941fadafad',1,1,'user','{"text": "say it", "user": "U0ANA", "name": "ana", "ts": "1796093944.714168"}',6,'1796093944.714168',1796093944.751144);
INSERT INTO "entries" VALUES(4,'cf60f52f-3f6f-404f-88be-03941fadafad',1,1,'assistant','{"text": "", "calls": [{"id": "c_65e8449f469efdde", "name": "current_time", "arguments": {"timezone": "UTC"}, "raw": ""}]}',22,NULL,1796093944.802107);
INSERT INTO "entries" VALUES(5,'cf60f52f-3f6f-404f-88be-03941fadafad',1,1,'tool','{"call": "c_65e8449f469efdde", "name": null, "text": "{\"ok\": true, \"data\": {\"timezone\": \"UTC\", \"time\": \"2026-12-01T02:59:04+00:00\", \"weekday\": \"Tuesday\", \"abbreviation\": \"UTC\"}}"}',50,NULL,1796093944.834851);
INSERT INTO "entries" VALUES(6,'cf60f52f-3f6f-404f-88be-03941fadafad',1,2,'assistant','{"text": "All of it, to the end.", "calls": []}',12,NULL,1796093944.875598);
INSERT INTO "inbox" VALUES(1,'74ef7021-39db-4ce3-87f4-2ae849145e06','T0SIM','C0GENERAL','1796093944.447940','message','','Ev0800E61477E','U0ANA','<@U0HERMES> deploy the shop',1,'granted','taken',1,'{}',1796093944.449379);
INSERT INTO "inbox" VALUES(2,'cf60f52f-3f6f-404f-88be-03941fadafad','T0SIM','C0GENERAL','1796093944.714168','message','','Ev0C9F2DB949F','U0ANA','<@U0HERMES> say it',1,'granted','taken',1,'{}',1796093944.715446);
INSERT INTO "memories" VALUES(1,'T0SIM','U0ANA','f64j','public',NULL,'I like black coffee','ab306a6dc7a2b9a53403410538b2aad093efbd390bce1408cff3cfe3960ae52f','preference','semantic','[]',1.0,0.5,NULL,NULL,'active',NULL,NULL,'C0GENERAL',NULL,NULL,1796093944.417516,1796093944.417516,1796093944.750325,2);
INSERT INTO "memory_events" VALUES(1,'T0SIM','U0ANA',1,'added','U0ANA',NULL,NULL,1796093944.417516);
INSERT INTO "occurrences" VALUES('consolidate',1796007600.0,1796093944.387142,1796093944.387142,'{"first_start": true}');
INSERT INTO "occurrences" VALUES('prune',1795924800.0,1796093944.392648,1796093944.392648,'{"first_start": true}');
INSERT INTO "people" VALUES('T0SIM','U0ANA','ana','en-US','Europe/Berlin',0,0,0,0,0,1796093944.408885);
INSERT INTO "places" VALUES('T0SIM','C0GENERAL','public',0,1796093944.409775);
INSERT INTO "turns" VALUES('74ef7021-39db-4ce3-87f4-2ae849145e06',1,'U0ANA',1,1796093944.500108,NULL,0.138661,1796093944.638768,'parked','[1]','1796093944.447940','1');
INSERT INTO "turns" VALUES('cf60f52f-3f6f-404f-88be-03941fadafad',1,'U0ANA',2,1796093944.737784,NULL,0.137336,1796093944.87512,'answered','[1]','1796093944.714168','1');
INSERT INTO "usage" VALUES('74ef7021-39db-4ce3-87f4-2ae849145e06',1,1,'scripted',2043,1,0,0.040078,1796093944.632851);
INSERT INTO "usage" VALUES('cf60f52f-3f6f-404f-88be-03941fadafad',1,1,'scripted',2041,1,0,0.016578,1796093944.789335);
INSERT INTO "usage" VALUES('cf60f52f-3f6f-404f-88be-03941fadafad',2,1,'scripted',2140,6,0,0.003042,1796093944.8602);
INSERT INTO memories_fts (rowid, owner, words) VALUES(1,'o543053494d205530414e41','i like black coffee');
