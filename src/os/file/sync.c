// SPDX-License-Identifier: ISC
/*
 * The kernel makes one journal commit for all callers that wait for it at the same time,
 * so files are synced in parallel: a few threads, started when first needed,
 * share the list with the caller. A process without threads syncs one file after the
 * other, which is only slower. (io_uring passes each fsync to a kernel thread of the
 * same kind, and is often forbidden in sandboxes.)
 * same kind, and is often forbidden in sandboxes.)
 */
#include "os/file/file.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { HELPERS_MAX = 31 };

/* The files of one caller, on its stack; in the list while it waits. */
struct batch {
	const int *files;
	int (*sync)(int file);
	int *results;
	size_t count;
	size_t next;     /* to sync */
	size_t finished; /* of count */
	pthread_cond_t done;
	struct batch *following;
};

static struct {
	pthread_mutex_t mutex; /* guards all of this, and the batches except their files */
	pthread_cond_t work;
	struct batch *first;
	unsigned helpers;
} pool = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
};

/* fsync(2), not fdatasync(2), which may omit changed names. */
static int sync_directory_names(int directory)
{
	int result;

	do
		result = fsync(directory);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

/* Syncs the next file of BATCH, of which there must be one. Called with the mutex held; BATCH may
 * be invalid afterwards. */
static void sync_next(struct batch *batch)
{
	size_t mine = batch->next++;
	int result;

	pthread_mutex_unlock(&pool.mutex);
	/* the batch remains valid while one of its files is being synced */
	result = batch->sync(batch->files[mine]);
	pthread_mutex_lock(&pool.mutex);
	batch->results[mine] = result;
	if (++batch->finished == batch->count)
		pthread_cond_signal(&batch->done);
}

static struct batch *find_work(void)
{
	struct batch *batch = pool.first;

	while (batch != NULL && batch->next == batch->count)
		batch = batch->following;
	return batch;
}

static void *sync_in_helper_thread(void *unused)
{
	pthread_mutex_lock(&pool.mutex);
	for (;;) {
		struct batch *batch = find_work();

		if (batch != NULL)
			sync_next(batch);
		else
			pthread_cond_wait(&pool.work, &pool.mutex);
	}
	return unused;
}

/* Helpers block all signals, which are for the main loop. */
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
	while (pool.helpers < wanted &&
	       pthread_create(&thread, NULL, sync_in_helper_thread, NULL) == 0) {
		pthread_detach(thread);
		pool.helpers++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void leave_sync_pool(struct batch *batch)
{
	struct batch **place = &pool.first;

	while (*place != batch)
		place = &(*place)->following;
	*place = batch->following;
}

/* Each caller syncs its own files, with the helpers that are free: if they all wait for a disk that
 * hangs, others still make progress. */
static void sync_all(int (*sync)(int file), const int *files, size_t count, int *results)
{
	struct batch batch = {
		.files = files,
		.sync = sync,
		.results = results,
		.count = count,
		.done = PTHREAD_COND_INITIALIZER,
	};

	if (count == 0)
		return;
	pthread_mutex_lock(&pool.mutex);
	start_helpers(count - 1);
	batch.following = pool.first;
	pool.first = &batch;
	pthread_cond_broadcast(&pool.work);
	while (batch.next < batch.count)
		sync_next(&batch);
	while (batch.finished < batch.count)
		pthread_cond_wait(&batch.done, &pool.mutex);
	leave_sync_pool(&batch);
	pthread_mutex_unlock(&pool.mutex);
}

void os_file_sync_many(const int *files, size_t count, int *results)
{
	sync_all(os_file_sync, files, count, results);
}

void os_file_sync_directories(const int *directories, size_t count, int *results)
{
	sync_all(sync_directory_names, directories, count, results);
}
