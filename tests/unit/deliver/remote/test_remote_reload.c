// SPDX-License-Identifier: ISC
/*
 * The remote transport outlives every configuration: each kind of section, and each list outside of
 * them, comes, changes and goes at each point of a session. As in the process, the configuration
 * before is freed at once, so that whoever still used it is found out.
 */
#include "base/panic.h"
#include "config/schema/schema.h"
#include "deliver/remote/policy/policy.h"
#include "deliver/remote/remote.h"
#include "deliver/remote/session/places.h"
#include "limit/layout.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/config/config_outcome.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ONCE   "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
#define SOURCE "source s { addresses = 127.0.0.1 }\n"

/* Text with a section of the kind, and with another one of it. */
struct sample {
	const char *one, *other;
};

static const struct sample sections[CONFIG_SECTION_COUNT] = {
	[CONFIG_SECTION_LISTEN] = {"listen smtp { address = 127.0.0.1:1 }",
				   "listen smtp { address = 127.0.0.1:2 }"},
	[CONFIG_SECTION_SERVICE] = {ONCE, "service hop { kind = lmtp address = 127.0.0.1:1 }"},
	[CONFIG_SECTION_DOMAIN] = {ONCE "domain a.test { service = box }",
				   ONCE "domain b.test { service = box }"},
	[CONFIG_SECTION_TRANSPORT] = {"transport remote { concurrency = 3 }",
				      "transport remote { paused = yes }"},
	[CONFIG_SECTION_PROCESS] = {"process remote { user = nobody }",
				    "process remote { user = mail }"},
	[CONFIG_SECTION_CERTIFICATE] = {"certificate c { chain = /c }",
					"certificate d { chain = /d }"},
	[CONFIG_SECTION_TLS] = {"tls \"[127.0.0.1]\" { level = none }",
				"certificate c { chain = /c } "
				"tls \"[127.0.0.1]\" { level = may certificate = c }"},
	[CONFIG_SECTION_CLASS] = {"class 127.0.0.1 { queue = 2 refuse = 2 count = all }\n"
				  "class \"*\" { queue = 9 refuse = 9 }",
				  SOURCE "class \"*\" { queue = 2 refuse = 2 source = s }"},
	[CONFIG_SECTION_RATE] = {"rate r { count = messages limit = 9 interval = 1m }",
				 "rate q { count = bytes limit = 9 interval = 2m }"},
	[CONFIG_SECTION_SOURCE] = {SOURCE "source = s",
				   "source t { addresses = 127.0.0.2 } source = t"},
	[CONFIG_SECTION_DESTINATION] = {"destination \"mx:127.0.0.1\" { messages = 900 }",
					"destination \"*\" { concurrency = 2 messages = 800 }"},
	[CONFIG_SECTION_DIRECTORY] = {"directory { }", "directory { path = /x }"},
	[CONFIG_SECTION_AUTH] = {"directory { } auth { }",
				 "directory { } auth { failure_exempt = 192.0.2.1 }"},
	[CONFIG_SECTION_RECORD] = {"record { }", "record { path = /x }"},
	[CONFIG_SECTION_NODE] = {"node { name = a1 }", "node { name = a1 doubt = 5m }"},
	[CONFIG_SECTION_STAGE] = {"stage arrive { }",
				  "directory { } stage arrive { nodes = core } "
				  "node { certificate = /c key = /k authority = /a }"},
	[CONFIG_SECTION_RULE] = {ONCE "rule r { folder = A }", ONCE "rule q { folder = B }"},
};

/* Of each list outside of all sections, by its name. */
static const struct {
	const char *name;
	struct sample sample;
} lists[] = {
	{"relay_from", {"relay_from = 127.0.0.0/8", "relay_from = 192.0.2.1"}},
	{"own_addresses", {"own_addresses = 192.0.2.1", "own_addresses = 192.0.2.2"}},
	{"proxy_from", {"proxy_from = 127.0.0.0/8", "proxy_from = 192.0.2.1"}},
	{"xclient_from", {"xclient_from = 127.0.0.0/8", "xclient_from = 192.0.2.1"}},
	{"xforward_from", {"xforward_from = 127.0.0.0/8", "xforward_from = 192.0.2.1"}},
	{"etrn_from", {"etrn_from = 127.0.0.0/8", "etrn_from = 192.0.2.1"}},
	{"xforward_to", {"xforward_to = \"[127.0.0.1]\"", "xforward_to = relay.test"}},
	{"smtproutes", {"smtproutes += a.test:b.test", "smtproutes += b.test:a.test"}},
	{"qmtproutes", {"qmtproutes = a.test:b.test", "qmtproutes = b.test:a.test"}},
	{"senderroutes", {"senderroutes = a.test:b.test", "senderroutes = b.test:a.test"}},
	{"fallback_relays", {"fallback_relays = a.test", "fallback_relays = b.test"}},
	{"sender_sources",
	 {SOURCE "sender_sources = us.example:s", SOURCE "sender_sources = s@us.example:s"}},
	{"domain_sources",
	 {SOURCE "domain_sources = b.test:s", SOURCE "domain_sources = a.test:s"}},
	{"dns_unsigned", {"dns_unsigned = lan", "dns_unsigned = corp"}},
	{"tls_ciphers",
	 {"tls_ciphers = ECDHE-RSA-AES256-GCM-SHA384",
	  "tls_ciphers = ECDHE-RSA-AES128-GCM-SHA256"}},
};

