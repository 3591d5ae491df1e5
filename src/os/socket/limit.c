// SPDX-License-Identifier: ISC
#include "os/socket/limit.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "os/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct os_socket_limit {
	struct timespec until;
	struct os_worker *worker;
	pthread_mutex_t mutex; /* for the members below */
	pthread_cond_t changed;
	int socket; /* a descriptor of our own, as the caller may close its one; -1: none */
	bool is_late;
	bool is_ending;
};

static void shut_late_socket(const struct os_socket_limit *limit)
{
	if (limit->is_late && limit->socket >= 0)
		(void)shutdown(limit->socket, SHUT_RDWR);
}

static void wait_for_socket_limit(void *context)
{
	struct os_socket_limit *limit = context;

	pthread_mutex_lock(&limit->mutex);
	while (!limit->is_ending && !limit->is_late)
		limit->is_late =
			pthread_cond_clockwait(&limit->changed, &limit->mutex, CLOCK_MONOTONIC,
					       &limit->until) == ETIMEDOUT;
	shut_late_socket(limit);
	pthread_mutex_unlock(&limit->mutex);
}

static void destroy_socket_limit(struct os_socket_limit *limit)
{
	if (limit->socket >= 0)
		close(limit->socket);
	pthread_cond_destroy(&limit->changed);
	pthread_mutex_destroy(&limit->mutex);
	free(limit);
}

int os_socket_limit_new(int64_t until_us, struct os_socket_limit **limit_out)
{
	struct os_socket_limit *limit = memory_alloc_zero(1, sizeof *limit);
	int error;

	limit->until = (struct timespec){until_us / SECOND_US, until_us % SECOND_US * 1000};
	limit->socket = -1;
	pthread_mutex_init(&limit->mutex, NULL);
	pthread_cond_init(&limit->changed, NULL);
	error = os_worker_new(wait_for_socket_limit, limit, NULL, &limit->worker);
	if (error < 0) {
		destroy_socket_limit(limit);
		return error;
	}
	os_worker_start(limit->worker);
	*limit_out = limit;
	return 0;
}

int os_socket_limit_set(struct os_socket_limit *limit, int socket)
{
	int own = fcntl(socket, F_DUPFD_CLOEXEC, 0);
	int before;

	if (own < 0)
		return -errno;
	pthread_mutex_lock(&limit->mutex);
	before = limit->socket;
	limit->socket = own;
	shut_late_socket(limit);
	pthread_mutex_unlock(&limit->mutex);
	if (before >= 0)
		close(before);
	return 0;
}

void os_socket_limit_free(struct os_socket_limit *limit)
{
	if (limit == NULL)
		return;
	pthread_mutex_lock(&limit->mutex);
	limit->is_ending = true;
	pthread_cond_signal(&limit->changed);
	pthread_mutex_unlock(&limit->mutex);
	os_worker_free(limit->worker);
	destroy_socket_limit(limit);
}
