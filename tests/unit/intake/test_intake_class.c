// SPDX-License-Identifier: ISC
/* The places of the classes of hosts: as many as there are, and each is free again, whichever the
 * class is and however the session ends. */
#include "fake_loop.h"
#include "intake/session.h"
#include "intake_scene.h"
#include "limit/count.h"
#include "test.h"
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 4000, PLACES = 2, CLASSES = 3, SECONDS = 100 };

static const char *const hosts[CLASSES] = {"192.0.2.0", "192.0.2.1", "192.0.2.2"};

static struct smtp_service service = {.hostname = "server.test",
				      .protocol = SMTP_PROTOCOL_SMTP,
				      .on_refusal = intake_log_refusal,
				      .limits = {.recipients = 100,
						 .hops = 30,
						 .line = 4096,
						 .command_timeout = SECONDS,
						 .data_timeout = SECONDS,
						 .errors = 100}};
static struct config_class sections[CLASSES] = {
	{.mask = "192.0.2.0/32", .kind = CONFIG_CLASS_NETWORK, .queue = PLACES, .refuse = PLACES},
	{.mask = "192.0.2.1/32", .kind = CONFIG_CLASS_NETWORK, .queue = PLACES, .refuse = PLACES},
	{.mask = "*", .kind = CONFIG_CLASS_ALL, .queue = PLACES, .refuse = PLACES}};
static struct config config = {
	.smtp_timeout = 300, .smtp_min_rate = 1000, .classes = sections, .class_count = CLASSES};
static struct intake intake;
static struct limit_classes *classes;
static struct limit_memory *limits;
static int row;

/* Of this process alone. */
static void begin_limits(void)
{
	struct limit_layout layout = {.count = 0};

	for (size_t i = 0; i + 1 < CLASSES; i++) {
		sections[i].network.prefix = 128;
		assert_int_equal(
			inet_pton(AF_INET, hosts[i], &sections[i].network.address.s6_addr[12]), 1);
		sections[i].network.address.s6_addr[10] = 0xff;
		sections[i].network.address.s6_addr[11] = 0xff;
	}
	classes = limit_classes_new(&config);
	limit_layout_add(&layout, LIMIT_AREA_SESSIONS, limit_count_area_size(), true);
	limits = limit_memory_new(&layout);
	row = limit_row_new(&layout, "smtpd.1");
	assert_true(row >= 0);
	assert_int_equal(limit_memory_add(limits, "smtpd.1", row, true), 0);
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	intake_scene_begin();
	begin_limits();
	intake = (struct intake){.engine = &intake_engine_smtp,
				 .config = &config,
				 .clients = limit_clients_new(),
				 .session_ended = intake_scene_ended};
	intake_set_limits(&intake, limits, classes);
	return 0;
}

static int tear_down(void **state)
{
	int left = intake.session_count > 0 || fake_timers() > 0 ? -1 : 0;

	(void)state;
	intake_set_limits(&intake, NULL, NULL);
	limit_clients_free(intake.clients);
	limit_memory_free(limits);
	close(row);
	limit_classes_free(classes);
	return left;
}

static unsigned sessions_in(size_t class)
{
	struct limit_total total;

	limit_total_of(limits, limit_classes_at(classes, class)->key, &total);
	return (unsigned)total.in;
}

static void play(int socket)
{
	for (unsigned steps = 0; !fake_is_closed(socket) && fake_watch_is_ready(socket); steps++) {
		assert_true(steps < 1000);
		fake_play_watch(socket);
	}
}

/* Its socket, if it is greeted; -1: it is refused. */
static int connect_from(size_t class)
{
	union os_socket_address peer;
	int socket = fake_connect(ROOM, ROOM);
	char reply[ROOM];
	size_t length;

	assert_true(os_socket_address_parse(hosts[class], 4711, &peer));
	intake_session_new(&intake, &service, intake_scene_plain(), socket, &peer, STR(""));
	play(socket);
	length = fake_peer_read(socket, reply, sizeof reply);
	assert_true(length > 4);
	if (memcmp(reply, "220 ", 4) == 0)
		return socket;
	assert_memory_equal(reply, "421 ", 4);
	if (!fake_is_closed(socket)) {
		fake_peer_close(socket);
		play(socket);
	}
	assert_true(fake_is_closed(socket));
	return -1;
}

static void end_by_quit(int socket)
{
	assert_int_equal(fake_peer_write(socket, "QUIT\r\n", 6), 6);
	play(socket);
}

static void end_by_leaving(int socket)
{
	fake_peer_close(socket);
	play(socket);
}

static void end_by_idleness(int socket)
{
	(void)socket;
	fake_advance((SECONDS + 1) * SECOND_US);
}

static void places_are_free_again(void **state)
{
	static void (*const ends[])(int socket) = {end_by_quit, end_by_leaving, end_by_idleness};
	int sockets[PLACES];
	(void)state;

	for (size_t life = 0; life < 2 * CLASSES * COUNT_OF(ends); life++) {
		size_t class = life % CLASSES;

		for (size_t i = 0; i < PLACES; i++) {
			sockets[i] = connect_from(class);
			assert_true(sockets[i] >= 0);
			assert_int_equal(sessions_in(class), i + 1);
		}
		assert_int_equal(connect_from(class), -1);
		assert_int_equal(sessions_in(class), PLACES);
		for (size_t i = 0; i < PLACES; i++) {
			if (!fake_is_closed(sockets[i]))
				ends[life / CLASSES % COUNT_OF(ends)](sockets[i]);
			if (!fake_is_closed(sockets[i]))
				end_by_leaving(sockets[i]);
			assert_true(fake_is_closed(sockets[i]));
		}
		for (size_t other = 0; other < CLASSES; other++)
			assert_int_equal(sessions_in(other), 0);
	}
}

static void a_full_class_takes_no_place_of_another(void **state)
{
	int sockets[CLASSES * PLACES];
	(void)state;

	for (size_t i = 0; i < CLASSES * PLACES; i++) {
		sockets[i] = connect_from(i / PLACES);
		assert_true(sockets[i] >= 0);
	}
	for (size_t class = 0; class < CLASSES; class ++) {
		assert_int_equal(connect_from(class), -1);
		assert_int_equal(sessions_in(class), PLACES);
	}
	for (size_t i = 0; i < CLASSES * PLACES; i++) {
		end_by_quit(sockets[i]);
		if (!fake_is_closed(sockets[i]))
			end_by_leaving(sockets[i]);
		assert_int_equal(sessions_in(i / PLACES), PLACES - 1 - i % PLACES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(places_are_free_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_class_takes_no_place_of_another, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
