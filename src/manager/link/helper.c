// SPDX-License-Identifier: ISC
#include "manager/link/helper.h"
#include "base/panic.h"
#include "base/table.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include <stdlib.h>
#include <utlist.h>

enum {
	BACKLOG_MAX = 1 << 20,
	RESOLVE_BACKLOG_MAX = 16 << 20,
	SILENT_MAX = 64, /* connections without HELLO: above that the oldest is closed */
};

static const int64_t SILENCE_US = 5 * SECOND_US;

#define RESOLVE  "resolve"
#define HANDOVER "handover"

/* A job that a helper has. */
struct flight {
	uint32_t tag;
	void *job;
	struct helper *helper;
	struct flight *next, *previous; /* in its helper's list */
	UT_hash_handle hh;              /* by tag */
};

struct helper {
	struct helpers *helpers;
	struct ipc_channel *channel;
	char *service; /* NULL before HELLO */
	uid_t user;
	uint32_t concurrency;
	uint32_t in_flight;
	struct flight *flights;
	struct os_timer *silence; /* until HELLO; NULL afterwards */
	struct helper *next, *previous;
};

struct helpers {
	struct os_loop *loop;
	const struct helpers_handler *handler;
	void *context;
	struct ipc_listener *listener;
	struct helper *all;
	struct flight *flights; /* of all, by tag */
	uint32_t next_tag;
	size_t silent_count;
	bool is_stopping;
};

static bool is_helper_for_service(const struct helper *helper, const char *service)
{
	return helper->service != NULL && strcmp(helper->service, service) == 0;
}

static struct helper *find_helper(const struct helpers *helpers, const char *service)
{
	struct helper *helper;

	DL_FOREACH2 (helpers->all, helper, next)
		if (is_helper_for_service(helper, service))
			return helper;
	return NULL;
}

bool helpers_have(const struct helpers *helpers, const char *service)
{
	return find_helper(helpers, service) != NULL;
}

/* How many more jobs it may be given, of PLACES at most. */
static uint32_t free_places_of_helper(const struct helper *helper, uint32_t places)
{
	if (places > helper->concurrency)
		places = helper->concurrency;
	if (places <= helper->in_flight || ipc_channel_backlog(helper->channel) > BACKLOG_MAX)
		return 0;
	return places - helper->in_flight;
}

struct helper *helpers_with_place(struct helpers *helpers, const char *service)
{
	uint32_t places = helpers->handler->places(helpers->context, service);
	struct helper *best = NULL;
	struct helper *helper;
	uint32_t most = 0;

	DL_FOREACH2 (helpers->all, helper, next) {
		uint32_t free_now = is_helper_for_service(helper, service)
					    ? free_places_of_helper(helper, places)
					    : 0;

		if (free_now > most) {
			most = free_now;
			best = helper;
		}
	}
	return best;
}

static uint32_t new_flight_tag(struct helpers *helpers)
{
	struct flight *taken;

	do {
		uint32_t tag = ++helpers->next_tag;

		HASH_FIND(hh, helpers->flights, &tag, sizeof tag, taken);
	} while (helpers->next_tag == 0 || taken != NULL);
	return helpers->next_tag;
}

void helper_start(struct helper *helper, enum ipc_job type, void *job, struct buffer *body,
		  struct str content, int file)
{
	struct helpers *helpers = helper->helpers;
	struct flight *flight = memory_alloc_zero(1, sizeof *flight);

	flight->tag = new_flight_tag(helpers);
	flight->job = job;
	flight->helper = helper;
	HASH_ADD(hh, helpers->flights, tag, sizeof flight->tag, flight);
	DL_APPEND2(helper->flights, flight, previous, next);
	helper->in_flight++;
	if (file < 0) {
		ipc_job_send_start(helper->channel, type, flight->tag, body, content);
		return;
	}
	pack_str(body, STR(""));
	ipc_channel_send(helper->channel, (uint16_t)type, flight->tag, buffer_view(body), &file, 1);
}

size_t helpers_in_flight(const struct helpers *helpers)
{
	return HASH_COUNT(helpers->flights);
}

/* Its job, which the helper does not have any more. */
static void *land_flight(struct flight *flight)
{
	void *job = flight->job;

	DL_DELETE2(flight->helper->flights, flight, previous, next);
	HASH_DELETE(hh, flight->helper->helpers->flights, flight);
	flight->helper->in_flight--;
	free(flight);
	return job;
}

static void end_flight(struct flight *flight)
{
	struct helpers *helpers = flight->helper->helpers;

	helpers->handler->ended(helpers->context, land_flight(flight));
}

static void end_silence(struct helper *helper)
{
	if (helper->silence == NULL)
		return;
	helper->helpers->silent_count--;
	os_timer_free(helper->silence);
	helper->silence = NULL;
}

