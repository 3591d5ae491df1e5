// SPDX-License-Identifier: ISC
/* The directory's connections between machines, over TCP on the loopback interface. Time
 * passes a hundred times faster where a test says so: os_timer_start() is this file's. */
#include "base/timestamp.h"
#include "directory/client/dialer.h"
#include "directory/server/acceptor.h"
#include "directory/wire/transport_acceptor.h"
#include "directory/server/server.h"
#include "loop_signer.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/tls/certificates.h"
#include "unit/tls/tls_file_context.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCEPTED_MAX = 8, DIALS_MAX = 8 };

static const int64_t TEST_US = 20 * SECOND_US;

static char directory[SCRATCH_SIZE];
static const char *readers[] = {"mx1.example.org", "mx2.example.org"};
static const char *changers[] = {"changer.example.org"};
static const struct config_directory config = {
	.readers = readers, .reader_count = 2, .changers = changers, .changer_count = 1};

static struct os_loop *loop;
static int64_t haste;

struct accepted {
	struct directory_transport transport;
	unsigned roles;
	char peer[128];
};

static struct accepted accepted[ACCEPTED_MAX];
static size_t accepted_count;

struct dialled {
	bool is_done;
	int error;
	char reason[200];
	struct directory_transport transport;
};

struct scene {
	int listening;
	char server[64]; /* "localhost:PORT" as an address */
	struct loop_signer *signer;
	struct tls_context *server_tls;
	struct tls_context *client_tls;
	struct directory_acceptor admission;
	struct transport_acceptor *acceptor;
	struct directory_tls_dialer *dialer;
	struct dialled dialled[DIALS_MAX];
};

void start_really(struct os_timer *timer, int64_t delay_us) __asm__("__real_os_timer_start");
void start_hastily(struct os_timer *timer, int64_t delay_us) __asm__("__wrap_os_timer_start");

void start_hastily(struct os_timer *timer, int64_t delay_us)
{
	start_really(timer, delay_us / haste);
}

/* The server speaks first. */
static void on_accepted(void *context, const struct directory_transport *transport, unsigned roles,
			const char *peer)
{
	struct accepted *entry = &accepted[accepted_count++];

	(void)context;
	assert_true(accepted_count <= ACCEPTED_MAX);
	entry->transport = *transport;
	entry->roles = roles;
	snprintf(entry->peer, sizeof entry->peer, "%s", peer);
	assert_int_equal(transport->write(transport->state, "hello", 5), 5);
}

static void on_dialled(void *context, int error, const char *reason,
		       const struct directory_transport *transport)
{
	struct dialled *dialled = context;

	assert_false(dialled->is_done);
	assert_int_equal(error == 0, transport != NULL);
	dialled->is_done = true;
	dialled->error = error;
	snprintf(dialled->reason, sizeof dialled->reason, "%s", reason);
	if (transport != NULL)
		dialled->transport = *transport;
	os_loop_stop(loop);
}

static void on_too_late(void *context)
{
	(void)context;
	fail();
}

/* Turns until the loop is stopped. */
static void run(void)
{
	struct os_timer *timer = os_timer_new(loop, on_too_late, NULL);

	start_really(timer, TEST_US);
	os_loop_run(loop);
	os_timer_free(timer);
}

static void stop(void *context)
{
	(void)context;
	os_loop_stop(loop);
}

static void run_for(int64_t time_us)
{
	struct os_timer *timer = os_timer_new(loop, stop, NULL);

	start_really(timer, time_us);
	os_loop_run(loop);
	os_timer_free(timer);
}

static struct tls_context *open_tls(struct loop_signer *signer, enum tls_side side,
				    const char *name)
{
	const struct tls_file_context settings = {
		.authority = certificates_path(directory, "authority", "pem"),
		.protocol = DIRECTORY_TLS_PROTOCOL};

	if (name != NULL)
		return loop_signer_context(signer, side, directory, name, DIRECTORY_TLS_PROTOCOL);
	/* one that has no certificate */
	return tls_file_context_open(side, &settings);
}

