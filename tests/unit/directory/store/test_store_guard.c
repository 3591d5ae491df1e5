// SPDX-License-Identifier: ISC
/* A store that is held while it has not the data that were seen. */
#include "directory/store/guard/guard.h"
#include "memory_store.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static unsigned syncs;

int __real_os_file_sync(int file);
int __wrap_os_file_sync(int file);

int __wrap_os_file_sync(int file)
{
	syncs++;
	return __real_os_file_sync(file);
}

struct scene {
	struct os_loop *loop;
	struct memory_store *inner;
	struct directory_store *store;
	FILE *memory;
	char answer[40];
};

static void begin(struct scene *scene)
{
	*scene = (struct scene){.loop = os_loop_new(), .memory = tmpfile()};
	assert_non_null(scene->memory);
}

static void start(struct scene *scene, struct memory_store *inner)
{
	struct store_guard_memory seen;

	assert_int_equal(store_guard_read(fileno(scene->memory), "/data/file", &seen), 0);
	scene->inner = inner;
	scene->store = store_guard_new(scene->loop, &inner->base, fileno(scene->memory),
				       "/data/file", &seen);
}

static void fill(struct scene *scene)
{
	memory_store_put(scene->inner, "domain d.test|kind local|service maildir");
	memory_store_put(scene->inner, "address ann@d.test|kind mailbox");
	memory_store_put(scene->inner, "address bob@d.test|kind mailbox");
}

static void stop(struct scene *scene)
{
	scene->store->operations->free(scene->store);
}

static void end(struct scene *scene)
{
	stop(scene);
	os_loop_free(scene->loop);
	fclose(scene->memory);
}

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	struct scene *scene = context;

	(void)version;
	snprintf(scene->answer, sizeof scene->answer, "%s",
		 error == -ENOTCONN   ? "later"
		 : error != 0         ? "error"
		 : records[0] == NULL ? "none"
				      : "val");
}

static void changed(void *context, int error, const bool *existed, uint64_t version)
{
	struct scene *scene = context;

	(void)existed;
	(void)version;
	snprintf(scene->answer, sizeof scene->answer, "%s",
		 error == 0        ? "ok"
		 : error == -EBUSY ? "held"
				   : "error");
}

static const char *get(struct scene *scene, const char *address)
{
	struct directory_key key = {DIRECTORY_ADDRESS, str_from(address)};

	strcpy(scene->answer, "nothing");
	scene->store->operations->get(scene->store, &key, 1, got, scene);
	return scene->answer;
}

static const char *removed(struct scene *scene, const char *address)
{
	struct directory_change change = {true, {{DIRECTORY_ADDRESS, str_from(address)}, NULL, 0}};

	scene->store->operations->change(scene->store, &change, 1, changed, scene);
	return scene->answer;
}

static void assert_held(struct scene *scene)
{
	assert_false(scene->store->is_up);
	assert_string_equal(get(scene, "ann@d.test"), "later");
	assert_string_equal(removed(scene, "ann@d.test"), "held");
}

static void other_data_are_held_until_they_are_accepted(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	assert_string_equal(get(&scene, "ann@d.test"), "none"); /* a fresh one */
	fill(&scene);
	memory_store_replace(scene.inner, "memory-2");
	assert_held(&scene);
	memory_store_put(scene.inner, "address carl@d.test|kind mailbox");
	assert_held(&scene);
	scene.store->operations->accept(scene.store);
	assert_true(scene.store->is_up);
	assert_string_equal(get(&scene, "ann@d.test"), "none");
	assert_string_equal(get(&scene, "carl@d.test"), "val");
	assert_string_equal(scene.store->identity, "memory-2.1");
	end(&scene);
}

