// SPDX-License-Identifier: ISC
/* Each mutex of a test looks whether it is used as it should be (the linker's --wrap): locked by
 * who unlocks it or waits with it, and by no one who has it already. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *kind);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *kind);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *changed, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *changed, pthread_mutex_t *mutex);
int __real_pthread_cond_clockwait(pthread_cond_t *changed, pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *until);
int __wrap_pthread_cond_clockwait(pthread_cond_t *changed, pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *until);

static void check_lock(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "%s of a mutex: error %d\n", what, error);
	abort();
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *kind)
{
	pthread_mutexattr_t checked;
	int error;

	if (kind != NULL)
		return __real_pthread_mutex_init(mutex, kind);
	pthread_mutexattr_init(&checked);
	pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
	error = __real_pthread_mutex_init(mutex, &checked);
	pthread_mutexattr_destroy(&checked);
	return error;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	check_lock(__real_pthread_mutex_lock(mutex), "lock");
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	check_lock(__real_pthread_mutex_unlock(mutex), "unlock");
	return 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *changed, pthread_mutex_t *mutex)
{
	check_lock(__real_pthread_cond_wait(changed, mutex), "wait");
	return 0;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *changed, pthread_mutex_t *mutex, clockid_t clock,
				  const struct timespec *until)
{
	check_lock(__real_pthread_mutex_unlock(mutex), "wait");
	check_lock(__real_pthread_mutex_lock(mutex), "wait");
	return __real_pthread_cond_clockwait(changed, mutex, clock, until);
}
