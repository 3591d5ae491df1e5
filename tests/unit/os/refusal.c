// SPDX-License-Identifier: ISC
#include "refusal.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ALL_FINE = -1, UNEXPECTED = EXFULL, FILLED = 0x5a, CALLS_MAX = 200 };

static struct {
	int chosen; /* the number of the call that fails; ALL_FINE: none */
	int error;
	int calls;
	const char *refused; /* the name of the one that has failed */
	pid_t process;
} refusal;

static _Thread_local bool is_counting;

void refusal_begin(void)
{
	refusal.process = getpid();
	is_counting = true;
}

void refusal_end(void)
{
	is_counting = false;
}

bool refusal_was(const char *name)
{
	return refusal.refused != NULL && strcmp(refusal.refused, name) == 0;
}

void refusal_fill(void *out, size_t size)
{
	memset(out, FILLED, size);
}

void refusal_check(int result, const void *out, size_t size)
{
	const unsigned char *bytes = out;

	for (size_t i = 0; result < 0 && i < size; i++)
		assert_int_equal(bytes[i], FILLED);
}

/* --- the calls --- */

static bool is_refused(const char *name)
{
	if (!is_counting || refusal.process != getpid() || refusal.calls++ != refusal.chosen)
		return false;
	refusal.refused = name;
	errno = refusal.error;
	return true;
}

#define CALL(type, name, failed, parameters, arguments)                              \
	type __real_##name parameters;                                               \
	type __wrap_##name parameters;                                               \
	type __wrap_##name parameters                                                \
	{                                                                            \
		return is_refused(#name) ? (type)(failed) : __real_##name arguments; \
	}

#include "refusal_calls.h"

ssize_t __real___read_chk(int file, void *data, size_t size, size_t room);
ssize_t __wrap___read_chk(int file, void *data, size_t size, size_t room);
ssize_t __wrap___read_chk(int file, void *data, size_t size, size_t room)
{
	return is_refused("read") ? -1 : __real___read_chk(file, data, size, room);
}

/* By what it is to do. */
int __real_fcntl64(int file, int command, long argument);
int __wrap_fcntl64(int file, int command, long argument);
int __wrap_fcntl64(int file, int command, long argument)
{
	const char *name = command == F_SETFD   ? "F_SETFD"
			   : command == F_GETFL ? "F_GETFL"
			   : command == F_SETFL ? "F_SETFL"
						: "fcntl64";

	return is_refused(name) ? -1 : __real_fcntl64(file, command, argument);
}

int __real_setsockopt(int file, int level, int option, const void *value, unsigned size);
int __wrap_setsockopt(int file, int level, int option, const void *value, unsigned size);
int __wrap_setsockopt(int file, int level, int option, const void *value, unsigned size)
{
	const char *name = level == IPPROTO_TCP                            ? "IPPROTO_TCP"
			   : level == SOL_SOCKET && option == SO_REUSEPORT ? "SO_REUSEPORT"
			   : level == IPPROTO_IP                           ? "IPPROTO_IP"
									   : "setsockopt";

	return is_refused(name) ? -1 : __real_setsockopt(file, level, option, value, size);
}

/* --- the runs --- */

static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at != NULL && (at = strstr(at, name)) != NULL; at += length)
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

static int next_descriptor(void)
{
	int next = dup(STDERR_FILENO);

	close(next);
	return next;
}

static int run_once(const struct refusal_case *one, int chosen, int error)
{
	int before = next_descriptor(), result;

	refusal.chosen = chosen;
	refusal.error = error;
	refusal.calls = 0;
	refusal.refused = NULL;
	result = one->run();
	if (next_descriptor() != before)
		fail_msg("%s: %s: a descriptor is left", one->name, refusal.refused);
	return result;
}

/* Of the run that was. */
static int expected_result(const struct refusal_case *one, int fine, int error)
{
	if (refusal.refused == NULL || is_listed(one->ignored, refusal.refused) ||
	    (error == EINTR && is_listed(one->again, refusal.refused)))
		return fine;
	return is_listed(one->other, refusal.refused) ? one->other_error : -error;
}

static void try_refusal(const struct refusal_case *one)
{
	static const int errors[] = {UNEXPECTED, EINTR};
	const int fine = run_once(one, ALL_FINE, 0);
	const int calls = refusal.calls;

	if (fine < 0 || calls == 0 || calls > CALLS_MAX)
		fail_msg("%s: %d after %d calls", one->name, fine, calls);
	for (int call = 0; call < calls; call++)
		for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
			int result = run_once(one, call, errors[i]);

			if (result != expected_result(one, fine, errors[i]))
				fail_msg("%s: %d after %s failed with %d", one->name, result,
					 refusal.refused, errors[i]);
		}
}

void refusal_try(const struct refusal_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		try_refusal(&cases[i]);
}