/* When the configuration changes: before the server says what is named, and at the ends. */
enum stage { FOUND, GREETING, EHLO, MAIL, RCPT, DATA, DOT, IDLE, STAGES };

static const char *const verbs[STAGES] = {
	[EHLO] = "EHLO", [MAIL] = "MAIL", [RCPT] = "RCPT", [DATA] = "DATA", [DOT] = "."};

struct connection {
	int socket;
	struct os_watch *watch;
	struct buffer input;
	struct connection *next;
};

static struct {
	struct os_loop *loop;
	int listening;
	struct os_watch *watch;
	uint16_t port;
	struct connection *connections;
	enum stage stage;
	const char *next; /* the configuration that comes at the stage; NULL: it has come */
	struct config *config;
	struct limit_memory *limits;
	struct remote_policies *policies;
	struct remote_places *places;
	struct deliver_remote *remote;
	char outcome[256];
} scene;

/* --- the configuration --- */

/* MORE, with the route to the server unless it is to go. */
static struct config *read_config(const char *more)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config *config;

	buffer_append_string(&text, HOST "dns_server = 127.0.0.1@1\n");
	if (more == NULL)
		more = "";
	else
		buffer_append_format(&text, "smtproutes = \":[127.0.0.1];%u\"\n", scene.port);
	buffer_append_format(&text, "%s\n", more);
	buffer_append_byte(&text, '\0');
	config = config_of(buffer_data(&text));
	return config;
}

static struct limit_memory *new_limits(const struct config *config)
{
	struct limit_layout layout = limit_layout_of(config);
	struct limit_memory *limits;
	int row;

	if (layout.count == 0)
		return NULL;
	limits = limit_memory_new(&layout);
	row = limit_row_new(&layout, "remote");
	assert_true(row >= 0);
	assert_int_equal(limit_memory_add(limits, "remote", row, true), 0);
	os_file_close(row);
	return limits;
}

/* As program/remote.c. */
static void reload(const char *text)
{
	struct config *old = scene.config;
	struct limit_memory *old_limits = scene.limits;

	scene.config = read_config(text);
	scene.limits = new_limits(scene.config);
	assert_true(remote_policies_configure(scene.policies, scene.config));
	remote_places_configure(scene.places, scene.config, scene.limits);
	assert_true(deliver_remote_fits(scene.remote, scene.config));
	deliver_remote_configure(scene.remote, scene.config);
	config_free(old);
	limit_memory_free(old_limits);
}

static bool is_pending; /* the change at the stage */

static void reach(enum stage stage)
{
	if (stage != scene.stage || !is_pending)
		return;
	is_pending = false;
	reload(scene.next);
}

/* --- the job --- */

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	(void)trigger;
	job->recipients[index].is_reported = true;
	snprintf(scene.outcome, sizeof scene.outcome, "%s", verdict->text);
}

void deliver_helper_tell_said(const struct deliver_helper_job *job, const struct ipc_job_said *said)
{
	(void)job;
	(void)said;
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	if (!job->recipients[0].is_reported)
		deliver_helper_report(job, 0, verdict, trigger);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	close(job->content.file);
	arena_free(job->arena);
	free(job);
	os_loop_stop(scene.loop);
}

void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	(void)job;
	(void)flags;
	fail_msg("busy for %lld us: %s", (long long)wait_us, reason);
}

static const char *deliver(void)
{
	static const char text[] = "Subject: x\r\n\r\ny\r\n";
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);

	job->arena = arena_new();
	job->sender = STR("s@us.example");
	job->destination = STR("[127.0.0.1]");
	job->recipient_count = 1;
	job->recipients = arena_alloc(job->arena, sizeof *job->recipients);
	job->recipients[0].address = STR("r@[127.0.0.1]");
	job->content = (struct ipc_content){.file = memfd_create("message", MFD_CLOEXEC),
					    .size = sizeof text - 1};
	assert_int_equal(write(job->content.file, text, sizeof text - 1), sizeof text - 1);
	snprintf(scene.outcome, sizeof scene.outcome, "none");
	deliver_remote_start(scene.remote, job);
	reach(FOUND);
	os_loop_run(scene.loop);
	return scene.outcome;
}

/* --- the server --- */

static void say(const struct connection *connection, const char *text)
{
	assert_int_equal(os_socket_write(connection->socket, text, strlen(text)), strlen(text));
}

