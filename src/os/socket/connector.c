// SPDX-License-Identifier: ISC
#include "os/socket/connector.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const int64_t PATIENCE_US = SECOND_US / 2;
/* After a question was not answered in time, nothing is asked for so long, until the answer
 * comes: whoever is slow to answer would be slower with more questions. */
static const int64_t SILENCE_US = 2 * SECOND_US;
/* A connection that comes later may have been given up by its peer. */
static const int64_t LATE_US = 10 * SECOND_US;

struct connector_answer {
	uint32_t number; /* of the question that it answers */
	int32_t error;   /* 0: a descriptor is attached */
};

static int asking = -1;
static struct os_connector_question connector_asked; /* the last question, */
static int64_t asked_us;                             /* and when */
static bool is_open;                                 /* it is not answered yet */

void os_connector_use(int socket)
{
	os_socket_close(asking);
	asking = socket;
	is_open = false;
}

bool os_connector_is_used(void)
{
	return asking >= 0;
}

/* Takes a descriptor or error, *RESULT_OUT, from an answer; false if it answers an earlier
 * question. */
static bool take_connector_answer(int *result_out)
{
	int descriptors[OS_SOCKET_DESCRIPTORS];
	struct connector_answer answer;
	size_t count;
	ssize_t length = os_socket_receive(asking, &answer, sizeof answer, descriptors, &count);
	int result = length == 0 ? -EPIPE : length < 0 ? (int)length : -EBADMSG;
	bool is_earlier =
		length == (ssize_t)sizeof answer && answer.number != connector_asked.number;

	if (length == (ssize_t)sizeof answer && !is_earlier) {
		if (answer.error < 0)
			result = answer.error;
		else if (count > 0)
			result = descriptors[--count];
	}
	while (length > 0 && count > 0)
		os_socket_close(descriptors[--count]);
	*result_out = result;
	return !is_earlier;
}

/* Waits for the answer to the last question for PATIENCE_US: a descriptor or -errno. */
static int wait_for_answer(int64_t patience_us)
{
	int64_t until_us = os_clock_monotonic_us() + patience_us;
	int result = 0;

	while (is_open) {
		int64_t left_us = until_us - os_clock_monotonic_us();

		result = os_socket_wait(asking, false, left_us > 0 ? left_us : 0);
		if (result == -ETIMEDOUT)
			break;
		is_open = result == 0 && !take_connector_answer(&result);
	}
	return result;
}

static bool is_asked(const char *path, int kind)
{
	return connector_asked.kind == kind && strcmp(connector_asked.path, path) == 0;
}

/* The last question was not answered in time. Whether PATH needs no other one: the answer was for
 * it, or still has to come. */
static bool is_last_question_settled(const char *path, int kind, int *result_out)
{
	int64_t age_us = os_clock_monotonic_us() - asked_us;

	*result_out = wait_for_answer(0);
	if (is_open)
		return age_us < PATIENCE_US + SILENCE_US;
	if (*result_out >= 0 && is_asked(path, kind) && age_us < LATE_US)
		return true;
	if (*result_out >= 0)
		os_socket_close(*result_out);
	return false;
}

int os_connector_connect(const char *path, int kind)
{
	ssize_t sent;
	int result;

	if (strlen(path) >= sizeof connector_asked.path)
		return -ENAMETOOLONG;
	if (is_open && is_last_question_settled(path, kind, &result))
		return result;
	if (!is_open || !is_asked(path, kind)) { /* otherwise either answer will do */
		connector_asked = (struct os_connector_question){
			.number = connector_asked.number + 1, .kind = kind};
		snprintf(connector_asked.path, sizeof connector_asked.path, "%s", path);
	}
	asked_us = os_clock_monotonic_us();
	sent = os_socket_send(asking, &connector_asked, sizeof connector_asked, NULL, 0);
	is_open = sent >= 0;
	return is_open ? wait_for_answer(PATIENCE_US) : (int)sent;
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
	const struct connector_answer answer = {question->number, result < 0 ? result : 0};
	ssize_t sent = os_socket_send(socket, &answer, sizeof answer, &result, result >= 0 ? 1 : 0);

	return sent < 0 ? (int)sent : 0;
}