static void helper_close(struct helper *helper)
{
	struct helpers *helpers = helper->helpers;
	bool was_resolve = is_helper_for_service(helper, RESOLVE);

	if (helper->service != NULL && !helpers->is_stopping)
		log_event_rated(EVENT_HELPER_LOST, log_string(service, helper->service),
				log_number(jobs, helper->in_flight));
	end_silence(helper);
	ipc_channel_close(helper->channel);
	DL_DELETE2(helpers->all, helper, previous, next); /* it gets no more jobs */
	while (helper->flights != NULL)
		end_flight(helper->flights);
	free(helper->service);
	free(helper);
	if (was_resolve)
		helpers->handler->resolve_lost(helpers->context);
	helpers->handler->left(helpers->context);
}

/* --- messages from helpers --- */

static bool on_helper_hello(struct helper *helper, struct str body)
{
	struct helpers *helpers = helper->helpers;
	struct ipc_job_hello hello;

	if (!ipc_job_read_hello(body, &hello) || helper->service != NULL ||
	    !helpers->handler->may_help(helpers->context, hello.service, hello.token, helper->user))
		return false;
	end_silence(helper);
	helper->service = memory_alloc(hello.service.length + 1);
	memcpy(helper->service, hello.service.data, hello.service.length);
	helper->service[hello.service.length] = '\0';
	ipc_channel_set_peer(helper->channel, helper->service);
	helper->concurrency = is_helper_for_service(helper, RESOLVE) ? 0 : hello.concurrency;
	helpers->handler->joined(helpers->context, str_from(helper->service));
	return true;
}

/* The job of HELPER that MESSAGE is about, or NULL. */
static struct flight *flight_of(const struct helper *helper, const struct ipc_message *message)
{
	struct flight *flight;

	HASH_FIND(hh, helper->helpers->flights, &message->tag, sizeof message->tag, flight);
	return flight != NULL && flight->helper == helper ? flight : NULL;
}

static bool on_helper_report(struct helper *helper, const struct ipc_message *message)
{
	struct helpers *helpers = helper->helpers;
	struct unpack body = {message->body, false};
	struct flight *flight = flight_of(helper, message);

	if (flight == NULL)
		return false;
	while (body.rest.length > 0) {
		struct ipc_job_report report;

		if (!ipc_job_take_report(&body, &report) ||
		    !helpers->handler->reported(helpers->context, flight->job, &report))
			return false;
	}
	if (message->type == IPC_JOB_FINISH)
		end_flight(flight);
	return true;
}

static bool on_busy(struct helper *helper, const struct ipc_message *message)
{
	struct helpers *helpers = helper->helpers;
	struct flight *flight = flight_of(helper, message);
	struct ipc_job_busy busy;

	if (flight == NULL || !ipc_job_read_busy(message->body, &busy) ||
	    !helpers->handler->may_be_busy(helpers->context, flight->job))
		return false;
	helpers->handler->busy(helpers->context, land_flight(flight), &busy);
	return true;
}

static bool on_limit_from_helper(struct helper *helper, const struct ipc_message *message)
{
	struct helpers *helpers = helper->helpers;
	struct ipc_job_said said;

	if (!is_helper_for_service(helper, "remote") || !ipc_job_read_said(message->body, &said))
		return false;
	helpers->handler->said(helpers->context, &said);
	return true;
}

static bool on_resolve(struct helper *helper, const struct ipc_message *message)
{
	struct helpers *helpers = helper->helpers;

	if (!is_helper_for_service(helper, RESOLVE))
		return false;
	if (message->type == IPC_JOB_RESOLVED)
		return helpers->handler->resolved(helpers->context, message->body);
	helpers->handler->back(helpers->context);
	return true;
}

static bool on_handover_packet(struct helper *helper, const struct ipc_message *message)
{
	struct helpers *helpers = helper->helpers;

	return is_helper_for_service(helper, HANDOVER) &&
	       helpers->handler->handed(helpers->context, (enum ipc_job)message->type,
					message->body);
}

static bool on_status_question(struct helper *helper, struct str body)
{
	struct helpers *helpers = helper->helpers;
	const char *service = is_helper_for_service(helper, HANDOVER) ? HANDOVER
			      : is_helper_for_service(helper, IPC_JOB_STATUS_SERVICE)
				      ? IPC_JOB_STATUS_SERVICE
				      : NULL;

	return service != NULL && helpers->handler->asked(helpers->context, service, body);
}

static void on_helper_message(void *context, struct ipc_channel *channel,
			      struct ipc_message *message)
{
	struct helper *helper = context;
	bool is_good = false;