static void answer(const struct connection *connection, struct str line)
{
	for (enum stage stage = EHLO; stage <= DOT; stage++)
		if (str_starts_with(line, str_from(verbs[stage])))
			reach(stage);
	if (str_starts_with(line, STR("DATA")))
		say(connection, "354 go\r\n");
	else if (str_starts_with(line, STR("EHLO")) || str_starts_with(line, STR("MAIL")) ||
		 str_starts_with(line, STR("RCPT")) || str_starts_with(line, STR(".")))
		say(connection, "250 2.0.0 ok\r\n");
}

static void hang_up(struct connection *connection)
{
	struct connection **place = &scene.connections;

	while (*place != connection)
		place = &(*place)->next;
	*place = connection->next;
	os_watch_free(connection->watch);
	os_socket_close(connection->socket);
	buffer_clear(&connection->input);
	free(connection);
}

static void on_connection(void *context, unsigned events)
{
	struct connection *connection = context;
	ssize_t count =
		os_socket_read(connection->socket, buffer_reserve(&connection->input, 4096), 4096);

	(void)events;
	if (count <= 0) {
		hang_up(connection);
		return;
	}
	buffer_commit(&connection->input, (size_t)count);
	for (ptrdiff_t end; (end = str_find(buffer_view(&connection->input), '\n')) >= 0;) {
		answer(connection, str_slice(buffer_data(&connection->input), (size_t)end));
		buffer_consume(&connection->input, (size_t)end + 1);
	}
}

static void on_listening(void *context, unsigned events)
{
	struct connection *connection = memory_alloc_zero(1, sizeof *connection);
	union os_socket_address peer;

	(void)context;
	(void)events;
	connection->socket = os_socket_accept(scene.listening, &peer);
	assert_true(connection->socket >= 0);
	connection->watch = os_watch_new(scene.loop, connection->socket, OS_WATCH_READ,
					 on_connection, connection);
	connection->next = scene.connections;
	scene.connections = connection;
	reach(GREETING);
	say(connection, "220 fake\r\n");
}

static int set_up(void **state)
{
	union os_socket_address address;

	(void)state;
	scene.loop = os_loop_new();
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	scene.listening = os_socket_listen(&address, 100);
	assert_true(scene.listening >= 0);
	assert_int_equal(os_socket_local_address(scene.listening, &address), 0);
	scene.port = os_socket_address_port(&address);
	scene.watch = os_watch_new(scene.loop, scene.listening, OS_WATCH_READ, on_listening, NULL);
	scene.config = read_config("");
	scene.policies = remote_policies_new(scene.config, false, NULL);
	scene.places = remote_places_new();
	assert_int_equal(
		deliver_remote_new(scene.loop, scene.config, scene.policies, &scene.remote), 0);
	deliver_remote_count(scene.remote, scene.places);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	deliver_remote_free(scene.remote);
	remote_places_free(scene.places);
	remote_policies_free(scene.policies);
	while (scene.connections != NULL)
		hang_up(scene.connections);
	os_watch_free(scene.watch);
	os_socket_close(scene.listening);
	os_loop_free(scene.loop);
	config_free(scene.config);
	limit_memory_free(scene.limits);
	scene.limits = NULL; /* the next test begins without */
	return 0;
}

/* A message of the configuration ONE is under way when OTHER takes its place, at each stage; and
 * the next one finds its way, too, if there is one. */
static void change(const char *one, const char *other)
{
	for (enum stage stage = FOUND; stage < STAGES; stage++) {
		reload(one);
		scene.stage = stage;
		scene.next = other;
		is_pending = true;
		if (strstr(deliver(), "250 2.0.0 ok") == NULL)
			fail_msg("\"%s\" becomes \"%s\" at %d: %s", one, other, (int)stage,
				 scene.outcome);
		reach(IDLE);
		assert_false(is_pending);
		if (strstr(deliver(), other != NULL ? "250 2.0.0 ok" : "loops back") == NULL)
			fail_msg("after \"%s\" has become \"%s\" at %d: %s", one, other, (int)stage,
				 scene.outcome);
	}
}

static void change_sample(const struct sample *sample)
{
	change("", sample->one);
	change(sample->one, sample->other);
	change(sample->other, "");
	change(sample->one, "");
}

static void each_section_comes_changes_and_goes(void **state)
{
	(void)state;
	for (unsigned i = CONFIG_SECTION_LISTEN; i < CONFIG_SECTION_COUNT; i++) {
		if (sections[i].one == NULL)
			fail_msg("a section %s has no sample in this test",
				 config_section_info((enum config_section)i)->name);
		change_sample(&sections[i]);
	}
}

static const struct sample *sample_of(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		if (strcmp(lists[i].name, name) == 0)
			return &lists[i].sample;
	fail_msg("the list %s has no sample in this test", name);
	return NULL;
}

static void each_list_comes_changes_and_goes(void **state)
{
	struct config_rows rows = {.section = CONFIG_SECTION_ROOT};
	const struct config_setting *row;

	(void)state;
	while ((row = config_rows_next(&rows)) != NULL)
		if (row->type->is_list)
			change_sample(sample_of(row->name));
}

static void the_last_route_goes(void **state)
{
	(void)state;
	change("", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_section_comes_changes_and_goes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_list_comes_changes_and_goes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_last_route_goes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
