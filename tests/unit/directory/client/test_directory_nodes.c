// SPDX-License-Identifier: ISC
/* The live copy of the table of nodes, beside a server, and beside a peer word by word. */
#include "client_scene.h"
#include "directory/client/nodes.h"
#include <stdio.h>
#include <string.h>

struct nodes_scene {
	struct client_scene base;
	struct host *host;
	struct directory_nodes *nodes;
	unsigned changes;
};

static void on_changed(void *context)
{
	struct nodes_scene *scene = context;

	scene->changes++;
}

static void open_copy(struct nodes_scene *scene)
{
	static const struct directory_nodes_handler handler = {on_changed};

	scene->nodes = directory_nodes_new(scene->base.loop, scene->host->server, &handler, scene);
	assert_false(directory_nodes_is_known(scene->nodes));
	assert_int_equal(directory_nodes_count(scene->nodes), 0);
	assert_null(directory_nodes_find(scene->nodes, STR("a1")));
}

/* KIND: 'r' a real server, 'p' a peer. */
static void open_nodes_scene(struct nodes_scene *scene, const char *kind)
{
	scene_open(&scene->base, kind);
	directory_client_free(scene->base.client); /* nobody else is connected */
	scene->base.client = NULL;
	scene->host = &scene->base.hosts[0];
	scene->host->roles = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_NODES;
	scene->changes = 0;
}

static void close_nodes_scene(struct nodes_scene *scene)
{
	directory_nodes_free(scene->nodes);
	scene_close(&scene->base);
}

/* Turns until CHANGED was called so often in all, and a little longer. */
static void expect_changes(struct nodes_scene *scene, unsigned changes)
{
	for (unsigned i = 0; i < 500 && scene->changes < changes; i++)
		scene_turn(&scene->base, SECOND_US / 100);
	scene_turn(&scene->base, SECOND_US / 20);
	assert_int_equal(scene->changes, changes);
	assert_int_equal(directory_nodes_is_known(scene->nodes), changes > 0);
}

/* "NAME ADDRESS WEIGHT STATE GROUP..." of each node, with '|' between. */
static void expect_nodes(const struct nodes_scene *scene, const char *expected)
{
	static const char *const states[] = {"active", "draining", "away"};
	struct buffer text CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < directory_nodes_count(scene->nodes); i++) {
		const struct directory_node *node = directory_nodes_at(scene->nodes, i);

		assert_ptr_equal(directory_nodes_find(scene->nodes, str_from(node->name)), node);
		buffer_append_format(&text, "%s%s %s %u %s", i > 0 ? "|" : "", node->name,
				     node->address, node->weight, states[node->state]);
		for (size_t k = 0; k < node->group_count; k++)
			buffer_append_format(&text, " %s", node->groups[k]);
	}
	buffer_append_byte(&text, '\0');
	assert_string_equal(buffer_data(&text), expected);
}

/* --- beside a server --- */

static void the_table_is_followed(void **state)
{
	struct nodes_scene scene;
	struct memory_store *store;
	size_t listed;

	(void)state;
	open_nodes_scene(&scene, "r");
	store = scene.host->store;
	open_copy(&scene);
	expect_changes(&scene, 1);
	expect_nodes(&scene, "");
	memory_store_put(store, "node b2|address b.test:627|group core|group out|weight 7"
				"|state away");
	expect_changes(&scene, 2);
	expect_nodes(&scene, "b2 b.test:627 7 away core out");
	memory_store_put(store, "node a1|address a.test:627|state draining");
	expect_changes(&scene, 3);
	expect_nodes(&scene, "a1 a.test:627 1 draining|b2 b.test:627 7 away core out");
	assert_null(directory_nodes_find(scene.nodes, STR("a")));
	assert_null(directory_nodes_find(scene.nodes, STR("a11")));
	assert_true(directory_node_is_in(directory_nodes_at(scene.nodes, 1), STR("out")));
	assert_false(directory_node_is_in(directory_nodes_at(scene.nodes, 1), STR("ou")));
	assert_false(directory_node_is_in(directory_nodes_at(scene.nodes, 0), STR("out")));
	/* who may not list addresses is told once, after connecting, that anything may be stale */
	memory_store_put(store, "address bob@example.org|kind mailbox");
	expect_changes(&scene, 3);
	listed = store->listed;
	memory_store_put(store, "address cat@example.org|kind mailbox");
	expect_changes(&scene, 3);
	assert_int_equal(store->listed, listed);
	/* a change that changes nothing */
	memory_store_put(store, "node a1|address a.test:627|state draining");
	expect_changes(&scene, 3);
	assert_true(store->listed > listed);
	memory_store_remove(store, "node b2");
	expect_changes(&scene, 4);
	expect_nodes(&scene, "a1 a.test:627 1 draining");
	memory_store_replace(store, "other");
	expect_changes(&scene, 5);
	expect_nodes(&scene, "");
	close_nodes_scene(&scene);
}