static void they_are_held_after_a_restart(void **state)
{
	struct scene scene;
	struct memory_store *other = memory_store_new(NULL);

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	stop(&scene);
	snprintf(other->base.identity, sizeof other->base.identity, "memory-2");
	scene.inner = other;
	fill(&scene);
	fill(&scene);
	start(&scene, other); /* with as many, and of a later version */
	assert_held(&scene);
	stop(&scene);
	scene.inner = memory_store_new(NULL);
	fill(&scene);
	scene.inner->base.version = 2; /* of the same identity, with as many */
	start(&scene, scene.inner);
	assert_held(&scene);
	memory_store_put(scene.inner, "address bob@d.test|kind mailbox");
	assert_string_equal(get(&scene, "ann@d.test"), "val");
	end(&scene);
}

static void what_vanishes_is_held_and_what_is_removed_here_is_not(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	assert_string_equal(removed(&scene, "ann@d.test"), "ok");
	assert_string_equal(removed(&scene, "bob@d.test"), "ok");
	assert_string_equal(get(&scene, "ann@d.test"), "none");
	fill(&scene);
	memory_store_remove(scene.inner, "address ann@d.test");
	assert_string_equal(get(&scene, "ann@d.test"), "none");
	memory_store_remove(scene.inner, "address bob@d.test");
	assert_held(&scene);
	memory_store_put(scene.inner, "address bob@d.test|kind mailbox");
	assert_string_equal(get(&scene, "bob@d.test"), "val");
	end(&scene);
}

static void nothing_is_denied_while_it_is_counted(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	scene.inner->is_late = true;
	memory_store_remove(scene.inner, "address ann@d.test");
	memory_store_put(scene.inner, "address ann@d.test|kind mailbox"); /* two changes of three */
	strcpy(scene.answer, "nothing");
	(void)get(&scene, "none@d.test");
	scene.inner->is_late = false;
	assert_string_equal(get(&scene, "none@d.test"), "later");
	assert_string_equal(get(&scene, "bob@d.test"), "val");
	(void)memory_store_answer_all(scene.inner);
	assert_string_equal(get(&scene, "none@d.test"), "none");
	end(&scene);
}

/* Lives for MS milliseconds. */
static void stop_loop(void *context)
{
	os_loop_stop(context);
}

static void pass(struct scene *scene, int64_t ms)
{
	struct os_timer *timer = os_timer_new(scene->loop, stop_loop, scene->loop);

	os_timer_start(timer, ms * 1000);
	os_loop_run(scene->loop);
	os_timer_free(timer);
}

/* All but the domain is removed, and the count that this needs fails. */
static void nothing_is_denied_while_it_cannot_be_counted(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	assert_string_equal(get(&scene, "none@d.test"), "none");
	scene.inner->error = -EIO;
	memory_store_remove(scene.inner, "address ann@d.test");
	memory_store_remove(scene.inner, "address bob@d.test");
	scene.inner->error = 0;
	assert_string_equal(get(&scene, "ann@d.test"), "later");
	pass(&scene, 1200); /* it is counted again, and much is missing */
	assert_held(&scene);
	scene.inner->error = -EIO;
	memory_store_put(scene.inner, "address ann@d.test|kind mailbox");
	memory_store_put(scene.inner, "address bob@d.test|kind mailbox");
	scene.inner->error = 0;
	assert_held(&scene);
	pass(&scene, 1200); /* all is back */
	assert_string_equal(get(&scene, "ann@d.test"), "val");
	assert_string_equal(get(&scene, "none@d.test"), "none");
	end(&scene);
}

static void hear_state(void *context, bool is_up)
{
	struct scene *scene = context;

	snprintf(scene->answer, sizeof scene->answer, "%s", is_up ? "up" : "down");
}

static void what_was_settled_before_is_told(void **state)
{
	static const struct directory_store_handler handler = {.state = hear_state};
	struct scene scene;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	scene.store->handler = &handler;
	scene.store->context = &scene;
	memory_store_set_up(scene.inner, true); /* the first that it says */
	assert_string_equal(scene.answer, "up");
	end(&scene);
}

