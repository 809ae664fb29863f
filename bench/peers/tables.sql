-- The tables of the single-statement peer: those of the service that its three calls write, with the same columns, keys,
-- indexes and room on their pages. Foreign keys are left out, which only spares the peer work.

CREATE TABLE bench_peer_passes (
    environment_id UUID NOT NULL,
    player_id UUID NOT NULL,
    scenario_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    xp BIGINT NOT NULL DEFAULT 0 CHECK (xp >= 0),
    level INTEGER NOT NULL DEFAULT 0 CHECK (level >= 0),
    premium_owned BOOLEAN NOT NULL DEFAULT false,
    max_level_crossed BOOLEAN NOT NULL DEFAULT false,
    completed BOOLEAN NOT NULL DEFAULT false,
    completed_nodes TEXT NOT NULL DEFAULT '[]',
    active_on DATE,
    PRIMARY KEY (environment_id, player_id, scenario_id, node_id)
) WITH (fillfactor = 70);

CREATE TABLE bench_peer_xp_ledger (
    environment_id UUID NOT NULL,
    player_id UUID NOT NULL,
    id UUID NOT NULL,
    scenario_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    run_id UUID NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    source TEXT NOT NULL,
    created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (environment_id, player_id, id)
);

CREATE TABLE bench_peer_tier_claims (
    environment_id UUID NOT NULL,
    player_id UUID NOT NULL,
    scenario_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    level INTEGER NOT NULL CHECK (level >= 0),
    track TEXT NOT NULL CHECK (track IN ('free', 'premium')),
    granted TEXT NOT NULL,
    run_id UUID NOT NULL,
    claimed_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (environment_id, player_id, scenario_id, node_id, level, track)
);

CREATE TABLE bench_peer_wallets (
    environment_id UUID NOT NULL,
    player_id UUID NOT NULL,
    currency TEXT NOT NULL,
    balance BIGINT NOT NULL DEFAULT 0 CHECK (balance >= 0),
    PRIMARY KEY (environment_id, player_id, currency)
) WITH (fillfactor = 80);

CREATE TABLE bench_peer_wallet_ledger (
    environment_id UUID NOT NULL,
    player_id UUID NOT NULL,
    id UUID NOT NULL,
    currency TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount <> 0),
    balance BIGINT NOT NULL CHECK (balance >= 0),
    reason TEXT NOT NULL,
    reference TEXT NOT NULL,
    created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (environment_id, player_id, id)
);

CREATE TABLE bench_peer_idempotency_keys (
    environment_id UUID NOT NULL,
    player_id UUID NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
    request TEXT NOT NULL,
    response TEXT NOT NULL,
    created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (environment_id, player_id, operation, key)
);
CREATE INDEX ON bench_peer_idempotency_keys USING BRIN (created_at);

CREATE TABLE bench_peer_streams (
    environment_id UUID NOT NULL PRIMARY KEY,
    position BIGINT NOT NULL DEFAULT 0 CHECK (position >= 0)
) WITH (fillfactor = 10);

CREATE TABLE bench_peer_events (
    environment_id UUID NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    type TEXT NOT NULL,
    handle TEXT,
    player_id UUID NOT NULL,
    scenario_id TEXT,
    node_id TEXT,
    run_id UUID,
    data TEXT NOT NULL,
    occurred_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (environment_id, position)
);
CREATE INDEX ON bench_peer_events (environment_id, player_id, position);