static void the_last_copy_stays_in_force(void **state)
{
	struct nodes_scene scene;
	struct memory_store *store;

	(void)state;
	open_nodes_scene(&scene, "r");
	store = scene.host->store;
	host_stop(scene.host);
	open_copy(&scene);
	expect_changes(&scene, 0); /* nobody has answered yet */
	memory_store_put(store, "node a1|address a.test:627");
	host_return(scene.host);
	expect_changes(&scene, 1);
	host_stop(scene.host);
	memory_store_put(store, "node a1|address b.test:627");
	scene_turn(&scene.base, SECOND_US / 5);
	expect_nodes(&scene, "a1 a.test:627 1 active");
	host_return(scene.host);
	expect_changes(&scene, 2);
	expect_nodes(&scene, "a1 b.test:627 1 active");
	memory_store_set_up(store, false);
	expect_changes(&scene, 2);
	expect_nodes(&scene, "a1 b.test:627 1 active");
	memory_store_put(store, "node a1|address c.test:627");
	memory_store_set_up(store, true);
	expect_changes(&scene, 3);
	expect_nodes(&scene, "a1 c.test:627 1 active");
	close_nodes_scene(&scene);
}

static void data_that_come_later_are_read(void **state)
{
	struct nodes_scene scene;
	struct memory_store *store;

	(void)state;
	open_nodes_scene(&scene, "r");
	store = scene.host->store;
	memory_store_put(store, "node a1|address a.test:627");
	memory_store_set_up(store, false);
	open_copy(&scene);
	expect_changes(&scene, 0);
	memory_store_set_up(store, true);
	expect_changes(&scene, 1);
	expect_nodes(&scene, "a1 a.test:627 1 active");
	close_nodes_scene(&scene);
}

static void a_thousand_are_copied(void **state)
{
	struct nodes_scene scene;
	char text[60];

	(void)state;
	open_nodes_scene(&scene, "r");
	for (unsigned i = 0; i <= DIRECTORY_NODES_MAX; i++) {
		snprintf(text, sizeof text, "node n%u|address a.test:%u|group core", i, i + 1);
		memory_store_put(scene.host->store, text);
	}
	open_copy(&scene);
	expect_changes(&scene, 1);
	assert_int_equal(directory_nodes_count(scene.nodes), DIRECTORY_NODES_MAX);
	for (unsigned i = 0; i < DIRECTORY_NODES_MAX; i++) { /* n999 is the last of 1001 */
		const struct directory_node *node;

		snprintf(text, sizeof text, "n%u", i == 999 ? 1000 : i);
		node = directory_nodes_find(scene.nodes, str_from(text));
		assert_non_null(node);
		assert_string_equal(node->name, text);
	}
	assert_null(directory_nodes_find(scene.nodes, STR("n999")));
	close_nodes_scene(&scene);
}

/* --- beside a peer --- */

/* Until the list with the number ID is requested. */
static struct directory_peer *peer_of_list(struct nodes_scene *scene, unsigned id)
{
	struct directory_peer *peer = host_greet(scene->host, "hello|1|id|1|read|nodes");
	char list[40];

	assert_string_equal(directory_peer_hear(peer), "watch");
	assert_string_equal(directory_peer_hear(peer), "since|id|1");
	snprintf(list, sizeof list, "list|%u|node|||1000", id);
	assert_string_equal(directory_peer_hear(peer), list);
	return peer;
}

