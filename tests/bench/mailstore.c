// SPDX-License-Identifier: ISC
/*
 * bench_mailstore - how many copies a second are appended to a mailbox.
 *
 * usage: bench_mailstore bare DIRECTORY THREADS GROUP SECONDS
 *        bench_mailstore maildir PATH THREADS GROUP SECONDS
 *        bench_mailstore imap PORT THREADS GROUP SECONDS
 *
 * Each thread has a store of its own, and appends groups of messages of 4 KiB to the INBOX of
 * "user@bench.test". "bare": it writes files of that size, and syncs each and, after a group, their
 * directory.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/mailstore/imap.h"
#include "filing/mailstore/maildir.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096, GROUP_MAX = 256, THREADS_MAX = 64 };

static const char *kind;
static const char *place;
static unsigned group;
static int64_t until_us;
static char text[SIZE];

struct thread {
	pthread_t id;
	unsigned number;
	uint64_t count;
	uint64_t failed;
};

static struct mailstore *open_store(void)
{
	struct mailstore_maildir_settings maildir = {.path = place, .host = "bench.test"};
	struct mailstore_imap_settings imap = {
		.host = "127.0.0.1",
		.address = "",
		.port = (uint16_t)strtoul(place, NULL, 10),
		.authorities = "",
		.login = "%a",
		.password = "secret",
		.prefix = "",
		.timeout_s = 30,
	};

	return strcmp(kind, "imap") == 0 ? mailstore_imap_new(&imap)
					 : mailstore_maildir_new(&maildir);
}

static void append_group(struct mailstore *store, struct thread *thread)
{
	static const unsigned char digest[DECODE_DIGEST_SIZE];
	struct mailstore_append appends[GROUP_MAX];
	char ids[GROUP_MAX][40];

	for (unsigned i = 0; i < group; i++) {
		snprintf(ids[i], sizeof ids[i], "<%u.%ju@bench.test>", thread->number,
			 (uintmax_t)thread->count + i);
		appends[i] = (struct mailstore_append){
			.location = {STR("user@bench.test"), STR("INBOX"), str_from(ids[i]),
				     digest},
			.content = {.bytes = {text, SIZE}, .file = -1, .size = SIZE},
			.sender = STR("lisa@example.com"),
			.recipient = STR("user@bench.test"),
		};
	}
	mailstore_append(store, appends, group, NULL);
	for (unsigned i = 0; i < group; i++)
		thread->failed += appends[i].verdict.class != MAIL_OK;
	thread->count += group;
}

static void write_bare(struct thread *thread)
{
	for (unsigned i = 0; i < group; i++) {
		char path[256];
		int file;

		snprintf(path, sizeof path, "%s/%u.%ju", place, thread->number,
			 (uintmax_t)thread->count++);
		file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);
		if (file < 0 || os_file_write(file, text, SIZE, 0) < 0 || os_file_sync(file) < 0)
			thread->failed++;
		os_file_close(file);
	}
	if (os_file_sync_directory(OS_FILE_HERE, place) < 0)
		thread->failed++;
}

static void *work(void *context)
{
	struct thread *thread = context;
	struct mailstore *store = strcmp(kind, "bare") == 0 ? NULL : open_store();

	while (os_clock_monotonic_us() < until_us) {
		if (store == NULL)
			write_bare(thread);
		else
			append_group(store, thread);
	}
	mailstore_free(store);
	return NULL;
}

static void fill_text(void)
{
	static const char head[] = "From: lisa@example.com\r\nSubject: bench\r\n\r\n";

	for (size_t i = 0; i < SIZE; i++)
		text[i] = i % 72 == 70 ? '\r' : i % 72 == 71 ? '\n' : 'x';
	memcpy(text, head, sizeof head - 1);
}

int main(int argc, char **argv)
{
	struct thread threads[THREADS_MAX] = {0};
	unsigned thread_count;
	uint64_t count = 0;
	uint64_t failed = 0;
	int64_t began_us = os_clock_monotonic_us();

	if (argc != 6)
		panic("usage: bench_mailstore bare|maildir|imap PLACE THREADS GROUP SECONDS");
	kind = argv[1];
	place = argv[2];
	thread_count = (unsigned)strtoul(argv[3], NULL, 10);
	group = (unsigned)strtoul(argv[4], NULL, 10);
	if (thread_count > THREADS_MAX || group > GROUP_MAX)
		panic("at most %d threads and groups of %d", THREADS_MAX, GROUP_MAX);
	until_us = began_us + strtoll(argv[5], NULL, 10) * SECOND_US;
	fill_text();
	for (unsigned i = 0; i < thread_count; i++) {
		threads[i].number = i;
		if (pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0)
			panic("no thread");
	}
	for (unsigned i = 0; i < thread_count; i++) {
		(void)pthread_join(threads[i].id, NULL);
		count += threads[i].count;
		failed += threads[i].failed;
	}
	printf("%s, %u threads, groups of %u: %.0f a second, %ju failed\n", kind, thread_count,
	       group, (double)count * 1e6 / (double)(os_clock_monotonic_us() - began_us),
	       (uintmax_t)failed);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
