// SPDX-License-Identifier: ISC
/*
 * A model of reloads of a process that takes mail in (program/kind/mail_server.h): listeners,
 * classes, rates and limits come, change and go, and each old configuration is freed at once, while
 * its clients are anywhere in their sessions: not admitted yet, held back, within a command, a
 * message or a question. What a session began with holds for it until its end; a new one has what
 * was configured last.
 */
#include "listener_scene.h"
#include "fake_loop.h"
#include "frame/frame.h"
#include "intake_scene.h"
#include "limit/layout.h"
#include "program/kind/mail_server.h"
#include "unit/config/config_outcome.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEEDS = 400, STEPS = 120, CLIENTS_MAX = 40, ROOM = 20000, LISTENERS_MAX = SEEDS + 1 };

/* What was configured when. */
struct settings {
	bool listens[LISTENER_SCENE_ENDPOINTS];
	unsigned number; /* of the configuration: its hostname and size follow from it */
	uint32_t refuse; /* of the class of all; 0: there is none */
	bool is_draining;
};

struct client {
	int socket;
	struct settings at; /* what was configured when it connected */
	bool is_greeted, is_over;
	unsigned step; /* in its dialogue */
	char said[ROOM];
	size_t length;
};

static struct {
	struct child child;
	struct settings now;
	struct client clients[CLIENTS_MAX];
	size_t client_count;
	unsigned greeted, refused, reloads; /* in all runs */
	void *listeners[LISTENERS_MAX];             /* what is kept for the life of a process */
	size_t listener_count;
} world;

/* --- configurations --- */

static const char *hostname_of(const struct settings *settings)
{
	static char name[40];

	snprintf(name, sizeof name, "h%u.test", settings->number);
	return name;
}

static unsigned size_of(const struct settings *settings)
{
	return 1000000 + settings->number;
}

/* Each of them at random. */
static void append_some(const char *const *lines, size_t count, struct buffer *text)
{
	for (size_t i = 0; i < count; i++)
		if (fake_random(3) == 0)
			buffer_append_string(text, lines[i]);
}

static void append_classes(struct buffer *text, bool has_names)
{
	static const char *const classes[] = {"class 192.0.2.0/24 { queue = 2 refuse = 3 }\n",
					      "class 198.51.100.101 { queue = 1 refuse = 1 }\n"};

	append_some(classes, COUNT_OF(classes), text);
	if (has_names && fake_random(2) == 0)
		buffer_append_string(text, "class \"*.client.test\" { queue = 1 refuse = 2 }\n");
	buffer_append_format(text, "class \"*\" { queue = %u refuse = %u }\n",
			     (unsigned)world.now.refuse, (unsigned)world.now.refuse);
}

static void append_sections(struct buffer *text)
{
	static const char *const optional[] = {
		"rate connections { count = connections per = address limit = 3 interval = 1m }\n",
		"rate messages { count = messages per = sender_domain limit = 1 interval = 1h }\n",
		"rate r { count = recipients per = all limit = 9 interval = 9m answer = slow }\n",
		"maxsessions_client = 2\n",
		"smtp_timeout = 60\n",
		"maxsessions = 4\n",
		"smtp_min_rate = 100\n",
	};
	bool has_names = fake_random(3) > 0;

	if (!has_names)
		buffer_append_string(text, "client_names = no\n");
	append_some(optional, COUNT_OF(optional), text);
	if (world.now.refuse > 0)
		append_classes(text, has_names);
}

/* The first with TLS has no certificate yet, and turns clients away; the last of a proxy waits for
 * its header. */
static void append_listen(struct buffer *text, unsigned endpoint)
{
	static const char *const settings[] = {" bare_newline = reject", " stage = submit"};
	bool is_secured = intake_scene.has_keys && endpoint == 0 && fake_random(3) == 0;
	bool is_proxied = endpoint == 2 && fake_random(2) == 0;

	world.now.listens[endpoint] = fake_random(3) > 0;
	if (!world.now.listens[endpoint])
		return;
	if (is_secured)
		buffer_append_format(text, "certificate c%u { chain = /c }\n", world.now.number);
	if (is_proxied)
		buffer_append_string(text, "proxy_from = 192.0.2.0/24\n");
	buffer_append_format(text, "listen smtp { address = 192.0.2.%u:25 tls = %s", endpoint + 1,
			     is_secured ? "starttls" : "none");
	append_some(settings, COUNT_OF(settings), text);
	buffer_append_format(text, "%s }\n", is_proxied ? " proxy = yes" : "");
}

/* Another one each time, and what the model has to know of it in WORLD. */
static struct config *random_config(void)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	world.now.number++;
	world.now.refuse = fake_random(3) == 0 ? 1 + fake_random(4) : 0;
	buffer_append_format(&text, "hostname = %s\nmaxsize = %u\n", hostname_of(&world.now),
			     size_of(&world.now));
	append_sections(&text);
	for (unsigned i = 0; i < LISTENER_SCENE_ENDPOINTS; i++)
		append_listen(&text, i);
	buffer_append_byte(&text, '\0');
	return config_of(buffer_data(&text));
}

