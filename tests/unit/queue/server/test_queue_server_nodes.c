// SPDX-License-Identifier: ISC
/* What "noded" asks of the process "queue": greetings, packages, and their names. */
#include "ipc/pack.h"
#include "mail/package.h"
#include "queue/client/handed.h"
#include "queue/client/protocol.h"
#include "queue/update.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct queue_handed_serial first = {1, 7, 1};
static const struct queue_handed_serial second = {1, 7, 2};
static const struct queue_handed_serial later_run = {1, 8, 1};
static const struct queue_handed_serial later_epoch = {2, 1, 1};

static const char map[] = "map: 1 remote 3 <x@example.org>\n"
			  "map: 1 local mailbox 4 <y@example.org>\n"
			  "mapped: directory=42 count=2\n";

static void start(bool has_nodes)
{
	struct queue_server_peers peers = {.manager = {geteuid(), 1, 8192, 1},
					   .intake = {geteuid(), 1, 8192, 1000},
					   .open = UINT32_MAX,
					   .tokens = &scene_tokens};

	if (has_nodes)
		peers.nodes = (struct queue_server_part){geteuid(), 1, 8192, 1000};
	scene_start_for(0, &peers);
	scene.manager = scene_manage();
	scene.client = scene_connect();
}

static int begin(void **state)
{
	assert_int_equal(queue_peer_set_up(state), 0);
	start(true);
	return 0;
}

static int end(void **state)
{
	scene_end();
	return queue_peer_tear_down(state);
}

/* Stops "queue", and starts the next one. */
static void restart(bool has_nodes)
{
	scene_end();
	unlink(queue_peer_path("socket"));
	unlink(queue_peer_path("submit"));
	start(has_nodes);
}

static void pack_node(struct buffer *out, const char *node,
		      const struct queue_handed_serial *serial)
{
	pack_str(out, str_from(node));
	pack_u64(out, serial->epoch);
	pack_u64(out, serial->run);
	pack_u64(out, serial->connection);
}

static void say_of_node(struct queue_peer *peer, uint16_t type, const char *node,
			const struct queue_handed_serial *serial, const char *name)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_node(&body, node, serial);
	if (name != NULL)
		pack_str(&body, str_from(name));
	queue_peer_say(peer, type, buffer_view(&body));
}

static void say_greet(struct queue_peer *peer, const struct queue_handed_serial *serial)
{
	say_of_node(peer, QUEUE_PROTOCOL_GREET, "a1", serial, "noded-1");
}

static void expect_node(struct unpack *body, const struct queue_handed_serial *serial)
{
	assert_true(str_equal(unpack_str(body), STR("a1")));
	assert_int_equal(unpack_u64(body), serial->epoch);
	assert_int_equal(unpack_u64(body), serial->run);
	assert_int_equal(unpack_u64(body), serial->connection);
}

static void expect_greeted(struct queue_peer *peer, const struct queue_handed_serial *serial,
			   int error, const struct queue_handed_serial *highest)
{
	struct unpack body = {buffer_view(&peer->body), false};

	expect_node(&body, serial);
	assert_int_equal(unpack_u32(&body), -error);
	assert_int_equal(unpack_u64(&body), highest->epoch);
	assert_int_equal(unpack_u64(&body), highest->run);
	assert_int_equal(unpack_u64(&body), highest->connection);
	assert_true(unpack_is_whole(&body));
}

static uint32_t error_of_greeted(const struct queue_peer *peer)
{
	struct unpack body = {buffer_view(&peer->body), false};

	(void)unpack_str(&body);
	for (unsigned i = 0; i < 3; i++)
		(void)unpack_u64(&body);
	return unpack_u32(&body);
}

/* The same entries, each with a ';' after it, in any order: that of the directory's names. */
static void check_kept(struct str have, struct str kept)
{
	struct str entry;

	assert_int_equal(have.length, kept.length);
	while (kept.length > 0 && str_split(&kept, ';', &entry)) {
		struct str rest = have;
		struct str found = STR("");
		bool is_there = false;

		while (!is_there && rest.length > 0 && str_split(&rest, ';', &found))
			is_there = str_equal(found, entry);
		assert_true(is_there);
	}
}

