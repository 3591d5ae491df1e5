// SPDX-License-Identifier: ISC
#include "auth/server/dovecot/dovecot.h"
#include "base/panic.h"
#include "base/text/base64.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const int64_t FIRST_DELAY_US = SECOND_US / 20;
static const int64_t LONGEST_DELAY_US = 2 * SECOND_US;

enum { DOVECOT_BACKLOG_MAX = 1 << 20, READ_SIZE = 4096 };

struct dovecot_mechanisms {
	struct dovecot_mechanism all[AUTH_MECHANISMS_MAX];
	size_t count;
};

struct dovecot {
	struct os_loop *loop;
	char *path;
	void (*changed)(void *context);
	void *context;
	int socket; /* -1: none */
	struct os_watch *watch;
	struct os_timer *retry;
	struct os_timer *patience; /* of requests that wait for a connection */
	int64_t delay_us;
	bool is_failure_logged;
	bool is_connecting;
	bool is_greeted; /* DONE has come */
	struct buffer input;
	struct buffer output;
	struct dovecot_mechanisms known;  /* of the last greeting */
	struct dovecot_mechanisms coming; /* of the one that is not over */
	struct dovecot_request *requests;
	size_t request_count;
	uint32_t last_id;
};

/* --- requests --- */

static void leave_dovecot_requests(struct dovecot_request *request)
{
	struct dovecot *dovecot = request->dovecot;

	os_task_cancel(dovecot->loop, &request->fail);
	DL_DELETE2(dovecot->requests, request, previous, next);
	dovecot->request_count--;
	request->dovecot = NULL;
	buffer_clear(&request->line);
}

static void answer_dovecot_request(struct dovecot_request *request,
				   const struct dovecot_answer *found)
{
	request->is_begun = true;
	buffer_clear(&request->line);
	if (found->outcome != DOVECOT_CHALLENGE)
		leave_dovecot_requests(request);
	request->answered(request->context, found);
}

static void on_fail(void *context)
{
	static const struct dovecot_answer later = {.outcome = DOVECOT_LATER};

	answer_dovecot_request(context, &later);
}

static void fail_soon(struct dovecot_request *request)
{
	request->is_failed = true;
	request->fail.call = on_fail;
	request->fail.context = request;
	os_loop_defer(request->dovecot->loop, &request->fail);
}

/* Those that wait longer than they may are told so; a later one decides when to look again. */
static void end_patience(void *context)
{
	struct dovecot *dovecot = context;
	int64_t now_us = os_clock_monotonic_us();
	int64_t next_us = INT64_MAX;
	struct dovecot_request *request;

	DL_FOREACH2 (dovecot->requests, request, next) {
		if (request->is_sent || request->is_failed)
			continue;
		if (request->until_us <= now_us)
			fail_soon(request);
		else if (request->until_us < next_us)
			next_us = request->until_us;
	}
	os_timer_stop(dovecot->patience);
	if (next_us != INT64_MAX)
		os_timer_start(dovecot->patience, next_us - now_us);
}

/* --- the connection --- */

/* A request that was not answered yet can be made again. */
static void give_request_back(struct dovecot_request *request)
{
	if (request->is_failed || !request->is_sent)
		return;
	request->is_sent = false;
	request->until_us = os_clock_monotonic_us() + DOVECOT_PATIENCE_US;
	if (request->is_begun)
		fail_soon(request);
}

static void disconnect_from_dovecot(struct dovecot *dovecot)
{
	struct dovecot_request *request;

	os_watch_free(dovecot->watch);
	if (dovecot->socket >= 0)
		os_socket_close(dovecot->socket);
	dovecot->watch = NULL;
	dovecot->socket = -1;
	dovecot->is_connecting = false;
	dovecot->is_greeted = false;
	dovecot->coming.count = 0;
	buffer_clear(&dovecot->input);
	buffer_clear(&dovecot->output);
	DL_FOREACH2 (dovecot->requests, request, next)
		give_request_back(request);
	end_patience(dovecot);
}

