// SPDX-License-Identifier: ISC
/* The places of sessions with servers in their classes of hosts: none is lost, or given twice. */
#include "deliver/remote/session/places.h"
#include "test.h"
#include "unit/config/config_outcome.h"
#include "unit/limit/limit_scene.h"
#include <stdio.h>

enum { OWN, OTHER, PROCESSES };

static const char CLASSES[] = "hostname = \"mx.test\"\n"
			      "class \"idle.test\" { queue = 2 refuse = 9 count = all }\n"
			      "class \"192.0.2.0/24\" { queue = 2 refuse = 9 }\n"
			      "class \"*\" { queue = 1 refuse = 9 }\n";

struct scene {
	struct limit_scene limits;
	struct limit_classes *classes;
	struct config *config;
	struct remote_places *places;
};

static struct scene begin(void)
{
	struct scene scene = {.config = config_of(CLASSES), .places = remote_places_new()};

	scene.classes = limit_classes_new(scene.config);
	limit_scene_init(&scene.limits, PROCESSES);
	for (size_t i = 0; i < PROCESSES; i++)
		limit_scene_start(&scene.limits, i, scene.classes);
	remote_places_configure(scene.places, scene.config, scene.limits.memories[OWN]);
	return scene;
}

static void end(struct scene *scene)
{
	remote_places_free(scene->places);
	limit_scene_clear(&scene->limits);
	limit_classes_free(scene->classes);
	config_free(scene->config);
}

/* The outgoing sessions of each class. */
static void expect(const struct scene *scene, const char *wanted)
{
	char counts[64];
	size_t length = 0;

	for (size_t i = 0; i < limit_classes_count(scene->classes); i++) {
		struct limit_total total;

		limit_total_of(scene->limits.supervisor, limit_classes_at(scene->classes, i)->key,
			       &total);
		length += (size_t)snprintf(counts + length, sizeof counts - length, "%s%u",
					   i > 0 ? " " : "", (unsigned)total.out);
	}
	assert_string_equal(counts, wanted);
}

static struct dns_server server(const char *host, const char *address)
{
	struct dns_server server = {.host = host};

	assert_true(address[0] == '/' ? os_socket_address_of_path(address, &server.address)
				      : os_socket_address_parse(address, 25, &server.address));
	return server;
}

static bool open_place(struct scene *scene, struct remote_place *place, const char *host,
		       const char *address)
{
	const struct dns_server to = server(host, address);

	return remote_place_open(place, scene->places, &to, false);
}

static void a_session_is_counted_while_it_is_used(void **state)
{
	struct scene scene = begin();
	struct remote_place places[3] = {0};

	(void)state;
	assert_true(open_place(&scene, &places[0], "a.test", "192.0.2.1"));
	assert_true(open_place(&scene, &places[1], "b.test", "192.0.2.2"));
	expect(&scene, "0 2 0");
	assert_false(open_place(&scene, &places[2], "c.test", "192.0.2.3"));
	assert_int_equal(places[2].state, REMOTE_PLACE_NONE);
	remote_place_rest(&places[0]);
	remote_place_rest(&places[0]); /* nothing is given back twice */
	expect(&scene, "0 1 0");
	assert_true(open_place(&scene, &places[2], "c.test", "192.0.2.3"));
	assert_false(remote_place_claim(&places[0], true));
	expect(&scene, "0 2 0");
	remote_place_close(&places[2]);
	assert_true(remote_place_claim(&places[0], false));
	expect(&scene, "0 2 0");
	for (size_t i = 0; i < COUNT_OF(places); i++)
		remote_place_close(&places[i]);
	expect(&scene, "0 0 0");
	remote_place_close(&places[0]);
	end(&scene);
}

