// SPDX-License-Identifier: ISC
/* The store that other tests stand on: it keeps to directory/store/store.h itself. */
#include "memory_store.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

struct heard {
	char text[1000];
};

static void hear(struct heard *heard, const char *format, ...) PRINTF_LIKE(2, 3);

static void hear(struct heard *heard, const char *format, ...)
{
	size_t length = strlen(heard->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(heard->text + length, sizeof heard->text - length, format, arguments);
	va_end(arguments);
}

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	hear(context, "got %d %s %d; ", error,
	     records == NULL      ? "-"
	     : records[0] == NULL ? "none"
				  : "one",
	     (int)version);
}

static void listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	hear(context, "listed %d", error);
	for (size_t i = 0; i < page->count; i++)
		hear(context, " " STR_FORMAT, STR_ARGUMENTS(page->records[i].key.name));
	hear(context, " %d; ", (int)version);
}

static void missed(void *context, int error, const struct directory_key *keys,
		   const uint64_t *versions, size_t count)
{
	hear(context, "missed %d", error);
	for (size_t i = 0; i < count; i++)
		hear(context, " " STR_FORMAT "=%d", STR_ARGUMENTS(keys[i].name), (int)versions[i]);
	hear(context, "; ");
}

static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		hear(context, "new " STR_FORMAT "=%d; ", STR_ARGUMENTS(keys[i].name),
		     (int)versions[i]);
}

static void changed(void *context, int error, const bool *existed, uint64_t version)
{
	hear(context, "changed %d %d %d; ", error, existed != NULL && existed[0], (int)version);
}

static void on_reset(void *context)
{
	hear(context, "reset; ");
}

static void on_state(void *context, bool is_up)
{
	hear(context, "%s; ", is_up ? "up" : "down");
}

static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

static void ask_everything(struct directory_store *store, struct heard *heard)
{
	static const struct directory_key b = {DIRECTORY_USER, {"b", 1}};
	static const struct directory_change removal = {true, {.key = {DIRECTORY_USER, {"b", 1}}}};

	store->operations->get(store, &b, 1, got, heard);
	store->operations->list(store, DIRECTORY_USER, STR(""), STR("a"), 2, listed, heard);
	store->operations->list(store, DIRECTORY_USER, STR("c"), STR(""), 2, listed, heard);
	store->operations->change(store, &removal, 1, changed, heard);
	store->operations->get(store, &b, 1, got, heard);
	store->operations->missed(store, 4, 10, missed, heard);
	store->operations->missed(store, 1, 2, missed, heard);
	store->operations->missed(store, 99, 10, missed, heard);
}

static void answers_are_the_same_at_once_and_late(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct memory_store *store = memory_store_new(NULL);
		struct heard heard = {""};

		memory_store_put(store, "user c1");
		memory_store_put(store, "user b");
		memory_store_put(store, "user a");
		memory_store_put(store, "user c");
		memory_store_put(store, "server a|service x");
		store->base.handler = &handler;
		store->base.context = &heard;
		store->is_late = is_late;
		ask_everything(&store->base, &heard);
		assert_int_equal(memory_store_answer_all(store), is_late ? 8 : 0);
		assert_string_equal(heard.text,
				    "got 0 one 5; listed 0 b c 5; listed 0 c c1 5; new b=6; "
				    "changed 0 1 6; got 0 none 6; missed 0 a=5 b=6; missed -116; "
				    "missed -116; ");
		memory_store_free(store);
	}
}

static void it_fails_and_is_replaced(void **state)
{
	struct memory_store *store = memory_store_new(NULL);
	struct heard heard = {""};
	struct directory_key a = {DIRECTORY_USER, STR("a")};

	(void)state;
	memory_store_put(store, "user a");
	store->base.handler = &handler;
	store->base.context = &heard;
	memory_store_set_up(store, false);
	store->base.operations->get(&store->base, &a, 1, got, &heard);
	memory_store_set_up(store, true);
	memory_store_remove(store, "user a");
	memory_store_replace(store, "memory-2");
	memory_store_put(store, "user a|name A");
	store->base.operations->get(&store->base, &a, 1, got, &heard);
	assert_string_equal(heard.text, "down; got -107 - 1; up; new a=2; reset; new a=1; "
					"got 0 one 1; ");
	assert_string_equal(store->base.identity, "memory-2");
	store->base.operations->free(&store->base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_the_same_at_once_and_late),
		cmocka_unit_test(it_fails_and_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
