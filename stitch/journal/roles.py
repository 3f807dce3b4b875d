"""A second wall between tenants: roles of PostgreSQL that see the rows of one tenant alone, whatever they ask."""

from __future__ import annotations

from stitch.journal.tables import metadata

_OF_A_TENANT = ("trajectories", "changes", "records")
_OF_A_TRAJECTORY = {"steps": "trajectory", "checkpoints": "trajectory", "cuts": "trajectory", "replies": "trajectory"}
_OF_A_STEP = ("labels", "states", "history", "redactions")


def _policies() -> str:
    """Rows of tables without a tenant are seen with what they belong to, which is seen by the same rules."""
    owners = [(table, f"EXISTS (SELECT FROM trajectories WHERE number = {table}.{column})")
              for table, column in _OF_A_TRAJECTORY.items()]  # fmt: skip
    owners += [(table, f"EXISTS (SELECT FROM steps WHERE steps.seq = {table}.seq)") for table in _OF_A_STEP]
    return "\n".join(
        f"DROP POLICY IF EXISTS of_what_is_seen ON {table};"
        f" CREATE POLICY of_what_is_seen ON {table} FOR SELECT USING ({seen});"
        for table, seen in owners
    )


LET_READ = f"""
CREATE OR REPLACE FUNCTION stitch_let_read(role name, tenant text) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
    each text;
BEGIN
    {"; ".join(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY" for table in metadata.tables)};
    {_policies()}
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    FOREACH each IN ARRAY ARRAY{[*_OF_A_TENANT, *_OF_A_TRAJECTORY, *_OF_A_STEP]} LOOP
        EXECUTE format('GRANT SELECT ON %I TO %I', each, role);
    END LOOP;
    FOREACH each IN ARRAY ARRAY{list(_OF_A_TENANT)} LOOP
        EXECUTE format('DROP POLICY IF EXISTS %I ON %I', 'of ' || role, each);
        EXECUTE format(
            'CREATE POLICY %I ON %I FOR SELECT TO %I USING (tenant = %L)', 'of ' || role, each, role, tenant
        );
    END LOOP;
END $body$;
"""
"""For whoever administers the database: `SELECT stitch_let_read('ROLE', 'TENANT')` lets a role read one tenant's rows.

Whoever owns the tables, such as the processes of `stitch`, sees all rows as before.
"""