/* The answer to GREET: "NAME NUMBERS;" of each that is kept, in the order of their commits. */
static void expect_kept(struct queue_peer *peer, const struct queue_handed_serial *serial,
			const char *kept)
{
	struct buffer have CLEANUP(buffer_clear) = {0};

	while (queue_peer_hear(peer) == QUEUE_PROTOCOL_KEPT) {
		struct unpack body = {buffer_view(&peer->body), false};

		expect_node(&body, serial);
		while (body.rest.length > 0) {
			buffer_append_str(&have, unpack_str(&body));
			buffer_append_byte(&have, ' ');
			buffer_append_str(&have, unpack_str(&body));
			buffer_append_byte(&have, ';');
			assert_false(body.failed);
		}
	}
	expect_greeted(peer, serial, 0, serial);
	check_kept(buffer_view(&have), str_from(kept));
}

static void greet(struct queue_peer *peer, const struct queue_handed_serial *serial,
		  const char *kept)
{
	say_greet(peer, serial);
	expect_kept(peer, serial, kept);
}

static uint32_t via = MAIL_VIA_MAX; /* of the packages that follow */

/* The envelope of package NAME for 6 bytes. */
static void append_package(struct buffer *text, uint64_t number, const char *name)
{
	struct mail_envelope *envelope = mail_envelope_new();
	char handed[100];

	snprintf(handed, sizeof handed, "a1/%s", name);
	envelope->id = (struct mail_id){number, 1795163591482913};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = 6;
	envelope->handed = str_from(handed);
	envelope->origin = STR("a0/12-3f");
	envelope->via = via;
	mail_envelope_add(envelope, STR("b@example.net"));
	assert_int_equal(queue_control_write_envelope(text, envelope), 0);
	mail_envelope_free(envelope);
}

static void say_text(struct queue_peer *peer, uint64_t number, const char *node,
		     const struct queue_handed_serial *serial, struct str text)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, number);
	pack_node(&body, node, serial);
	pack_str(&body, text);
	pack_str(&body, STR("data\r\n"));
	queue_peer_say(peer, QUEUE_PROTOCOL_COMMIT_HANDED, buffer_view(&body));
}

static void say_package(struct queue_peer *peer, uint64_t number,
			const struct queue_handed_serial *serial, const char *name,
			const char *records)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_package(&text, number, name);
	buffer_append_string(&text, records);
	say_text(peer, number, "a1", serial, buffer_view(&text));
}

static uint32_t hand_over(struct queue_peer *peer, const struct queue_handed_serial *serial,
			  const char *name, const char *records, uint64_t *number_out)
{
	uint64_t number = scene_open_one(peer);

	say_package(peer, number, serial, name, records);
	if (number_out != NULL)
		*number_out = number;
	return scene_hear_result(peer, number);
}

static bool is_in_queue(const char *path)
{
	return access(queue_peer_path(path), F_OK) == 0;
}

static void a_package_is_here_once(void **state)
{
	uint64_t number;

	(void)state;
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", NULL), ESTALE);
	greet(&scene.client, &first, "");
	assert_true(is_in_queue("queue/handed/a1/run.1.7"));
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", &number), 0);
	assert_true(is_in_queue("queue/handed/a1/12-3f"));
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", NULL), EEXIST);
	scene_expect_queued(&scene.manager, number, true);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number); /* after NAME.done is durable */
	assert_true(is_in_queue("queue/handed/a1/12-3f.done"));
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", NULL), EEXIST);
	greet(&scene.client, &second, "12-3f ;");
	/* over the connection before: ignored */
	say_of_node(&scene.client, QUEUE_PROTOCOL_SETTLE, "a1", &first, "12-3f");
	greet(&scene.client, &later_run, "12-3f ;");
	assert_false(is_in_queue("queue/handed/a1/run.1.7"));
	say_of_node(&scene.client, QUEUE_PROTOCOL_SETTLE, "a1", &later_run, "12-3f");
	greet(&scene.client, &later_epoch, "");
	assert_false(is_in_queue("queue/handed/a1/12-3f.done"));
}

static void an_older_connection_says_nothing_any_more(void **state)
{
	struct queue_peer other = scene_connect();

	(void)state;
	greet(&scene.client, &later_run, "");
	say_greet(&scene.client, &first);
	assert_int_equal(queue_peer_hear(&scene.client), QUEUE_PROTOCOL_GREETED);
	expect_greeted(&scene.client, &first, -ESTALE, &later_run);
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", NULL), ESTALE);
	assert_int_equal(hand_over(&other, &later_run, "12-3f", "", NULL), ESTALE);
	greet(&other, &later_epoch, "");
	assert_int_equal(hand_over(&scene.client, &later_run, "12-3f", "", NULL), ESTALE);
	assert_int_equal(hand_over(&other, &later_epoch, "12-3f", "", NULL), 0);
	queue_peer_close(&other);
}

