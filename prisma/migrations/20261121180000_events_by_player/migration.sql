-- A player's own history, without a look at everybody else's.
CREATE INDEX "events_environment_id_player_id_position_idx" ON "events" ("environment_id", "player_id", "position");