static void open_scene(struct scene *scene, const char *server, const char *client)
{
	union os_socket_address address;

	*scene = (struct scene){0};
	accepted_count = 0;
	haste = 1;
	loop = os_loop_new();
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	scene->listening = os_socket_listen(&address, 16);
	assert_true(scene->listening >= 0);
	assert_int_equal(os_socket_local_address(scene->listening, &address), 0);
	os_socket_address_format(&address, scene->server);
	scene->signer = loop_signer_new(loop);
	scene->server_tls = open_tls(scene->signer, TLS_SERVER, server);
	scene->client_tls = open_tls(scene->signer, TLS_CLIENT, client);
	scene->admission = (struct directory_acceptor){&config, on_accepted, NULL};
	scene->acceptor = transport_acceptor_new(loop, scene->listening, scene->server_tls,
						 &directory_acceptor_handler, &scene->admission);
	scene->dialer = directory_tls_dialer_new(loop, scene->client_tls, NULL);
}

static struct directory_dial *dial(struct scene *scene, size_t index, const char *server)
{
	const struct directory_dialer *dialer = directory_tls_dialer(scene->dialer);
	struct directory_dial *made =
		dialer->dial(dialer->context, server, NULL, on_dialled,
			     &scene->dialled[index]);

	assert_false(scene->dialled[index].is_done); /* never before it returns */
	return made;
}

static void close_scene(struct scene *scene)
{
	for (size_t i = 0; i < DIALS_MAX; i++)
		if (scene->dialled[i].transport.close != NULL)
			scene->dialled[i].transport.close(scene->dialled[i].transport.state);
	for (size_t i = 0; i < accepted_count; i++)
		accepted[i].transport.close(accepted[i].transport.state);
	transport_acceptor_free(scene->acceptor);
	directory_tls_dialer_free(scene->dialer);
	tls_context_free(scene->server_tls);
	tls_context_free(scene->client_tls);
	loop_signer_free(scene->signer);
	os_socket_close(scene->listening);
	os_loop_free(loop);
}

static void both_sides_know_each_other(void **state)
{
	enum {
		READER = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST,
		CHANGER = READER | DIRECTORY_ROLE_SECRET | DIRECTORY_ROLE_CHANGE
	};
	static const struct {
		const char *server; /* certificates */
		const char *client;
		int error;
		const char *reason;
		unsigned roles;
		const char *peer;
	} cases[] = {
		{"loopback-dir1.example.org", "mx1.example.org", 0, "", READER, "mx1.example.org["},
		{"loopback-dir1.example.org", "common-mx2.example.org", 0, "", READER,
		 "mx2.example.org["},
		{"loopback-dir1.example.org", "changer.example.org", 0, "", CHANGER,
		 "changer.example.org["},
		{"loopback-dir1.example.org", "stranger.example.org", -EACCES, "does not know", 0,
		 ""},
		/* a wildcard of the authority's is no name of ours */
		{"loopback-dir1.example.org", "many-example.org", -EACCES, "does not know", 0, ""},
		{"loopback-dir1.example.org", "foreign-mx1.example.org", -EACCES, "unknown ca", 0,
		 ""},
		{"loopback-dir1.example.org", "expired-mx1.example.org", -EACCES,
		 "certificate expired", 0, ""},
		{"loopback-dir1.example.org", NULL, -EACCES, "certificate required", 0, ""},
		{"mx1.example.org", "mx1.example.org", -EACCES, "IP address mismatch", 0, ""},
		{"foreign-dir1.example.org", "mx1.example.org", -EACCES,
		 "unable to get local issuer", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;
		struct dialled *dialled = &scene.dialled[0];
		char data[16];

		open_scene(&scene, cases[i].server, cases[i].client);
		dial(&scene, 0, scene.server);
		run();
		assert_int_equal(dialled->error, cases[i].error);
		assert_non_null(strstr(dialled->reason, cases[i].reason));
		assert_int_equal(accepted_count, cases[i].error == 0);
		if (cases[i].error == 0) {
			assert_int_equal(accepted[0].roles, cases[i].roles);
			assert_ptr_equal(strstr(accepted[0].peer, cases[i].peer), accepted[0].peer);
			assert_non_null(strstr(accepted[0].peer, "[127.0.0.1:"));
			assert_int_equal(dialled->transport.read(dialled->transport.state, data,
								 sizeof data),
					 5);
			assert_memory_equal(data, "hello", 5);
			assert_int_equal(dialled->transport.read(dialled->transport.state, data,
								 sizeof data),
					 -EAGAIN);
			assert_int_equal(dialled->transport.wants(dialled->transport.state, false),
					 OS_WATCH_READ);
		}
		close_scene(&scene);
	}
}

static void who_is_not_there_is_told(void **state)
{
	static const struct {
		const char *server;
		int error;
		const char *reason;
	} cases[] = {
		{"127.0.0.1:1", -ECONNREFUSED, "127.0.0.1: Connection refused"},
		{"[::1]:1", -ECONNREFUSED, "::1: Connection refused"},
		{"dir1.example.org:7071", -EHOSTUNREACH, "names cannot be looked up"},
		{"127.0.0.1", -EINVAL, "HOST:PORT"},
		{"127.0.0.1:0", -EINVAL, "HOST:PORT"},
		{"127.0.0.1:65536", -EINVAL, "HOST:PORT"},
		{":7071", -EINVAL, "HOST:PORT"},
		{"", -EINVAL, "HOST:PORT"},
	};
	struct scene scene;

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		dial(&scene, i, cases[i].server);
		run();
		assert_int_equal(scene.dialled[i].error, cases[i].error);
		assert_non_null(strstr(scene.dialled[i].reason, cases[i].reason));
	}
	close_scene(&scene);
}

