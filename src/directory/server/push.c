// SPDX-License-Identifier: ISC
/* Notifications. A client that does not read them gets one reset later instead, so that they never
 * fill the memory. */
#include "base/timestamp.h"
#include "directory/server/internal.h"
#include "os/clock.h"

int64_t push_longest_ttl_us(const struct directory_server *server)
{
	const struct config_directory *config = &server->config->directory;

	return config->ttl_us > config->negative_ttl_us ? config->ttl_us : config->negative_ttl_us;
}

static void add_frame_of_word(struct buffer *out, const char *verb)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, out, verb);
	directory_frame_end(&frame);
}

void push_hello(struct session *session)
{
	static const struct {
		enum directory_role role;
		const char *name;
	} roles[] = {
		{DIRECTORY_ROLE_READ, "read"},       {DIRECTORY_ROLE_SECRET, "secret"},
		{DIRECTORY_ROLE_CHANGE, "change"},   {DIRECTORY_ROLE_LIST, "list"},
		{DIRECTORY_ROLE_MEMBERS, "members"}, {DIRECTORY_ROLE_NODES, "nodes"},
	};
	const struct directory_server *server = session->server;
	struct directory_frame frame;

	directory_frame_begin(&frame, &session->output, "hello");
	directory_frame_add_number(&frame, DIRECTORY_PROTOCOL);
	directory_frame_add(&frame, str_from(server->identity));
	directory_frame_add_number(&frame, server->store->version);
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if ((session->roles & roles[i].role) != 0)
			directory_frame_add(&frame, str_from(roles[i].name));
	directory_frame_end(&frame);
	if (!server->store->is_up)
		add_frame_of_word(&session->output, "down");
}

/* Whether the client is told of every change of the table: who may not list follows users if it
 * has passwords, and nodes if it has their role. */
static bool watches_table(const struct session *session, enum directory_table table)
{
	unsigned roles = DIRECTORY_ROLE_LIST;

	if (table == DIRECTORY_USER)
		roles |= DIRECTORY_ROLE_SECRET;
	if (table == DIRECTORY_NODE)
		roles |= DIRECTORY_ROLE_NODES;
	return session->watches && (session->roles & roles) != 0;
}

static bool may_hold_key(const struct session *session, enum directory_table table, uint64_t hash,
			 int64_t now_us)
{
	return watches_table(session, table) || session->holds_all_until_us > now_us ||
	       (session->filter != NULL && filter_may_have(session->filter, hash));
}

void push_holds(struct session *session, enum directory_table table, struct str key)
{
	if (session->filter == NULL)
		session->filter = filter_new();
	filter_add(session->filter, filter_hash(table, key));
}

static void add_frame_of_change(struct buffer *out, const struct directory_key *key,
				uint64_t version)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, out, "new");
	directory_frame_add_number(&frame, version);
	directory_frame_add(&frame, str_from(directory_table_name(key->table)));
	directory_frame_add(&frame, key->name);
	directory_frame_end(&frame);
}

static void push_frame_to_session(struct session *session, struct str frame)
{
	if (session->must_reset)
		return;
	if (session->output.length > SERVER_BACKLOG_MAX) {
		session->must_reset = true;
		return;
	}
	buffer_append_str(&session->output, frame);
	session_wake(session);
}

/* Whether the client knows that key, may list, or is told of it anyway. */
static bool may_learn(const struct session *session, enum directory_table table, uint64_t hash)
{
	return (session->roles & DIRECTORY_ROLE_LIST) != 0 || watches_table(session, table) ||
	       (session->filter != NULL && filter_may_have(session->filter, hash));
}

/* Afterwards it has cached nothing that is not in its filter. */
static void reset_one(struct session *session)
{
	session->holds_all_until_us = 0;
	if (session->output.length > SERVER_BACKLOG_MAX)
		session->must_reset = true;
	if (!session->must_reset)
		session_add_reset(session->server, &session->output);
	session_wake(session);
}

void push_changes(struct directory_server *server, const struct directory_key *keys,
		  const uint64_t *versions, size_t count)
{
	int64_t now_us = os_clock_monotonic_us();

	for (size_t i = 0; i < count; i++) {
		uint64_t hash = filter_hash(keys[i].table, keys[i].name);

		buffer_reset(&server->scratch);
		add_frame_of_change(&server->scratch, &keys[i], versions[i]);
		for (struct session *s = server->sessions; s != NULL; s = s->next) {
			if (!may_hold_key(s, keys[i].table, hash, now_us))
				continue;
			if (may_learn(s, keys[i].table, hash))
				push_frame_to_session(s, buffer_view(&server->scratch));
			else
				reset_one(s);
			server->counts.pushes++;
		}
	}
}

void push_reset(struct directory_server *server)
{
	for (struct session *s = server->sessions; s != NULL; s = s->next) {
		s->must_reset = s->output.length > SERVER_BACKLOG_MAX;
		if (!s->must_reset)
			session_add_reset(server, &s->output);
		session_wake(s);
	}
	server->counts.resets++;
}

void push_state(struct directory_server *server, bool is_up)
{
	for (struct session *s = server->sessions; s != NULL; s = s->next) {
		add_frame_of_word(&s->output, is_up ? "up" : "down");
		session_wake(s);
	}
}

void push_missed(struct question *question, int error, const struct directory_key *keys,
		 const uint64_t *versions, size_t count)
{
	struct session *session = question->session;
	const struct directory_server *server = question->server;
	uint64_t version = server->store->version;
	struct directory_frame frame;

	if (error != 0) {
		session_add_reset(server, session_output(session));
		return;
	}
	(void)session_output(session);
	for (size_t i = 0; i < count; i++) {
		add_frame_of_change(&session->output, &keys[i], versions[i]);
		version = versions[i] > version ? versions[i] : version;
	}
	directory_frame_begin(&frame, &session->output, "now");
	directory_frame_add_number(&frame, version);
	directory_frame_end(&frame);
}
