// SPDX-License-Identifier: ISC
/* Several threads, each with a store of its own, on one mailbox that none of them finds made; and a
 * reader that flags a message while its folder is listed. */
#include "filing/mailstore/maildir.h"
#include "filing/mailstore/maildir/internal.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
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
		.location = {STR("ann@a.test"), STR("Lists/dev"), str_from(id), digest},
		.content = {.bytes = text, .file = -1, .size = text.length},
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@a.test"),
	};
}

static size_t count_copies(struct mailstore *store, const struct mailstore_location *location)
{
	struct arena *arena = arena_new();
	struct mailstore_found *found;
	size_t count;
	int error;

	do /* while others do not let the folder rest, it is not known */
		error = mailstore_find(store, location, arena, &found, &count);
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
				 count_copies(store, &appends[i].location) != 1;
		wrong += mailstore_remove(store, &appends[0].location, appends[0].copy) != 0;
		wrong += count_copies(store, &appends[0].location) != 0;
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
		assert_int_equal(count_copies(store, &append.location), i % GROUP != 0);
	}
	mailstore_free(store);
}

struct reader {
	const char *folder;
	size_t listed;
};

/* Flags the first message that is listed. */
static int read_one(void *context, const char *box, const char *name)
{
	struct reader *reader = context;
	char from[200];
	char to[200];

	snprintf(from, sizeof from, "%s/%s/%s", reader->folder, box, name);
	snprintf(to, sizeof to, "%s/cur/1.mx:2,S", reader->folder);
	if (reader->listed++ == 0)
		assert_int_equal(rename(from, to), 0);
	else
		assert_string_equal(name, "1.mx:2,S");
	return 0;
}

static void what_is_flagged_meanwhile_is_listed_again(void **state)
{
	static const char *const boxes[] = {"", "/new", "/cur"};
	static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char folder[100];
	char path[200];
	struct reader reader = {.folder = folder};

	(void)state;
	snprintf(folder, sizeof folder, "%s/read", root);
	for (size_t i = 0; i < COUNT_OF(boxes); i++) {
		snprintf(path, sizeof path, "%s%s", folder, boxes[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof path, "%s/cur/1.mx:2,", folder);
	assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
	snprintf(path, sizeof path, "%s/cur", folder);
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	assert_int_equal(mailstore_maildir_list(folder, read_one, &reader), 0);
	assert_true(reader.listed > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_a_mailbox),
		cmocka_unit_test(what_is_flagged_meanwhile_is_listed_again),
	};
	int failed;

	umask(077);
	if (mkdtemp(root) == NULL)
		return EXIT_FAILURE;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(root);
	return failed;
}
