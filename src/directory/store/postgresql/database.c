// SPDX-License-Identifier: ISC
/*
 * Parses connection strings: a list of hosts becomes a database for each host, and we look up the
 * hosts' names, because libpq would block.
 */
#include "base/panic.h"
#include "directory/store/postgresql/internal.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By default libpq would wait hours for a host that is down, read the configuration of Kerberos,
 * and look for files in a home directory that may be inaccessible, which is an error for it. The
 * operator may override what is not marked as fixed. */
static const struct {
	const char *name;
	const char *value;
	bool is_fixed;
} settings[] = {
	{"keepalives_idle", "2", false},
	{"keepalives_interval", "1", false},
	{"keepalives_count", "3", false},
	{"tcp_user_timeout", "5000", false},
	{"gssencmode", "disable", false},
	{"application_name", "stagepost-directory", false},
	{"passfile", "/nonexistent/passfile", false},
	{"sslcert", "/nonexistent/sslcert", false},
	{"sslkey", "/nonexistent/sslkey", false},
	{"sslrootcert", "/nonexistent/sslrootcert", false},
	{"sslcrl", "/nonexistent/sslcrl", false},
	{"client_encoding", "UTF8", true},
	{"target_session_attrs", "any", true},
	{"replication", "", true},
};

static const char *value_of_database_option(const PQconninfoOption *options, const char *name)
{
	for (; options->keyword != NULL; options++)
		if (strcmp(options->keyword, name) == 0)
			return options->val != NULL ? options->val : "";
	return "";
}

/* The item of LIST at POSITION, separated by commas; a single item counts for all positions. */
static struct str piece_at(const char *list, size_t position)
{
	struct str rest = str_from(list);
	struct str piece = {0};
	bool more = true;

	if (str_find(rest, ',') < 0)
		return rest;
	for (size_t i = 0; i <= position; i++) {
		piece = STR("");
		if (more)
			more = str_split(&rest, ',', &piece);
	}
	return piece;
}

static void set_database_parameter(struct postgresql_database *database, size_t *count,
				   const char *name, const char *value)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(database->names[i], name) == 0) {
			database->values[i] = value;
			return;
		}
	database->names[*count] = name;
	database->values[(*count)++] = value;
}

/* libpq would otherwise look up our user name each time, which a sandbox may forbid. */
static const char *own_name(struct arena *arena)
{
	PQconninfoOption *defaults = PQconndefaults();
	const char *name = "";

	if (defaults != NULL)
		name = arena_copy(arena, str_from(value_of_database_option(defaults, "user")));
	PQconninfoFree(defaults);
	return name;
}

static void set_defaults(struct arena *arena, struct postgresql_database *database, size_t *count,
			 const PQconninfoOption *options)
{
	for (size_t i = 0; i < COUNT_OF(settings); i++)
		if (settings[i].is_fixed ||
		    *value_of_database_option(options, settings[i].name) == '\0')
			set_database_parameter(database, count, settings[i].name,
					       settings[i].value);
	if (*value_of_database_option(options, "user") == '\0')
		set_database_parameter(database, count, "user", own_name(arena));
}

static const char *first_set(const char *a, const char *b, const char *c)
{
	if (*a != '\0')
		return a;
	return b != NULL && *b != '\0' ? b : c;
}

