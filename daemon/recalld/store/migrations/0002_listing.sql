-- The orders in which memories are paged through: the newest said and the most used first. With the id, the place
-- behind any memory can be found again.
create index memories_by_seen on memories (last_seen, id);
create index memories_by_hits on memories (hit_count, id);
create index injections_project on injections (project_id, injection_id);
