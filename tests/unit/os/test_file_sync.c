// SPDX-License-Identifier: ISC
/* Files that are synced side by side, by several threads, while a disk hangs: its calls
 * wait here until they are let go. */
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { STANDING = 1000, FILES = 64 };

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	size_t waiting;
	bool may_go;
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Instead of the system's: descriptors from STANDING on are of the disk that hangs, the
 * others fail when they are odd. */
int fdatasync(int file)
{
	pthread_mutex_lock(&disk.mutex);
	if (file >= STANDING) {
		disk.waiting++;
		pthread_cond_broadcast(&disk.changed);
		while (!disk.may_go)
			pthread_cond_wait(&disk.changed, &disk.mutex);
	}
	pthread_mutex_unlock(&disk.mutex);
	errno = EIO;
	return file % 2 != 0 ? -1 : 0;
}

static void check(int first)
{
	int files[FILES];
	int results[FILES];

	for (int i = 0; i < FILES; i++) {
		files[i] = first + i;
		results[i] = 1;
	}
	os_file_sync_many(files, FILES, results);
	for (int i = 0; i < FILES; i++)
		assert_int_equal(results[i], files[i] % 2 != 0 ? -EIO : 0);
}

static void *sync_standing(void *unused)
{
	check(STANDING);
	return unused;
}

static void each_file_has_its_result(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		check(i);
}

static void a_disk_that_stands_still_holds_nobody_else_up(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sync_standing, NULL), 0);
	pthread_mutex_lock(&disk.mutex);
	while (disk.waiting < 32) /* its own thread, and all that help */
		pthread_cond_wait(&disk.changed, &disk.mutex);
	pthread_mutex_unlock(&disk.mutex);
	for (int i = 0; i < 100; i++)
		check(i);
	pthread_mutex_lock(&disk.mutex);
	disk.may_go = true;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.mutex);
	pthread_join(thread, NULL);
	assert_int_equal(disk.waiting, FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_has_its_result),
		cmocka_unit_test(a_disk_that_stands_still_holds_nobody_else_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
