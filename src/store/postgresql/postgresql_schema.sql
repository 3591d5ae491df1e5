-- SPDX-License-Identifier: ISC
-- The directory's tables in PostgreSQL 13 or newer, version 2: one statement. The process
-- makes them by itself where its role may; an owner may do it, too: psql -f. They stand in
-- the first schema of the search path.
--
-- Every statement that changes a table, whoever runs it, writes into "change" which keys it
-- changed, each with a version of its own, and notifies. Versions are given while the row of
-- "directory_data" is locked, until the end of the transaction: so they ascend in the order of
-- the commits, and whoever sees one sees all before it. A sequence numbers them, and no
-- counter in a row, because a transaction of many statements would leave as many dead
-- versions of that row. One that was rolled back leaves a gap.
DO $schema$
DECLARE
	many CONSTANT integer := 10000; -- keys in one statement: beyond, it changed "all" (*)
	tables CONSTANT text[] := ARRAY[
		-- table, its name in "change", key of the record that a row belongs to
		['domain', 'domain', 'name'],
		['address', 'address', 'address'],
		['target', 'address', 'address'],
		['member', 'member', 'list || '' '' || member'],
		['user', 'user', 'name'],
		['password', 'user', 'name'],
		['server', 'server', 'name']];
	part text[];
	event text;
