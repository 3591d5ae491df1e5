// SPDX-License-Identifier: ISC
/* Several threads, each with a store of its own, on one mailbox that none of them finds made. */
#include "mailstore/internal.h"
#include "mailstore/maildir.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS = 6, ROUNDS = 40, GROUP = 4 };

static char root[] = "/dev/shm/test_mailstore.XXXXXX";
static const unsigned char digest[DECODE_DIGEST_SIZE] = {1, 2, 3};

static struct mailstore *new_store(void)
{
	char path[100];

	snprintf(path, sizeof path, "%s/%%d/%%u", root);
	return mailstore_maildir_new(
		&(struct mailstore_maildir_settings){.path = path, .host = "mx.test"});
}

static struct mailstore_append append_of(const char *id)
{
	static const struct str text = STR("Subject: hello\r\n\r\nhello\r\n");

	return (struct mailstore_append){
		.place = {STR("ann@a.test"), STR("Lists/dev"), str_from(id), digest},
		.content = {.bytes = text, .file = -1, .size = text.length},
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@a.test"),
	};
}

static size_t count_copies(struct mailstore *store, const struct mailstore_place *place)
{
	struct arena *arena = arena_new();
	struct mailstore_found *found;
	size_t count;
	int error;

	do /* while others do not let the folder rest, it is not known */
		error = mailstore_find(store, place, arena, &found, &count);
	while (error == -EAGAIN);
	if (error != 0)
		count = SIZE_MAX;
	arena_free(arena);
	return count;
}

/* One message of each group is removed again. The number of what went wrong. */
static void *work(void *context)
{
	struct mailstore *store = new_store();
	uintptr_t wrong = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		struct mailstore_append appends[GROUP];
		char ids[GROUP][40];

		for (size_t i = 0; i < GROUP; i++) {
			snprintf(ids[i], sizeof ids[i], "<%zu.%zu.%zu@x>", *(size_t *)context,
				 round, i);
			appends[i] = append_of(ids[i]);
			appends[i].flags = i % 2 == 0 ? 0 : MAILSTORE_SEEN;
		}
		mailstore_append(store, appends, GROUP, NULL);
		for (size_t i = 0; i < GROUP; i++)
			wrong += appends[i].verdict.class != MAIL_OK ||
				 count_copies(store, &appends[i].place) != 1;
		wrong += mailstore_remove(store, &appends[0].place, appends[0].copy) != 0;
		wrong += count_copies(store, &appends[0].place) != 0;
	}
	mailstore_free(store);
	return (void *)wrong;
}

static void threads_share_a_mailbox(void **state)
{
	pthread_t threads[THREADS];
	size_t numbers[THREADS];
	struct mailstore *store;

	(void)state;
	for (size_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	store = new_store();
	for (size_t i = 0; i < THREADS * ROUNDS * GROUP; i++) {
		char id[40];
		struct mailstore_append append;

		snprintf(id, sizeof id, "<%zu.%zu.%zu@x>", i / (ROUNDS * (size_t)GROUP),
			 i / GROUP % ROUNDS, i % GROUP);
		append = append_of(id);
		assert_int_equal(count_copies(store, &append.place), i % GROUP != 0);
	}
	mailstore_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_mailbox)};
	int failed;

	umask(077);
	if (mkdtemp(root) == NULL)
		return EXIT_FAILURE;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(root);
	return failed;
}