static void a_server_that_says_nothing_is_given_up(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	transport_acceptor_free(scene.acceptor);
	haste = 100;
	scene.acceptor = NULL; /* the kernel takes the connection, nobody else does */
	dial(&scene, 0, scene.server);
	run();
	assert_int_equal(scene.dialled[0].error, -ETIMEDOUT);
	assert_non_null(strstr(scene.dialled[0].reason, "does not speak in time"));
	close_scene(&scene);
}

/* A client of the test's own. */
static int connect_to(const struct scene *scene)
{
	union os_socket_address address;
	int client;

	assert_int_equal(os_socket_local_address(scene->listening, &address), 0);
	client = os_socket_connect(&address);
	assert_true(client >= 0);
	return client;
}

static void a_slow_handshake_ends(void **state)
{
	struct scene scene;
	int64_t begin_us;
	int client;
	char byte;
	ssize_t count;

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	haste = 10;
	client = connect_to(&scene);
	run_for(SECOND_US / 50);
	assert_int_equal(os_socket_write(client, "\x16\x03\x01", 3), 3);
	assert_int_equal(os_socket_read(client, &byte, 1), -EAGAIN);
	begin_us = os_clock_monotonic_us();
	do {
		run_for(SECOND_US / 100);
		count = os_socket_read(client, &byte, 1);
	} while (count == -EAGAIN && os_clock_monotonic_us() - begin_us < TEST_US);
	assert_int_equal(count, 0);
	os_socket_close(client);
	/* others were not kept waiting */
	haste = 1;
	dial(&scene, 0, scene.server);
	run();
	assert_int_equal(scene.dialled[0].error, 0);
	close_scene(&scene);
}

/* Nobody keeps others out by handshakes that he does not go on with. */
static void the_oldest_handshake_gives_way(void **state)
{
	static int clients[TRANSPORT_HANDSHAKES_MAX];
	struct scene scene;
	char byte;

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	for (size_t i = 0; i < COUNT_OF(clients); i++) {
		clients[i] = connect_to(&scene);
		run_for(0);
	}
	run_for(SECOND_US / 20);
	assert_int_equal(os_socket_read(clients[0], &byte, 1), -EAGAIN);
	dial(&scene, 0, scene.server);
	run();
	assert_int_equal(scene.dialled[0].error, 0);
	assert_int_equal(accepted_count, 1);
	assert_int_equal(os_socket_read(clients[0], &byte, 1), 0);
	assert_int_equal(os_socket_read(clients[1], &byte, 1), -EAGAIN);
	for (size_t i = 0; i < COUNT_OF(clients); i++)
		os_socket_close(clients[i]);
	close_scene(&scene);
}