/* As supervisor/child/take.c has them. */
static struct limit_memory *memory_for(const struct config *config)
{
	struct limit_layout layout = limit_layout_of(config);
	struct limit_memory *memory;
	int row;

	if (layout.count == 0)
		return NULL;
	memory = limit_memory_new(&layout);
	row = limit_row_new(&layout, "smtpd.1");
	assert_true(row >= 0);
	assert_int_equal(limit_memory_add(memory, "smtpd.1", row, true), 0);
	close(row);
	return memory;
}

static void reload(void)
{
	struct config *old = world.child.config;
	struct limit_memory *old_limits = world.child.limits;
	struct limit_layout layout;

	world.child.config = random_config();
	layout = limit_layout_of(world.child.config);
	if (old_limits == NULL || !limit_layout_equal(limit_memory_layout(old_limits), &layout))
		world.child.limits = memory_for(world.child.config);
	else
		old_limits = NULL;
	world.child.is_draining = world.now.is_draining = fake_random(8) == 0;
	mail_server_reload(&world.child, old);
	config_free(old);
	limit_memory_free(old_limits);
	world.reloads++;
}

/* --- clients --- */

static const char *const dialogue[] = {
	"EHLO client.test\r\n",
	"MAIL FROM:<a@client.test>\r\n",
	"RCPT TO:<b@server.test>\r\n",
	"RCPT TO:<c@server.test>\r\n",
	"DATA\r\n",
	"Subject: x\r\n\r\nhello\r\n.\r\n",
	"NOOP\r\n",
	"MAIL FROM:<b@other.test>\r\n",
	"RCPT TO:<b@server.test>\r\n",
	"BDAT 5 LAST\r\nx: y\n",
	"QUIT\r\n",
};

/* Nobody acts while a question is open or a name is looked for: the scene has one of each. */
static bool is_quiet(void)
{
	return intake_scene.pending == PENDING_NONE && intake_scene.name == NULL;
}

static void hear(struct client *client)
{
	char greeting[60], size[40];

	client->length += fake_peer_read(client->socket, client->said + client->length,
					 sizeof client->said - 1 - client->length);
	client->said[client->length] = '\0';
	if (client->length < 4)
		return;
	snprintf(greeting, sizeof greeting, "220 %s ", hostname_of(&client->at));
	if (!client->is_greeted && strncmp(client->said, "220 ", 4) == 0) {
		assert_memory_equal(client->said, greeting, strlen(greeting));
		assert_false(client->at.is_draining);
		client->is_greeted = true;
		world.greeted++;
	} else if (!client->is_greeted) {
		assert_memory_equal(client->said, "421 ", 4);
		world.refused++;
	}
	snprintf(size, sizeof size, "SIZE %u\r\n", size_of(&client->at));
	if (strstr(client->said, "250-PIPELINING") != NULL)
		assert_non_null(strstr(client->said, size));
}

static void play_client(struct client *client)
{
	for (unsigned steps = 0;
	     is_quiet() && !fake_is_closed(client->socket) && fake_watch_is_ready(client->socket);
	     steps++) {
		assert_true(steps < 1000);
		fake_play_watch(client->socket);
	}
	hear(client);
	client->is_over = fake_is_closed(client->socket);
}

static void connect_client(void)
{
	struct client *client = &world.clients[world.client_count];
	struct os_listener *listener = listener_scene.listeners;
	union os_socket_address peer;
	char address[20];

	for (uint32_t skip = fake_random(LISTENER_SCENE_ENDPOINTS); listener != NULL && skip > 0;
	     skip--)
		listener = listener->next;
	if (listener == NULL || world.client_count == CLIENTS_MAX ||
	    !listener->handler->has_room(listener->context))
		return;
	world.client_count++;
	*client = (struct client){.socket = fake_connect(ROOM, ROOM), .at = world.now};
	snprintf(address, sizeof address, "%s.%u", fake_random(2) ? "192.0.2" : "198.51.100",
		 (unsigned)fake_random(3) + 100);
	assert_true(os_socket_address_parse(address, 4711, &peer));
	listener->handler->accepted(listener->context, client->socket, &peer);
	play_client(client);
}

static void act(struct client *client)
{
	const char *text = dialogue[client->step];

	if (client->is_over)
		return;
	if (fake_random(12) == 0) {
		fake_peer_close(client->socket);
	} else if (client->is_greeted) {
		(void)fake_peer_write(client->socket, text, strlen(text));
		client->step = (client->step + 1) % COUNT_OF(dialogue);
	}
	play_client(client);
}

static void settle(void)
{
	for (size_t i = 0; i < world.client_count; i++)
		if (!world.clients[i].is_over)
			play_client(&world.clients[i]);
}