/* A greeting waits for what is being committed, and gives way to the next one. */
static void a_greeting_knows_what_was_in_progress(void **state)
{
	uint64_t number = scene_open_one(&scene.client);
	bool is_answered;

	(void)state;
	greet(&scene.client, &first, "");
	say_package(&scene.client, number, &first, "12-3f", "");
	say_greet(&scene.client, &second);
	assert_int_equal(scene_hear_result(&scene.client, number), 0);
	expect_kept(&scene.client, &second, "12-3f ;");
	say_greet(&scene.client, &later_run);
	say_greet(&scene.client, &later_epoch);
	/* the first one may have been answered before the second one came */
	while (queue_peer_hear(&scene.client) == QUEUE_PROTOCOL_KEPT)
		continue;
	is_answered = error_of_greeted(&scene.client) == 0;
	expect_greeted(&scene.client, &later_run, is_answered ? 0 : -ESTALE,
		       is_answered ? &later_run : &later_epoch);
	expect_kept(&scene.client, &later_epoch, "12-3f ;");
}

static void the_next_process_knows_runs_and_packages(void **state)
{
	uint64_t number;

	(void)state;
	greet(&scene.client, &first, "");
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", &number), 0);
	assert_int_equal(hand_over(&scene.client, &first, "13-3f.3", map, NULL), 0);
	restart(true);
	assert_int_equal(hand_over(&scene.client, &first, "14-3f", "", NULL), ESTALE);
	greet(&scene.client, &second, "12-3f ;13-3f.3 3-4;");
	assert_int_equal(hand_over(&scene.client, &second, "12-3f", "", NULL), EEXIST);
	say_of_node(&scene.client, QUEUE_PROTOCOL_SETTLE, "a1", &second, "12-3f");
	say_of_node(&scene.client, QUEUE_PROTOCOL_SETTLE, "a1", &second, "13-3f.3");
	greet(&scene.client, &later_run, "");
}

/* The manager is told the map, and reads it in the file. */
static void a_map_comes_with_its_package(void **state)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_control *control;
	uint64_t number;

	(void)state;
	greet(&scene.client, &first, "");
	assert_int_equal(hand_over(&scene.client, &first, "12-3f.3", map, &number), 0);
	scene_expect_queued(&scene.manager, number, true);
	assert_int_equal(queue_update_load(scene.store, &stage, number, &control, NULL), 0);
	assert_true(control->is_mapped && control->has_checksum && control->damaged == 0);
	assert_int_equal(control->delivery_count, 2);
	assert_int_equal(control->deliveries[1].number, 4);
	assert_true(str_equal(control->envelope->handed, STR("a1/12-3f.3")));
	queue_control_free(control);
}

#define ONE_MAPPED "map: 1 remote <x@example.org>\nmapped: directory=1 count=1\n"
#define WAITS "wait: 1 2026-11-20T08:33:11Z until=2026-11-20T09:33:11Z tried=7 4.4.1 away\n"

/* And so is what was tried. */
static void what_was_tried_comes_with_its_package(void **state)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_control *control;
	uint64_t number;

	(void)state;
	greet(&scene.client, &first, "");
	assert_int_equal(hand_over(&scene.client, &first, "12-3f",
				   ONE_MAPPED "said: 1 4.4.1 away\n" WAITS
					      "delayed: 1 2026-11-20T08:33:11Z\n",
				   &number),
			 0);
	scene_expect_queued(&scene.manager, number, true);
	assert_int_equal(queue_update_load(scene.store, &stage, number, &control, NULL), 0);
	assert_true(control->deliveries[0].delayed_us > 0);
	assert_int_equal(control->deliveries[0].outcome, QUEUE_WAIT);
	assert_int_equal(control->deliveries[0].attempts, 7);
	queue_control_free(control);
}

struct bad_text {
	const char *name;
	const char *records;
	const char *why;
};