static void another_place_is_another_store(void **state)
{
	struct scene scene;
	struct store_guard_memory seen;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	assert_int_equal(store_guard_read(fileno(scene.memory), "/data/file", &seen), 0);
	assert_int_equal(seen.count, 3);
	assert_string_equal(seen.identity, "memory-1");
	assert_int_equal(store_guard_read(fileno(scene.memory), "/data/other", &seen), 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(os_file_write(fileno(scene.memory), "      \n", 7, 0), 0);
	assert_int_equal(os_file_truncate(fileno(scene.memory), 7), 0);
	assert_int_equal(store_guard_read(fileno(scene.memory), "/data/file", &seen), 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(store_guard_read(4000, "/data/file", &seen), -EBADF); /* not open */
	end(&scene);
}

/* The count, as the file says. */
static uint64_t count_in(const struct scene *scene)
{
	struct store_guard_memory seen;

	assert_int_equal(store_guard_read(fileno(scene->memory), "/data/file", &seen), 0);
	return seen.count;
}

static void tear(const struct scene *scene, unsigned place)
{
	uint64_t at = place * STORE_GUARD_FILE_SIZE / 2 + 8;

	assert_int_equal(os_file_write(fileno(scene->memory), "9", 1, at), 0);
}

/* A line that is torn leaves the one before it, which was durable. */
static void what_was_counted_outlives_a_torn_line(void **state)
{
	struct scene scene;
	struct store_guard_memory seen;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	assert_int_equal(count_in(&scene), 3);
	memory_store_put(scene.inner, "address carl@d.test|kind mailbox");
	assert_int_equal(count_in(&scene), 4); /* in the other place */
	assert_int_equal(store_guard_read(fileno(scene.memory), "/data/file", &seen), 0);
	tear(&scene, seen.kept);
	assert_int_equal(count_in(&scene), 3);
	tear(&scene, 1 - seen.kept);
	assert_int_equal(count_in(&scene), 0);
	end(&scene);
}

/* Each change is remembered without a sync, unless all are counted; nothing of it may be lost once
 * it has served to hold other data, or at the end. */
static void what_was_seen_is_durable_before_it_holds(void **state)
{
	struct scene scene;
	uint64_t version;

	(void)state;
	begin(&scene);
	start(&scene, memory_store_new(NULL));
	fill(&scene);
	for (char text[] = "address a@d.test|kind mailbox"; text[8] <= 'z'; text[8]++)
		memory_store_put(scene.inner, text);
	syncs = 0;
	version = scene.inner->base.version;
	memory_store_put(scene.inner, "address other@d.test|kind mailbox");
	assert_int_equal(syncs, 0);
	scene.inner->base.version = version; /* a copy of before */
	memory_store_set_up(scene.inner, false);
	memory_store_set_up(scene.inner, true);
	assert_held(&scene);
	assert_int_equal(syncs, 1);
	memory_store_put(scene.inner, "address other@d.test|kind mailbox");
	assert_true(scene.store->is_up);
	memory_store_put(scene.inner, "address another@d.test|kind mailbox");
	syncs = 0;
	stop(&scene);
	assert_int_equal(syncs, 1);
	os_loop_free(scene.loop);
	fclose(scene.memory);
}

/* The line of a release that had one. */
static void an_older_line_is_read(void **state)
{
	static const char line[] = "seen 00000000000000000004 00000000000000000003 0000000000 "
				   "231202982fb1b4bd memory-1 f92b7254e57d69e6\n";
	struct scene scene;

	(void)state;
	begin(&scene);
	assert_int_equal(os_file_write(fileno(scene.memory), line, sizeof line - 1, 0), 0);
	assert_int_equal(count_in(&scene), 3);
	start(&scene, memory_store_new(NULL));
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_data_are_held_until_they_are_accepted),
		cmocka_unit_test(they_are_held_after_a_restart),
		cmocka_unit_test(what_vanishes_is_held_and_what_is_removed_here_is_not),
		cmocka_unit_test(nothing_is_denied_while_it_is_counted),
		cmocka_unit_test(nothing_is_denied_while_it_cannot_be_counted),
		cmocka_unit_test(what_was_settled_before_is_told),
		cmocka_unit_test(another_place_is_another_store),
		cmocka_unit_test(what_was_counted_outlives_a_torn_line),
		cmocka_unit_test(what_was_seen_is_durable_before_it_holds),
		cmocka_unit_test(an_older_line_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