BEGIN
	PERFORM pg_advisory_xact_lock(x'53746167'::integer, x'65706f73'::integer);
	IF to_regclass('directory_data') IS NOT NULL THEN
		-- of version 1; or somebody else was faster, and there is nothing to do
		IF (SELECT schema FROM directory_data) = 1 THEN
			ALTER TABLE server ADD COLUMN address text;
			UPDATE directory_data SET schema = 2;
		END IF;
		RETURN;
	END IF;
	-- the functions below keep this path, whoever causes them to be called
	PERFORM set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

	CREATE TABLE directory_data (
		one boolean PRIMARY KEY DEFAULT true CHECK (one),
		identity text NOT NULL CHECK (identity ~ '^[!-~]{1,63}$'),
		schema integer NOT NULL);
	CREATE TABLE change (
		version bigint PRIMARY KEY,
		table_name text NOT NULL,
		key text COLLATE "C" NOT NULL,
		at timestamptz NOT NULL DEFAULT clock_timestamp());
	CREATE SEQUENCE change_version OWNED BY change.version;
	CREATE VIEW meta AS
		SELECT coalesce((SELECT max(version) FROM change), 0) AS version, identity, schema
		FROM directory_data;

	CREATE TABLE domain (
		name text COLLATE "C" PRIMARY KEY,
		kind text NOT NULL CHECK (kind IN ('local', 'relay', 'alias')),
		target text COLLATE "C",
		service text);
	CREATE TABLE address (
		address text COLLATE "C" PRIMARY KEY,
		kind text NOT NULL CHECK (kind IN
			('mailbox', 'forward', 'alias', 'list', 'program', 'refused')),
		service text,
		"user" text COLLATE "C",
		mailbox text,
		owner text,
		verp text CHECK (verp IN ('yes', 'no')),
		status text,
		text text,
		source text);
	CREATE TABLE target (
		address text COLLATE "C" NOT NULL,
		position integer NOT NULL DEFAULT 0,
		target text COLLATE "C" NOT NULL,
		PRIMARY KEY (address, position));
	CREATE TABLE member (
		list text COLLATE "C" NOT NULL,
		member text COLLATE "C" NOT NULL);
	CREATE UNIQUE INDEX member_key ON member ((list || ' ' || member));
	CREATE TABLE "user" (
		name text COLLATE "C" PRIMARY KEY,
		server text COLLATE "C",
		fullname text);
	CREATE TABLE password (
		name text COLLATE "C" NOT NULL,
		position integer NOT NULL DEFAULT 0,
		password text NOT NULL,
		PRIMARY KEY (name, position));
	CREATE TABLE server (
		name text COLLATE "C" PRIMARY KEY,
		service text NOT NULL,
		address text);

	-- Waits for who else changes, before rows are locked: so nobody waits in a circle.
	CREATE FUNCTION directory_lock() RETURNS void LANGUAGE plpgsql
	SECURITY DEFINER SET search_path FROM CURRENT AS $$
	BEGIN
		PERFORM 1 FROM directory_data FOR UPDATE;
	END $$;

	-- Kept are the last 100,000 changes, and those of 7 days.
	CREATE FUNCTION directory_prune() RETURNS void LANGUAGE plpgsql
	SECURITY DEFINER SET search_path FROM CURRENT AS $$
	BEGIN
		DELETE FROM change WHERE at < now() - interval '7 days' AND version IN (
			SELECT version FROM change
			WHERE version <= (SELECT max(version) FROM change) - 100000
			ORDER BY version LIMIT 10000);
	END $$;

	-- What the functions of the tables do when they have numbered COUNT changes.
	CREATE FUNCTION directory_told(count bigint) RETURNS void LANGUAGE plpgsql
	SECURITY DEFINER SET search_path FROM CURRENT AS $$
	BEGIN
		IF count > 0 THEN
			PERFORM pg_notify('stagepost_directory', '');
			IF (SELECT max(version) / 1000 > (max(version) - count) / 1000 FROM change) THEN
				PERFORM directory_prune();
			END IF;
		END IF;
	END $$;

	CREATE FUNCTION directory_before() RETURNS trigger LANGUAGE plpgsql
	SECURITY DEFINER SET search_path FROM CURRENT AS $$
	BEGIN
		PERFORM directory_lock();
		RETURN NULL;
	END $$;

	FOREACH part SLICE 1 IN ARRAY tables LOOP
		EXECUTE format($create$
			CREATE FUNCTION directory_changed_%1$s() RETURNS trigger LANGUAGE plpgsql
			SECURITY DEFINER SET search_path FROM CURRENT AS $$
			DECLARE
				number bigint;
			BEGIN
				IF TG_OP = 'INSERT' THEN
					SELECT count(*) INTO number FROM new_rows;
				ELSIF TG_OP = 'TRUNCATE' THEN
					SELECT count(*) INTO number FROM %1$I;
				ELSE
					SELECT count(*) INTO number FROM old_rows;
				END IF;
				IF number = 0 THEN
					RETURN NULL;
				ELSIF number > %4$s THEN
					INSERT INTO change VALUES (nextval('change_version'), '*', '');
				ELSIF TG_OP = 'INSERT' THEN
					INSERT INTO change SELECT nextval('change_version'), %2$L, key
					FROM (SELECT DISTINCT %3$s AS key FROM new_rows) AS keys;
				ELSIF TG_OP = 'DELETE' THEN
					INSERT INTO change SELECT nextval('change_version'), %2$L, key
					FROM (SELECT DISTINCT %3$s AS key FROM old_rows) AS keys;
				ELSIF TG_OP = 'UPDATE' THEN
					INSERT INTO change SELECT nextval('change_version'), %2$L, key
					FROM (SELECT %3$s AS key FROM old_rows
						UNION SELECT %3$s FROM new_rows) AS keys;
				ELSE
					INSERT INTO change SELECT nextval('change_version'), %2$L, key
					FROM (SELECT DISTINCT %3$s AS key FROM %1$I) AS keys;
				END IF;
				GET DIAGNOSTICS number = ROW_COUNT;
				PERFORM directory_told(number);
				RETURN NULL;
			END $$ $create$, part[1], part[2], part[3], many);
		EXECUTE format('CREATE TRIGGER directory_before
			BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I
			FOR EACH STATEMENT EXECUTE FUNCTION directory_before()', part[1]);
		FOREACH event IN ARRAY ARRAY[
				'AFTER INSERT ON %1$I REFERENCING NEW TABLE AS new_rows',
				'AFTER UPDATE ON %1$I REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows',
				'AFTER DELETE ON %1$I REFERENCING OLD TABLE AS old_rows',
				'BEFORE TRUNCATE ON %1$I'] LOOP
			EXECUTE format('CREATE TRIGGER directory_changed_' ||
				lower(split_part(event, ' ', 2)) || ' ' || event ||
				' FOR EACH STATEMENT EXECUTE FUNCTION directory_changed_%1$s()', part[1]);
		END LOOP;
	END LOOP;

	-- What hangs on a record goes where it goes: the targets of an address and the
	-- passwords of a user. No foreign keys: those would be seen to row by row.
	FOREACH part SLICE 1 IN ARRAY ARRAY[
			['address', 'target', 'address'], ['user', 'password', 'name']] LOOP
		EXECUTE format($create$
			CREATE FUNCTION directory_children_%2$s() RETURNS trigger LANGUAGE plpgsql
			SECURITY DEFINER SET search_path FROM CURRENT AS $$
			BEGIN
				IF TG_OP = 'DELETE' THEN
					DELETE FROM %2$I USING old_rows WHERE %2$I.%3$I = old_rows.%3$I;
				ELSIF TG_OP = 'UPDATE' THEN
					UPDATE %2$I SET %3$I = NEW.%3$I WHERE %3$I = OLD.%3$I;
				ELSE
					DELETE FROM %2$I;
				END IF;
				RETURN NULL;
			END $$ $create$, part[1], part[2], part[3]);
		EXECUTE format('CREATE TRIGGER directory_children_delete
			AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows
			FOR EACH STATEMENT EXECUTE FUNCTION directory_children_%s()', part[1], part[2]);
		EXECUTE format('CREATE TRIGGER directory_children_rename
			AFTER UPDATE OF %3$I ON %1$I FOR EACH ROW WHEN (OLD.%3$I <> NEW.%3$I)
			EXECUTE FUNCTION directory_children_%2$s()', part[1], part[2], part[3]);
		EXECUTE format('CREATE TRIGGER directory_children_truncate BEFORE TRUNCATE ON %I
			FOR EACH STATEMENT EXECUTE FUNCTION directory_children_%s()', part[1], part[2]);
	END LOOP;

	-- the triggers run as the owner; nobody else has to call what they call
	REVOKE EXECUTE ON FUNCTION directory_lock(), directory_prune(), directory_told(bigint)
		FROM PUBLIC;

	-- last: whoever sees it finds all the others
	INSERT INTO directory_data (identity, schema) VALUES (gen_random_uuid()::text, 2);
END $schema$;