	(void)channel;
	switch (message->type) {
	case IPC_JOB_HELLO:
		is_good = on_helper_hello(helper, message->body);
		break;
	case IPC_JOB_REPORT:
	case IPC_JOB_FINISH:
		is_good = on_helper_report(helper, message);
		break;
	case IPC_JOB_BUSY:
		is_good = on_busy(helper, message);
		break;
	case IPC_JOB_SAID:
		is_good = on_limit_from_helper(helper, message);
		break;
	case IPC_JOB_RETIRE: /* it finishes the jobs it has */
		is_good = helper->service != NULL;
		helper->concurrency = 0;
		break;
	case IPC_JOB_RESOLVED:
	case IPC_JOB_BACK:
		is_good = on_resolve(helper, message);
		break;
	case IPC_JOB_GROUPS:
	case IPC_JOB_PEER:
	case IPC_JOB_KEPT:
	case IPC_JOB_ASKED:
	case IPC_JOB_RELEASE:
	case IPC_JOB_NODE_IS:
		is_good = on_handover_packet(helper, message);
		break;
	case IPC_JOB_STATUS:
		is_good = on_status_question(helper, message->body);
		break;
	default:
		break;
	}
	if (!is_good) {
		ipc_channel_log_refused(helper->channel, message->type);
		helper_close(helper);
	}
}

static void on_helper_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	helper_close(context);
}

static const struct ipc_channel_handler channel_handler = {on_helper_message, on_helper_lost};

static void on_silence(void *context)
{
	struct helper *helper = context;

	log_event_rated(EVENT_IPC_REFUSED, log_string(reason, "it says nothing"),
			log_number(uid, (int64_t)helper->user));
	helper_close(helper);
}

/* A helper says HELLO in the turn in which it connects: the connection that has been silent
 * longest is not a helper. */
static void make_room_for_helper(struct helpers *helpers)
{
	struct helper *helper;

	if (helpers->silent_count < SILENT_MAX)
		return;
	DL_FOREACH2 (helpers->all, helper, next)
		if (helper->silence != NULL)
			break;
	on_silence(helper);
}

static void on_helper_connection(void *context, int socket)
{
	struct helpers *helpers = context;
	uid_t user = os_socket_peer_user(socket);
	struct helper *helper;

	if (!helpers->handler->may_connect(helpers->context, user)) {
		log_event_rated(EVENT_IPC_REFUSED, log_number(uid, (int64_t)user));
		os_socket_close(socket);
		return;
	}
	make_room_for_helper(helpers);
	helper = memory_alloc_zero(1, sizeof *helper);
	helper->helpers = helpers;
	helper->user = user;
	helper->silence = os_timer_new(helpers->loop, on_silence, helper);
	os_timer_start(helper->silence, SILENCE_US);
	helpers->silent_count++;
	helper->channel = ipc_channel_new(helpers->loop, socket, &channel_handler, helper);
	DL_APPEND2(helpers->all, helper, previous, next);
}

/* --- resolve --- */

bool helpers_can_resolve(const struct helpers *helpers)
{
	const struct helper *helper = find_helper(helpers, RESOLVE);

	return helper != NULL && ipc_channel_backlog(helper->channel) < RESOLVE_BACKLOG_MAX;
}

/* --- what is not about jobs --- */

void helpers_tell(struct helpers *helpers, const char *service, enum ipc_job type, struct str body)
{
	struct helper *newest = NULL;
	struct helper *helper;

	DL_FOREACH2 (helpers->all, helper, next)
		if (is_helper_for_service(helper, service))
			newest = helper;
	if (newest != NULL)
		ipc_channel_send(newest->channel, (uint16_t)type, 0, body, NULL, 0);
}

/* --- all --- */

struct helpers *helpers_new(struct os_loop *loop, int listening,
			    const struct helpers_handler *handler, void *context)
{
	struct helpers *helpers = memory_alloc_zero(1, sizeof *helpers);

	helpers->loop = loop;
	helpers->handler = handler;
	helpers->context = context;
	helpers->listener = ipc_listener_new(loop, listening, on_helper_connection, helpers);
	return helpers;
}

void helpers_drain(struct helpers *helpers)
{
	struct helper *helper;

	helpers->is_stopping = true;
	DL_FOREACH2 (helpers->all, helper, next)
		if (helper->service != NULL && !is_helper_for_service(helper, RESOLVE))
			ipc_channel_send(helper->channel, IPC_JOB_DRAIN, 0, STR(""), NULL, 0);
}

void helpers_free(struct helpers *helpers)
{
	helpers->is_stopping = true;
	while (helpers->all != NULL)
		helper_close(helpers->all);
	ipc_listener_free(helpers->listener);
	free(helpers);
}