/* Logs only the first of several failures in a row. */
static void lose_dovecot(struct dovecot *dovecot, const char *operation, int error)
{
	if (!dovecot->is_failure_logged)
		log_event(EVENT_AUTH_SERVICE_LOST, log_string(path, dovecot->path),
			  log_string(operation, operation), log_error(error));
	dovecot->is_failure_logged = true;
	disconnect_from_dovecot(dovecot);
	os_timer_start(dovecot->retry, dovecot->delay_us);
	dovecot->delay_us *= 2;
	if (dovecot->delay_us > LONGEST_DELAY_US)
		dovecot->delay_us = LONGEST_DELAY_US;
}

static void flush_to_dovecot(struct dovecot *dovecot)
{
	ssize_t sent = 0;

	while (dovecot->output.length > 0) {
		sent = os_socket_write(dovecot->socket, buffer_data(&dovecot->output),
				       dovecot->output.length);
		if (sent < 0)
			break;
		explicit_bzero(buffer_data(&dovecot->output), (size_t)sent);
		buffer_consume(&dovecot->output, (size_t)sent);
	}
	if (sent < 0 && sent != -EAGAIN)
		lose_dovecot(dovecot, "write", (int)sent);
	else
		os_watch_set(dovecot->watch, dovecot->output.length > 0
						     ? OS_WATCH_READ | OS_WATCH_WRITE
						     : OS_WATCH_READ);
}

/* False: it cannot be sent. */
static bool send_dovecot_line(struct dovecot *dovecot, const struct buffer *line)
{
	if (line->length > DOVECOT_SENT_MAX || dovecot->output.length > DOVECOT_BACKLOG_MAX)
		return false;
	buffer_append_str(&dovecot->output, buffer_view(line));
	return true;
}

static void send_waiting_requests(struct dovecot *dovecot)
{
	struct dovecot_request *request;

	DL_FOREACH2 (dovecot->requests, request, next) {
		if (request->is_sent || request->is_failed)
			continue;
		request->is_sent = send_dovecot_line(dovecot, &request->line);
		if (!request->is_sent)
			fail_soon(request);
	}
	flush_to_dovecot(dovecot);
}

/* --- what it says --- */

static void add_mechanism(struct dovecot *dovecot, const struct dovecot_line *line)
{
	struct dovecot_mechanisms *coming = &dovecot->coming;
	struct dovecot_mechanism *place = &coming->all[coming->count];

	if (line->is_unusable || coming->count == AUTH_MECHANISMS_MAX ||
	    line->mechanism.length >= sizeof place->name)
		return;
	memcpy(place->name, line->mechanism.data, line->mechanism.length);
	place->name[line->mechanism.length] = '\0';
	coming->count++;
}

static enum dovecot_outcome outcome_of_line(const struct dovecot_line *line)
{
	if (line->command == DOVECOT_CONT)
		return DOVECOT_CHALLENGE;
	if (line->command == DOVECOT_OK)
		return line->is_barred && !line->is_elsewhere ? DOVECOT_WRONG : DOVECOT_RIGHT;
	return line->is_temporary ? DOVECOT_LATER : DOVECOT_WRONG;
}

static void take_reply(struct dovecot *dovecot, const struct dovecot_line *line)
{
	const struct dovecot_answer found = {.outcome = outcome_of_line(line),
					     .message = buffer_view(&line->message),
					     .user = buffer_view(&line->user)};
	struct dovecot_request *request;

	DL_FOREACH2 (dovecot->requests, request, next)
		if (request->id == line->id && !request->is_failed)
			break;
	if (request != NULL)
		answer_dovecot_request(request, &found);
}