static void set_place_of_database(struct arena *arena, struct postgresql_database *database,
				  size_t *count, const PQconninfoOption *options, size_t position)
{
	const char *hosts =
		first_set(value_of_database_option(options, "host"), getenv("PGHOST"), "");
	const char *ports =
		first_set(value_of_database_option(options, "port"), getenv("PGPORT"), "5432");
	const char *host = arena_copy(arena, piece_at(hosts, position));
	const char *port = arena_copy(arena, piece_at(ports, position));
	const char *address = arena_copy(
		arena, piece_at(value_of_database_option(options, "hostaddr"), position));
	union os_socket_address parsed;
	struct buffer label = {0};
	uint64_t number = 0;

	if (*port == '\0')
		port = "5432";
	if (!str_to_u64(str_from(port), &number) || number == 0 || number > UINT16_MAX)
		number = 5432;
	database->port = (uint16_t)number;
	set_database_parameter(database, count, "host", host);
	set_database_parameter(database, count, "port", port);
	if (*address == '\0' && *host != '\0' && *host != '/' && *host != '@' &&
	    !os_socket_address_parse(host, database->port, &parsed))
		database->host = host;
	set_database_parameter(database, count, "hostaddr", address);
	for (database->address_slot = 0;
	     strcmp(database->names[database->address_slot], "hostaddr") != 0;)
		database->address_slot++;
	host = first_set(host, address, "local");
	buffer_append_format(&label, strchr(host, ':') != NULL ? "[%s]:%s/%s" : "%s:%s/%s", host,
			     port, value_of_database_option(options, "dbname"));
	database->label = arena_copy(arena, buffer_view(&label));
	buffer_clear(&label);
}

static void add_database_at_position(struct postgresql_databases *databases,
				     const PQconninfoOption *options, size_t position)
{
	struct arena *arena = databases->arena;
	struct postgresql_database *database = &databases->list[databases->count++];
	size_t room = COUNT_OF(settings) + 6;
	size_t count = 0;

	for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
		room++;
	database->names = arena_alloc(arena, room * sizeof *database->names);
	database->values = arena_alloc(arena, room * sizeof *database->values);
	for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
		if (option->val != NULL)
			set_database_parameter(database, &count,
					       arena_copy(arena, str_from(option->keyword)),
					       arena_copy(arena, str_from(option->val)));
	set_defaults(arena, database, &count, options);
	set_place_of_database(arena, database, &count, options, position);
}

static int refuse_conninfo(const char *reason)
{
	log_event(EVENT_STORE_REFUSED, log_string(role, "configuration"),
		  log_str(reason, str_slice(reason, strcspn(reason, "\n"))));
	return -EINVAL;
}

/* Does not log TEXT, as it may contain a password. */
static int parse_one(struct postgresql_databases *databases, const char *text)
{
	char *error = NULL;
	PQconninfoOption *options = PQconninfoParse(text, &error);
	size_t hosts;
	int result = 0;

	if (options == NULL) {
		result = refuse_conninfo(error != NULL ? error : "out of memory");
		PQfreemem(error);
		return result;
	}
	hosts = str_count_pieces(str_from(value_of_database_option(options, "host")), ',');
	if (str_count_pieces(str_from(value_of_database_option(options, "hostaddr")), ',') > hosts)
		hosts = str_count_pieces(str_from(value_of_database_option(options, "hostaddr")),
					 ',');
	if (*value_of_database_option(options, "service") != '\0')
		result = refuse_conninfo(
			"service is not read: write what it says into database itself");
	else {
		struct postgresql_database *longer =
			arena_alloc(databases->arena, (databases->count + hosts) * sizeof *longer);

		if (databases->count > 0)
			memcpy(longer, databases->list, databases->count * sizeof *longer);
		databases->list = longer;
		for (size_t i = 0; i < hosts; i++)
			add_database_at_position(databases, options, i);
	}
	PQconninfoFree(options);
	return result;
}

int postgresql_databases_parse(struct os_loop *loop, const char *const *texts, size_t count,
			       struct postgresql_databases *out)
{
	struct postgresql_databases databases = {.arena = arena_new()};
	bool has_names = false;
	int error = count == 0 ? refuse_conninfo("no database is named") : 0;

	for (size_t i = 0; error == 0 && i < count; i++)
		error = parse_one(&databases, texts[i]);
	for (size_t i = 0; error == 0 && i < databases.count; i++)
		has_names = has_names || databases.list[i].host != NULL;
	if (error == 0 && has_names)
		error = dns_resolver_new(loop, "", &databases.resolver);
	if (error == 0)
		*out = databases;
	else
		arena_free(databases.arena);
	return error;
}

void postgresql_databases_clear(struct postgresql_databases *databases)
{
	if (databases->resolver != NULL)
		dns_resolver_free(databases->resolver);
	arena_free(databases->arena);
	*databases = (struct postgresql_databases){0};
}