static void text_that_is_no_package_is_refused(void **state)
{
	static const struct bad_text texts[] = {
		{"12-3f.4", map, "its first delivery is 3"},
		{"12-3f", "map: 1 remote 3 <x@example.org>\n", "no mapped record"},
		{"12-3f", "map: 1 remote 3 <x@example.org>\nmapped: directory=1 count=2\n",
		 "a count"},
		{"12-3f",
		 "map: 1 remote <x@example.org>\nmapped: directory=1 count=1\n"
		 "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n",
		 "an outcome"},
		{"12-3f", ONE_MAPPED "fail: 1 2026-11-20T08:33:11Z 5.1.1 nobody\n", "a failure"},
		{"12-3f", ONE_MAPPED "requeue: 1\n", "it is to be mapped again"},
		{"12-3f", ONE_MAPPED "quiet: 1\n", "a mark of what is done"},
		{"12-3f", ONE_MAPPED "what: ever\n", "an unknown record"},
		{"12-3f", ONE_MAPPED WAITS "map: 1 remote <x@example.org>\n", "a second map"},
		{"12-3f", WAITS, "no map, and it was tried"},
		{"12-3f", "delayed: 1 2026-11-20T08:33:11Z\n", "no map, and a delay"},
		{"12-3f", "mapped: directory=1 count=1", "no newline"},
		{"12-3f", "what: ever\n", "no map"},
	};
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint64_t number;

	(void)state;
	greet(&scene.client, &first, "");
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (hand_over(&scene.client, &first, texts[i].name, texts[i].records, NULL) !=
		    EBADMSG)
			fail_msg("%s", texts[i].why);
	number = scene_open_one(&scene.client);
	scene_append_envelope(&text, number, 1); /* without a handed record */
	say_text(&scene.client, number, "a1", &first, buffer_view(&text));
	assert_int_equal(scene_hear_result(&scene.client, number), EBADMSG);
	number = scene_open_one(&scene.client);
	buffer_reset(&text);
	append_package(&text, number + 1, "12-3f");
	say_text(&scene.client, number, "a1", &first, buffer_view(&text));
	assert_int_equal(scene_hear_result(&scene.client, number), EBADMSG);
	via = MAIL_VIA_MAX + 1;
	assert_int_equal(hand_over(&scene.client, &first, "12-3f", "", NULL), EBADMSG);
	via = MAIL_VIA_MAX;
	/* another node's */
	say_of_node(&scene.client, QUEUE_PROTOCOL_GREET, "a2", &first, "noded-1");
	while (queue_peer_hear(&scene.client) != QUEUE_PROTOCOL_GREETED)
		continue;
	number = scene_open_one(&scene.client);
	buffer_reset(&text);
	append_package(&text, number, "12-3f");
	say_text(&scene.client, number, "a2", &first, buffer_view(&text));
	assert_int_equal(scene_hear_result(&scene.client, number), EBADMSG);
	greet(&scene.client, &second, "");
}

/* Whoever is not "noded", or does not say what it must. */
static void others_are_disconnected(void **state)
{
	static const struct queue_handed_serial none = {1, 1, 0};
	struct queue_peer other;

	(void)state;
	other = scene_connect();
	say_of_node(&other, QUEUE_PROTOCOL_GREET, "A1", &first, "noded-1");
	assert_int_equal(queue_peer_hear(&other), 0);
	queue_peer_close(&other);
	other = scene_connect();
	say_greet(&other, &none);
	assert_int_equal(queue_peer_hear(&other), 0);
	queue_peer_close(&other);
	other = scene_connect();
	say_of_node(&other, QUEUE_PROTOCOL_GREET, "a1", &first, "send-1");
	assert_int_equal(queue_peer_hear(&other), 0);
	queue_peer_close(&other);
	restart(false);
	for (unsigned type = QUEUE_PROTOCOL_GREET; type <= QUEUE_PROTOCOL_DROP; type++) {
		other = scene_connect();
		say_of_node(&other, (uint16_t)type, "a1", &first, "12-3f");
		assert_int_equal(queue_peer_hear(&other), 0);
		queue_peer_close(&other);
	}
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(a_package_is_here_once),
		SERVED(an_older_connection_says_nothing_any_more),
		SERVED(a_greeting_knows_what_was_in_progress),
		SERVED(the_next_process_knows_runs_and_packages),
		SERVED(a_map_comes_with_its_package),
		SERVED(what_was_tried_comes_with_its_package),
		SERVED(text_that_is_no_package_is_refused),
		SERVED(others_are_disconnected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