/* False: the connection was lost. */
static bool take_dovecot_line(struct dovecot *dovecot, struct str text)
{
	struct dovecot_line line CLEANUP(dovecot_line_clear);
	bool is_good = dovecot_line_parse(text, &line);

	if (!is_good || (line.command == DOVECOT_VERSION && line.major != 1)) {
		lose_dovecot(dovecot, is_good ? "version" : "parse", -EPROTO);
		return false;
	}
	if (line.command == DOVECOT_MECH) {
		add_mechanism(dovecot, &line);
	} else if (line.command == DOVECOT_DONE) {
		dovecot->is_greeted = true;
		dovecot->known = dovecot->coming;
		dovecot->is_failure_logged = false;
		dovecot->delay_us = FIRST_DELAY_US;
		dovecot->changed(dovecot->context);
		send_waiting_requests(dovecot);
	} else if (line.command >= DOVECOT_OK) {
		take_reply(dovecot, &line);
	}
	return dovecot->socket >= 0;
}

static void take_dovecot_lines(struct dovecot *dovecot)
{
	for (;;) {
		struct str input = buffer_view(&dovecot->input);
		ptrdiff_t end = str_find(input, '\n');
		struct buffer line CLEANUP(buffer_clear) = {.is_secret = true};

		if ((end < 0 ? input.length : (size_t)end) >= DOVECOT_LINE_MAX) {
			lose_dovecot(dovecot, "line", -EMSGSIZE);
			return;
		}
		if (end < 0)
			return;
		buffer_append(&line, input.data, (size_t)end);
		explicit_bzero(buffer_data(&dovecot->input), (size_t)end);
		buffer_consume(&dovecot->input, (size_t)end + 1);
		if (!take_dovecot_line(dovecot, buffer_view(&line)))
			return;
	}
}

static void read_from_dovecot(struct dovecot *dovecot)
{
	char bytes[READ_SIZE];
	ssize_t length = os_socket_read(dovecot->socket, bytes, sizeof bytes);

	if (length == -EAGAIN)
		return;
	if (length <= 0) {
		lose_dovecot(dovecot, "read", length == 0 ? -ECONNRESET : (int)length);
		return;
	}
	buffer_append(&dovecot->input, bytes, (size_t)length);
	explicit_bzero(bytes, (size_t)length);
	take_dovecot_lines(dovecot);
}

/* --- connecting --- */

static void greet_dovecot(struct dovecot *dovecot)
{
	int error = os_socket_error(dovecot->socket);

	if (error < 0) {
		lose_dovecot(dovecot, "connect", error);
		return;
	}
	dovecot->is_connecting = false;
	buffer_append_format(&dovecot->output, "VERSION\t1\t2\nCPID\t%ld\n", (long)os_process_id());
	flush_to_dovecot(dovecot);
}

static void on_dovecot_ready(void *context, unsigned events)
{
	struct dovecot *dovecot = context;

	if (dovecot->is_connecting) {
		greet_dovecot(dovecot);
		return;
	}
	if ((events & OS_WATCH_WRITE) != 0)
		flush_to_dovecot(dovecot);
	if ((events & OS_WATCH_READ) != 0 && dovecot->socket >= 0)
		read_from_dovecot(dovecot);
}

static void connect_to_dovecot(void *context)
{
	struct dovecot *dovecot = context;
	union os_socket_address address;
	int socket = -ENAMETOOLONG;

	if (os_socket_address_of_path(dovecot->path, &address))
		socket = os_socket_connect(&address);
	if (socket < 0) {
		lose_dovecot(dovecot, "connect", socket);
		return;
	}
	dovecot->socket = socket;
	dovecot->is_connecting = true;
	dovecot->input.is_secret = true;
	dovecot->output.is_secret = true;
	dovecot->watch =
		os_watch_new(dovecot->loop, socket, OS_WATCH_WRITE, on_dovecot_ready, dovecot);
}