static void dials_are_cancelled(void **state)
{
	struct scene scene;
	const struct directory_dialer *dialer;

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	dialer = directory_tls_dialer(scene.dialer);
	dialer->cancel(dial(&scene, 0, scene.server)); /* before it began */
	dialer->cancel(dial(&scene, 1, "127.0.0.1"));
	for (size_t i = 2; i < 6; i++) { /* at some time in it */
		struct directory_dial *made = dial(&scene, i, scene.server);

		run_for((int64_t)(i - 2) * 1000);
		if (!scene.dialled[i].is_done)
			dialer->cancel(made);
	}
	run_for(SECOND_US / 10);
	assert_false(scene.dialled[0].is_done);
	assert_false(scene.dialled[1].is_done);
	/* a new configuration */
	dial(&scene, 6, scene.server);
	directory_tls_dialer_configure(scene.dialer, scene.client_tls);
	transport_acceptor_configure(scene.acceptor, scene.server_tls);
	run();
	assert_int_equal(scene.dialled[6].error, 0);
	close_scene(&scene);
}

static void who_has_no_certificate_yet_waits_for_it(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	directory_tls_dialer_configure(scene.dialer, NULL);
	dial(&scene, 0, scene.server);
	run_for(SECOND_US / 50);
	assert_false(scene.dialled[0].is_done);
	directory_tls_dialer_configure(scene.dialer, scene.client_tls);
	run();
	assert_int_equal(scene.dialled[0].error, 0);
	/* not for ever */
	directory_tls_dialer_configure(scene.dialer, NULL);
	haste = 100;
	dial(&scene, 1, scene.server);
	run();
	assert_int_equal(scene.dialled[1].error, -EACCES);
	assert_non_null(strstr(scene.dialled[1].reason, "no certificate of our own"));
	close_scene(&scene);
}

static void take_certificate_away(void *context)
{
	directory_tls_dialer_configure(context, NULL);
}

/* A reload may take the servers on other machines away while one of them is connected to. */
static void who_loses_the_certificate_fails(void **state)
{
	struct scene scene;
	struct os_task task = {.call = take_certificate_away};
	int64_t begin_us = os_clock_monotonic_us();

	(void)state;
	open_scene(&scene, "loopback-dir1.example.org", "mx1.example.org");
	task.context = scene.dialer;
	os_loop_defer(loop, &task); /* the last that is deferred is the first that runs */
	dial(&scene, 0, scene.server);
	run();
	assert_true(os_clock_monotonic_us() - begin_us < 4 * SECOND_US); /* it did not wait */
	assert_int_equal(scene.dialled[0].error, -EACCES);
	assert_non_null(strstr(scene.dialled[0].reason, "no certificate of our own"));
	assert_int_equal(accepted_count, 0);
	close_scene(&scene);
}

static int make_files(void **state)
{
	(void)state;
	return certificates_make(directory,
				 "mx1.example.org loopback-dir1.example.org common-mx2.example.org "
				 "changer.example.org stranger.example.org many-example.org "
				 "foreign-mx1.example.org foreign-dir1.example.org "
				 "expired-mx1.example.org");
}

static int remove_files(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_know_each_other),
		cmocka_unit_test(who_is_not_there_is_told),
		cmocka_unit_test(a_server_that_says_nothing_is_given_up),
		cmocka_unit_test(a_slow_handshake_ends),
		cmocka_unit_test(the_oldest_handshake_gives_way),
		cmocka_unit_test(dials_are_cancelled),
		cmocka_unit_test(who_has_no_certificate_yet_waits_for_it),
		cmocka_unit_test(who_loses_the_certificate_fails),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