static void a_change_amid_a_list_is_not_missed(void **state)
{
	struct nodes_scene scene;
	struct directory_peer *peer;

	(void)state;
	open_nodes_scene(&scene, "p");
	open_copy(&scene);
	peer = peer_of_list(&scene, 1);
	directory_peer_say(peer, "part|1|= a1|address a.test:1");
	directory_peer_say(peer, "new|2|node|a1");
	directory_peer_say(peer, "new|3|node|a1");
	directory_peer_say(peer, "val|1|0|1|= b2|address b.test:1");
	assert_string_equal(directory_peer_hear(peer), "list|2|node|||1000");
	expect_changes(&scene, 1); /* something is better than nothing */
	directory_peer_say(peer, "new|3|address|ann@example.org");
	directory_peer_say(peer, "val|2|0|3|= a1|address a.test:2|= b2|address b.test:1");
	expect_changes(&scene, 2);
	expect_nodes(&scene, "a1 a.test:2 1 active|b2 b.test:1 1 active");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	/* anything may have changed */
	directory_peer_say(peer, "reset|id|4");
	assert_string_equal(directory_peer_hear(peer), "list|3|node|||1000");
	directory_peer_say(peer, "new|5|node|b2");
	directory_peer_say(peer, "val|3|0|4|= b2|address b.test:1");
	assert_string_equal(directory_peer_hear(peer), "list|4|node|||1000");
	expect_changes(&scene, 3);
	directory_peer_say(peer, "val|4|0|5");
	expect_changes(&scene, 4);
	expect_nodes(&scene, "");
	close_nodes_scene(&scene);
}

static void half_a_list_is_forgotten(void **state)
{
	struct nodes_scene scene;
	struct directory_peer *peer;

	(void)state;
	open_nodes_scene(&scene, "p");
	open_copy(&scene);
	peer = peer_of_list(&scene, 1);
	directory_peer_say(peer, "part|1|= a1|address a.test:1|group core");
	scene_turn(&scene.base, SECOND_US / 20);
	host_hang_up(scene.host);
	peer = peer_of_list(&scene, 1);
	directory_peer_say(peer, "val|1|0|1|= b2|address b.test:1");
	expect_changes(&scene, 1);
	expect_nodes(&scene, "b2 b.test:1 1 active");
	close_nodes_scene(&scene);
}

static void a_list_that_fails_is_repeated(void **state)
{
	struct nodes_scene scene;
	struct directory_peer *peer;

	(void)state;
	open_nodes_scene(&scene, "p");
	open_copy(&scene);
	peer = peer_of_list(&scene, 1);
	directory_peer_say(peer, "err|1|later|not now");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	assert_string_equal(directory_peer_hear(peer), "list|2|node|||1000");
	directory_peer_say(peer, "err|2|denied|not with this role");
	assert_string_equal(directory_peer_hear(peer), "list|3|node|||1000");
	expect_changes(&scene, 0);
	directory_peer_say(peer, "val|3|0|1");
	expect_changes(&scene, 1);
	expect_nodes(&scene, "");
	close_nodes_scene(&scene);
}

/* What no server of this version sends: names are used as those of files. */
static void what_is_no_node_is_left_out(void **state)
{
	static const char list[] =
		"val|1|0|1"
		"|= ..|address a.test:1|= a/b|address a.test:1|= A1|address a.test:1"
		"|= |address a.test:1|= a1|group core|! b1|reason it is malformed"
		"|= z1|address a.test:1|weight 0|state gone|colour red"
		"|= y1|weight 101|address a.test:2|= x1|address a.test:3|weight x"
		"|= w1|address a.test:4|weight 100|state active|group core|group out";
	struct nodes_scene scene;

	(void)state;
	open_nodes_scene(&scene, "p");
	open_copy(&scene);
	directory_peer_say(peer_of_list(&scene, 1), list);
	expect_changes(&scene, 1);
	expect_nodes(&scene, "w1 a.test:4 100 active core out|x1 a.test:3 1 active"
			     "|y1 a.test:2 1 active|z1 a.test:1 1 draining");
	close_nodes_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_followed),
		cmocka_unit_test(the_last_copy_stays_in_force),
		cmocka_unit_test(data_that_come_later_are_read),
		cmocka_unit_test(a_thousand_are_copied),
		cmocka_unit_test(a_change_amid_a_list_is_not_missed),
		cmocka_unit_test(half_a_list_is_forgotten),
		cmocka_unit_test(a_list_that_fails_is_repeated),
		cmocka_unit_test(what_is_no_node_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