struct dovecot *dovecot_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
			    void *context)
{
	struct dovecot *dovecot = memory_alloc_zero(1, sizeof *dovecot);

	dovecot->loop = loop;
	dovecot->path = memory_copy_string(path);
	dovecot->changed = changed;
	dovecot->context = context;
	dovecot->socket = -1;
	dovecot->delay_us = FIRST_DELAY_US;
	dovecot->retry = os_timer_new(loop, connect_to_dovecot, dovecot);
	dovecot->patience = os_timer_new(loop, end_patience, dovecot);
	os_timer_start(dovecot->retry, 0);
	return dovecot;
}

void dovecot_free(struct dovecot *dovecot)
{
	if (dovecot == NULL)
		return;
	disconnect_from_dovecot(dovecot);
	os_timer_free(dovecot->retry);
	os_timer_free(dovecot->patience);
	free(dovecot->path);
	free(dovecot);
}

const char *dovecot_path(const struct dovecot *dovecot)
{
	return dovecot->path;
}

const struct dovecot_mechanism *dovecot_mechanisms(const struct dovecot *dovecot, size_t *count_out)
{
	*count_out = dovecot->known.count;
	return dovecot->known.all;
}

/* --- asking --- */

/* "resp" must be the last one. */
static void append_ask(struct buffer *line, const struct dovecot_ask *ask)
{
	char text[OS_SOCKET_TEXT_SIZE];

	dovecot_line_append(line, "service", ask->service);
	buffer_append_string(line, "\tsecured\tfinal-resp-ok\tno-penalty");
	if (!IN6_IS_ADDR_UNSPECIFIED(&ask->client)) {
		os_socket_address_format_mapped(&ask->client, text);
		dovecot_line_append(line, "rip", str_from(text));
	}
	if (ask->has_certificate) {
		buffer_append_string(line, "\tvalid-client-cert");
		dovecot_line_append(line, "cert_username", ask->certificate_name);
	}
	if (ask->has_initial) {
		buffer_append_string(line, "\tresp=");
		base64_append(line, ask->initial);
	}
	buffer_append_byte(line, '\n');
}

void dovecot_begin(struct dovecot *dovecot, const struct dovecot_ask *ask,
		   struct dovecot_request *request)
{
	request->dovecot = dovecot;
	request->is_sent = request->is_begun = request->is_failed = false;
	request->until_us = os_clock_monotonic_us() + DOVECOT_PATIENCE_US;
	if (++dovecot->last_id == 0)
		dovecot->last_id = 1;
	request->id = dovecot->last_id;
	DL_APPEND2(dovecot->requests, request, previous, next);
	dovecot->request_count++;
	request->line = (struct buffer){.is_secret = true};
	buffer_append_format(&request->line, "AUTH\t%u\t", request->id);
	buffer_append_str(&request->line, ask->mechanism);
	append_ask(&request->line, ask);
	if (dovecot->request_count > DOVECOT_REQUESTS_MAX)
		fail_soon(request);
	else if (dovecot->is_greeted)
		send_waiting_requests(dovecot);
	else
		end_patience(dovecot);
}

/* Of one that has begun. */
static void continue_dovecot_request(struct dovecot_request *request, const struct buffer *line)
{
	struct dovecot *dovecot = request->dovecot;

	if (dovecot->is_greeted && send_dovecot_line(dovecot, line))
		flush_to_dovecot(dovecot);
	else
		fail_soon(request);
}

void dovecot_respond(struct dovecot_request *request, struct str response)
{
	struct buffer line CLEANUP(buffer_clear) = {.is_secret = true};

	if (request->is_failed)
		return;
	buffer_append_format(&line, "CONT\t%u\t", request->id);
	base64_append(&line, response);
	buffer_append_byte(&line, '\n');
	continue_dovecot_request(request, &line);
}

void dovecot_cancel(struct dovecot_request *request)
{
	struct buffer line CLEANUP(buffer_clear) = {0};

	if (request->dovecot == NULL)
		return;
	if (!request->is_failed && request->is_sent && request->dovecot->is_greeted) {
		buffer_append_format(&line, "CANCEL\t%u\n", request->id);
		continue_dovecot_request(request, &line);
	}
	leave_dovecot_requests(request);
}
