// SPDX-License-Identifier: ISC
#include "os/connector.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/socket.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const int64_t PATIENCE_US = SECOND_US / 2;
/* After a question was not answered, none is asked for so long. */
static const int64_t SILENCE_US = SECOND_US;

struct answer {
	uint32_t number; /* of the question that it answers */
	int32_t error;   /* 0: a descriptor is attached */
};

static int asking = -1;

void os_connector_use(int socket)
{
	os_socket_close(asking);
	asking = socket;
}

bool os_connector_is_used(void)
{
	return asking >= 0;
}

/* Takes a descriptor or error, *RESULT_OUT, from an answer; false if it answers an earlier
 * question. */
static bool take_answer(const struct os_connector_question *question, int *result_out)
{
	int descriptors[OS_SOCKET_DESCRIPTORS];
	struct answer answer;
	size_t count;
	ssize_t length = os_socket_receive(asking, &answer, sizeof answer, descriptors, &count);
	int result = length == 0 ? -EPIPE : length < 0 ? (int)length : -EBADMSG;
	bool is_late = length == (ssize_t)sizeof answer && answer.number != question->number;

	if (length == (ssize_t)sizeof answer && !is_late) {
		if (answer.error < 0)
			result = answer.error;
		else if (count > 0)
			result = descriptors[--count];
	}
	while (length > 0 && count > 0)
		os_socket_close(descriptors[--count]);
	*result_out = result;
	return !is_late;
}

int os_connector_connect(const char *path, int kind)
{
	static uint32_t number;
	static int64_t silent_until_us;
	struct os_connector_question question = {.number = ++number, .kind = kind};
	int64_t until_us = os_clock_monotonic_us() + PATIENCE_US;
	ssize_t sent;
	int result = 0;
	bool is_answered = false;

	if (snprintf(question.path, sizeof question.path, "%s", path) >= (int)sizeof question.path)
		return -ENAMETOOLONG;
	if (os_clock_monotonic_us() < silent_until_us)
		return -ETIMEDOUT;
	sent = os_socket_send(asking, &question, sizeof question, NULL, 0);
	if (sent < 0)
		return (int)sent;
	while (!is_answered) {
		int64_t left_us = until_us - os_clock_monotonic_us();

		result = os_socket_wait(asking, false, left_us > 0 ? left_us : 0);
		is_answered = result < 0 || take_answer(&question, &result);
	}
	if (result == -ETIMEDOUT)
		silent_until_us = os_clock_monotonic_us() + SILENCE_US;
	return result;
}

int os_connector_hear(int socket, struct os_connector_question *out)
{
	struct os_connector_question question;
	int descriptors[OS_SOCKET_DESCRIPTORS];
	size_t count;
	ssize_t length = os_socket_receive(socket, &question, sizeof question, descriptors, &count);

	if (length < 0)
		return length == -EMSGSIZE ? -EBADMSG : (int)length;
	while (count > 0) /* descriptors that were not asked for would fill our table */
		os_socket_close(descriptors[--count]);
	if (length == 0)
		return -EPIPE;
	if (length != (ssize_t)sizeof question ||
	    memchr(question.path, '\0', sizeof question.path) == NULL)
		return -EBADMSG;
	*out = question;
	return 0;
}

int os_connector_answer(int socket, const struct os_connector_question *question, int result)
{
	const struct answer answer = {question->number, result < 0 ? result : 0};
	ssize_t sent = os_socket_send(socket, &answer, sizeof answer, &result, result >= 0 ? 1 : 0);

	return sent < 0 ? (int)sent : 0;
}