static void do_something(void)
{
	if (listener_scene.connecting_count > 0 && fake_random(2) == 0) {
		listener_scene_connect_one();
		return;
	}
	switch (fake_random(8)) {
	case 0:
		reload();
		break;
	case 1:
		if (fake_timers() > 0)
			fake_play_timer();
		break;
	case 2:
	case 3:
		if (is_quiet())
			connect_client();
		break;
	default:
		if (!is_quiet()) {
			if (intake_scene.pending != PENDING_NONE)
				intake_scene_answer();
			else
				intake_scene_say_name();
		} else if (world.client_count > 0) {
			act(&world.clients[fake_random((uint32_t)world.client_count)]);
		}
	}
	settle();
}

/* --- invariants --- */

static uint64_t sessions_in_classes(void)
{
	struct limit_classes *classes = limit_classes_new(world.child.config);
	uint64_t count = 0;

	for (size_t i = 0; i < limit_classes_count(classes) && world.child.limits != NULL; i++) {
		const struct limit_class *class = limit_classes_at(classes, i);
		struct limit_total total;

		limit_total_of(world.child.limits, class->key, &total);
		count += total.in;
	}
	limit_classes_free(classes);
	return count;
}

static void check(bool is_settled)
{
	size_t open = 0, listening = 0, expected = 0;

	for (size_t i = 0; i < world.client_count; i++)
		open += !fake_is_closed(world.clients[i].socket);
	for (struct os_listener *one = listener_scene.listeners; one != NULL; one = one->next) {
		assert_true(world.now.listens[one->socket]);
		listening++;
	}
	for (size_t i = 0; i < LISTENER_SCENE_ENDPOINTS; i++)
		expected += world.now.listens[i];
	if (listening > 0 || is_settled) /* else it waits for who answers, or for certificates */
		assert_int_equal(listening, expected);
	assert_true(sessions_in_classes() <= open);
	assert_true(open == 0 || fake_timers() > 0);
}

static bool is_smtp_listen(const struct config_listen *listen)
{
	(void)listen;
	return true;
}

static uint32_t one_worker(const struct config *config)
{
	(void)config;
	return 1;
}

static void end(void)
{
	while (listener_scene.connecting_count > 0)
		listener_scene_connect_one();
	for (size_t i = 0; i < world.client_count; i++)
		if (!fake_is_closed(world.clients[i].socket))
			fake_peer_close(world.clients[i].socket);
	for (unsigned turns = 0; turns < 1000 && (!is_quiet() || fake_timers() > 0); turns++) {
		if (intake_scene.pending != PENDING_NONE)
			intake_scene_answer();
		else if (intake_scene.name != NULL)
			intake_scene_say_name();
		settle();
		if (is_quiet() && fake_timers() > 0)
			fake_play_timer();
		settle();
	}
	for (size_t i = 0; i < world.client_count; i++)
		assert_true(fake_is_closed(world.clients[i].socket));
	assert_int_equal(sessions_in_classes(), 0);
	assert_int_equal(fake_timers(), 0);
	check(true);
	mail_server_stop(&world.child);
	assert_true(listener_scene.is_stopped);
	assert_null(listener_scene.listeners);
}

static void run(uint64_t seed, unsigned steps, bool has_keys)
{
	static const struct mail_server_kind kind = {"listen", &intake_engine_smtp, is_smtp_listen,
						     one_worker};

	fake_begin(seed);
	intake_scene_begin();
	intake_scene.answers = ANSWERS_LATE;
	intake_scene.free_bytes = 1 << 30;
	intake_scene.has_keys = has_keys;
	world.now = (struct settings){.number = 0};
	world.client_count = 0;
	listener_scene_begin(world.now.listens);
	world.child = (struct child){.config = random_config()};
	world.child.limits = memory_for(world.child.config);
	assert_int_equal(mail_server_start(&world.child, &kind), 0);
	world.listeners[world.listener_count++] = world.child.state;
	for (unsigned step = 0; step < steps; step++) {
		do_something();
		check(false);
	}
	end();
	/* what the process's end would free */
	config_free(world.child.config);
	limit_memory_free(world.child.limits);
}

static void run_seed(uint64_t seed)
{
	run(seed, STEPS, false);
}

/* What belongs to certificates stays for the life of a process: there is one. */
static void test_reloads_of_certificates(void **state)
{
	(void)state;
	frame_leaves_for_life();
	run(1, 10 * STEPS, true);
}

static void test_reloads(void **state)
{
	(void)state;
	fake_seeds(SEEDS, run_seed);
	if (getenv("SEED") == NULL)
		assert_true(world.greeted > SEEDS && world.refused > SEEDS / 4 &&
			    world.reloads > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_reloads, fake_tell_seed),
		cmocka_unit_test(test_reloads_of_certificates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