static void idle_ones_count_where_the_class_says_so(void **state)
{
	struct scene scene = begin();
	struct remote_place places[2] = {0};
	const struct dns_server idle = server("IDLE.test", "198.51.100.1");
	const struct limit_class *class = remote_places_class(scene.places, &idle);

	(void)state;
	assert_string_equal(class->mask, "idle.test");
	assert_true(open_place(&scene, &places[0], "idle.test", "198.51.100.1"));
	assert_true(open_place(&scene, &places[1], "a.test", "192.0.2.1"));
	assert_false(remote_place_is_spare(&places[0], class));
	remote_place_rest(&places[0]);
	remote_place_rest(&places[1]);
	expect(&scene, "1 0 0");
	assert_true(remote_place_is_spare(&places[0], class));
	assert_false(remote_place_is_spare(&places[1], class));
	assert_false(remote_place_is_wanted(&places[0]));
	limit_set_waiting(scene.limits.counters[OTHER], 0, 1);
	assert_true(remote_place_is_wanted(&places[0]));
	assert_false(remote_place_is_wanted(&places[1]));
	assert_true(remote_place_claim(&places[0], false)); /* it has it all the time */
	expect(&scene, "1 0 0");
	remote_place_close(&places[0]);
	remote_place_close(&places[1]);
	expect(&scene, "0 0 0");
	end(&scene);
}

/* Whose turn it is goes first. */
static void nobody_passes_those_who_wait(void **state)
{
	struct scene scene = begin();
	const struct dns_server to = server("a.test", "192.0.2.1");
	struct remote_place place = {0};
	struct limit_total total;

	(void)state;
	limit_set_waiting(scene.limits.counters[OTHER], 1, 3);
	assert_false(remote_place_open(&place, scene.places, &to, false));
	limit_total_of(scene.limits.supervisor, limit_classes_at(scene.classes, 1)->key, &total);
	assert_int_equal(total.held, 1);
	assert_true(remote_place_open(&place, scene.places, &to, true));
	expect(&scene, "0 1 0");
	remote_place_close(&place);
	end(&scene);
}

static void by_unix_sockets_nothing_is_counted(void **state)
{
	struct scene scene = begin();
	const struct dns_server path = server("/run/lmtp", "/run/lmtp");
	struct remote_place places[3] = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		assert_true(open_place(&scene, &places[i], "/run/lmtp", "/run/lmtp"));
	assert_null(remote_places_class(scene.places, &path));
	expect(&scene, "0 0 0");
	assert_true(remote_place_claim(&places[0], false));
	remote_place_close(&places[0]);
	assert_true(remote_place_open(&places[0], NULL, &path, false));
	end(&scene);
}

/* Also from none and to none; what is open may be more than the new classes allow. */
static void a_reload_counts_anew(void **state)
{
	struct scene scene = begin();
	struct config *none = config_of("hostname = \"mx.test\"\n");
	struct remote_place places[3] = {0};

	(void)state;
	remote_places_configure(scene.places, none, scene.limits.memories[OWN]);
	for (size_t i = 0; i < COUNT_OF(places); i++)
		assert_true(open_place(&scene, &places[i], "a.test", "198.51.100.1"));
	expect(&scene, "0 0 0");
	remote_place_rest(&places[2]);
	remote_places_configure(scene.places, scene.config, scene.limits.memories[OWN]);
	expect(&scene, "0 0 2");
	assert_false(remote_place_claim(&places[2], true));
	remote_places_configure(scene.places, scene.config, NULL);
	assert_true(remote_place_claim(&places[2], false));
	remote_places_configure(scene.places, scene.config, scene.limits.memories[OWN]);
	expect(&scene, "0 0 3");
	for (size_t i = 0; i < COUNT_OF(places); i++)
		remote_place_close(&places[i]);
	expect(&scene, "0 0 0");
	end(&scene);
	config_free(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_counted_while_it_is_used),
		cmocka_unit_test(idle_ones_count_where_the_class_says_so),
		cmocka_unit_test(nobody_passes_those_who_wait),
		cmocka_unit_test(by_unix_sockets_nothing_is_counted),
		cmocka_unit_test(a_reload_counts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
