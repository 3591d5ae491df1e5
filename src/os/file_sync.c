// SPDX-License-Identifier: ISC
/*
 * The kernel makes one journal commit for all who wait for it at the same time,
 * so files are synced side by side: a few threads, started when first needed,
 * share the list with the caller. A process that cannot have threads syncs in
 * turn and is only slower. (io_uring hands each fsync to a kernel thread of the
 * same kind, and is often forbidden in sandboxes.)
 */
#include "os/file.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { HELPERS_MAX = 31 };

static struct {
	pthread_mutex_t batch; /* one batch at a time */
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t work;
	pthread_cond_t done;
	const int *files;
	int (*sync)(int file);
	int *results;
	size_t count;
	size_t next;     /* to be taken */
	size_t finished; /* of count */
	unsigned helpers;
} pool = {
	.batch = PTHREAD_MUTEX_INITIALIZER,
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

/* An open one, names and all: fdatasync(2) may leave a changed name out. */
static int sync_names(int directory)
{
	int result;

	do
		result = fsync(directory);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

/* Syncs one file after another while there are any. With the mutex held. */
static void take_part(void)
{
	while (pool.next < pool.count) {
		size_t mine = pool.next++;
		int result;

		pthread_mutex_unlock(&pool.mutex);
		/* the batch does not change while one of its files is being synced */
		result = pool.sync(pool.files[mine]);
		pthread_mutex_lock(&pool.mutex);
		pool.results[mine] = result;
		if (++pool.finished == pool.count)
			pthread_cond_signal(&pool.done);
	}
}

static void *help(void *unused)
{
	pthread_mutex_lock(&pool.mutex);
	for (;;) {
		take_part();
		pthread_cond_wait(&pool.work, &pool.mutex);
	}
	return unused;
}

/* Helpers take no signals: those are the main loop's. */
static void start_helpers(size_t wanted)
{
	sigset_t all;
	sigset_t before;
	pthread_t thread;

	if (wanted > HELPERS_MAX)
		wanted = HELPERS_MAX;
	if (pool.helpers >= wanted)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool.helpers < wanted && pthread_create(&thread, NULL, help, NULL) == 0) {
		pthread_detach(thread);
		pool.helpers++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* With the batch's mutex held and the batch described but for these. */
static void run(size_t count, int *results)
{
	pthread_mutex_lock(&pool.mutex);
	start_helpers(count - 1);
	pool.results = results;
	pool.next = 0;
	pool.finished = 0;
	pool.count = count;
	pthread_cond_broadcast(&pool.work);
	take_part();
	while (pool.finished < pool.count)
		pthread_cond_wait(&pool.done, &pool.mutex);
	pool.count = 0;
	pool.next = 0;
	pthread_mutex_unlock(&pool.mutex);
}

static void sync_all(int (*sync)(int file), const int *files, size_t count, int *results)
{
	if (count == 0)
		return;
	pthread_mutex_lock(&pool.batch);
	pool.files = files;
	pool.sync = sync;
	run(count, results);
	pthread_mutex_unlock(&pool.batch);
}

void os_file_sync_many(const int *files, size_t count, int *results)
{
	sync_all(os_file_sync, files, count, results);
}

void os_file_sync_directories(const int *directories, size_t count, int *results)
{
	sync_all(sync_names, directories, count, results);
}
