// SPDX-License-Identifier: ISC
/*
 * Operators who watch sessions ("stagepost transcript") at RUN/transcript.
 *
 * Each one's filter goes to the processes that talk to the network, and their lines are passed on
 * to him: no other process sees them, and they are not stored. A compromised process can send any
 * lines about sessions, as many as its channel takes; a slow watcher loses lines, and is told how
 * many.
 */
#include "supervisor/talk/transcript.h"
#include "base/panic.h"
#include "ipc/listener.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include "supervisor/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
	TRANSCRIPT_BACKLOG_MAX = 1 << 20,
	GUESTS_MAX = 2 * TRANSCRIPT_WATCHERS_MAX, /* connections, including unauthorised ones */
};

/* The time limit for a guest's request. */
static const int64_t WISH_US = 10 * SECOND_US;

struct watcher {
	struct supervisor *supervisor;
	struct ipc_channel *channel; /* NULL: unused */
	uid_t user;
	struct transcript_filter filter; /* if is_watching */
	struct os_timer *end;
	bool is_watching;
	uint64_t lost; /* lines that he was too slow for */
};

struct transcripts {
	struct ipc_listener *listener;
	struct watcher watchers[GUESTS_MAX];
};

static void pack_filters(const struct transcripts *transcripts, struct buffer *out)
{
	for (size_t i = 0; i < GUESTS_MAX; i++)
		if (transcripts->watchers[i].is_watching)
			transcript_pack(out, &transcripts->watchers[i].filter);
}

static void send_filters(const struct process *process, struct str filters)
{
	if (process->control != NULL && process->program->is_watched)
		ipc_channel_send(process->control, CHILD_TRANSCRIPT, 0, filters, NULL, 0);
}

void supervisor_send_transcript(struct process *process)
{
	struct buffer filters CLEANUP(buffer_clear) = {0};

	pack_filters(process->supervisor->transcripts, &filters);
	if (filters.length > 0)
		send_filters(process, buffer_view(&filters));
}

static void send_filters_to_processes(struct supervisor *supervisor)
{
	struct buffer filters CLEANUP(buffer_clear) = {0};

	pack_filters(supervisor->transcripts, &filters);
	for (size_t i = 0; i < supervisor->process_count; i++)
		send_filters(&supervisor->processes[i], buffer_view(&filters));
}

/* --- lines --- */

static void pack_line(struct buffer *out, const char *process, struct str said)
{
	buffer_reset(out);
	pack_str(out, str_from(process));
	buffer_append_str(out, said);
}

static void tell_lost_lines(struct watcher *watcher, const char *process,
			    const struct transcript_said *said)
{
	struct transcript_said note = *said;
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct buffer packed CLEANUP(buffer_clear) = {0};
	char text[80];

	snprintf(text, sizeof text, "%" PRIu64 " lines were lost: they were not read in time",
		 watcher->lost);
	watcher->lost = 0;
	note.side = TRANSCRIPT_NOTE;
	note.line = str_from(text);
	transcript_pack_said(&packed, &note);
	pack_line(&body, process, buffer_view(&packed));
	ipc_channel_send(watcher->channel, TRANSCRIPT_TALK_LINE, 0, buffer_view(&body), NULL, 0);
}

void supervisor_pass_transcript(struct process *process, struct str said)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct transcript_said line;

	if (!process->program->is_watched || !transcript_unpack_said(said, &line))
		return;
	pack_line(&body, process->log.name, said);
	for (size_t i = 0; i < GUESTS_MAX; i++) {
		struct watcher *watcher = &process->supervisor->transcripts->watchers[i];

		if (!watcher->is_watching ||
		    !(line.watchers & UINT32_C(1) << watcher->filter.watcher))
			continue;
		if (ipc_channel_backlog(watcher->channel) > TRANSCRIPT_BACKLOG_MAX) {
			watcher->lost++;
			continue;
		}
		if (watcher->lost > 0)
			tell_lost_lines(watcher, process->log.name, &line);
		ipc_channel_send(watcher->channel, TRANSCRIPT_TALK_LINE, 0, buffer_view(&body),
				 NULL, 0);
	}
}

/* --- watchers --- */

static void forget_watcher(struct watcher *watcher)
{
	bool was_watching = watcher->is_watching;

	ipc_channel_close(watcher->channel);
	os_timer_free(watcher->end);
	watcher->channel = NULL;
	watcher->end = NULL;
	watcher->is_watching = false;
	watcher->lost = 0;
	if (was_watching)
		send_filters_to_processes(watcher->supervisor);
}

/* His time is over. Unsent output is lost with the channel. */
static void on_end_of_watch_time(void *context)
{
	struct watcher *watcher = context;

	if (watcher->is_watching)
		ipc_channel_send(watcher->channel, TRANSCRIPT_TALK_END, 0, STR(""), NULL, 0);
	forget_watcher(watcher);
}

static void refuse_watcher(struct watcher *watcher, struct str reason)
{
	ipc_channel_send(watcher->channel, TRANSCRIPT_TALK_REFUSED, 0, reason, NULL, 0);
	forget_watcher(watcher);
}

/* The lowest unused number; TRANSCRIPT_WATCHERS_MAX: all are in use. */
static uint32_t free_number(const struct transcripts *transcripts)
{
	uint32_t taken = 0;
	uint32_t number = 0;

	for (size_t i = 0; i < GUESTS_MAX; i++)
		if (transcripts->watchers[i].is_watching)
			taken |= UINT32_C(1) << transcripts->watchers[i].filter.watcher;
	while (taken & UINT32_C(1) << number)
		number++;
	return number;
}

static void begin_watching(struct watcher *watcher, const struct transcript_filter *filter,
			   uint32_t seconds)
{
	struct supervisor *supervisor = watcher->supervisor;
	uint32_t number = free_number(supervisor->transcripts);

	if (watcher->user != 0 && watcher->user != supervisor->users.own &&
	    watcher->user != supervisor->users.node.uid) {
		refuse_watcher(watcher, STR("only root and the queue's owner may watch"));
		return;
	}
	if (number == TRANSCRIPT_WATCHERS_MAX) {
		refuse_watcher(watcher, STR("too many watch already"));
		return;
	}
	watcher->filter = *filter;
	watcher->filter.watcher = number;
	watcher->is_watching = true;
	os_timer_start(watcher->end, seconds * SECOND_US);
	send_filters_to_processes(supervisor);
	log_event(EVENT_TRANSCRIPT, log_number(uid, watcher->user),
		  log_str(domain, mail_domain_view(&filter->domain)), log_number(seconds, seconds));
	ipc_channel_send(watcher->channel, TRANSCRIPT_TALK_BEGUN, 0, STR(""), NULL, 0);
}

static void on_watcher_message(void *context, struct ipc_channel *channel,
			       struct ipc_message *message)
{
	struct watcher *watcher = context;
	struct unpack in = {message->body, false};
	struct transcript_filter filter;
	uint32_t seconds = unpack_u32(&in);

	if (message->type == TRANSCRIPT_TALK_WATCH && !watcher->is_watching &&
	    transcript_unpack(&in, &filter) && unpack_is_whole(&in) && seconds > 0 &&
	    seconds <= TRANSCRIPT_TALK_SECONDS_MAX)
		begin_watching(watcher, &filter, seconds);
	else
		ipc_channel_refuse(channel, message->type);
}

static void on_watcher_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	forget_watcher(context);
}

static const struct ipc_channel_handler transcript_handler = {on_watcher_message, on_watcher_lost};

static void on_watcher_connection(void *context, int socket)
{
	struct supervisor *supervisor = context;
	struct watcher *watcher = NULL;

	for (size_t i = 0; watcher == NULL && i < GUESTS_MAX; i++)
		if (supervisor->transcripts->watchers[i].channel == NULL)
			watcher = &supervisor->transcripts->watchers[i];
	if (watcher == NULL) {
		os_socket_close(socket);
		return;
	}
	watcher->supervisor = supervisor;
	watcher->user = os_socket_peer_user(socket);
	watcher->channel = ipc_channel_new(supervisor->loop, socket, &transcript_handler, watcher);
	watcher->end = os_timer_new(supervisor->loop, on_end_of_watch_time, watcher);
	os_timer_start(watcher->end, WISH_US);
}

void supervisor_watch_transcripts(struct supervisor *supervisor)
{
	if (supervisor->transcripts == NULL)
		supervisor->transcripts = memory_alloc_zero(1, sizeof *supervisor->transcripts);
	for (size_t i = 0; i < supervisor->socket_count; i++)
		if (strcmp(supervisor->sockets[i].name, "transcript") == 0)
			supervisor->transcripts->listener = ipc_listener_new(
				supervisor->loop, supervisor->sockets[i].descriptor,
				on_watcher_connection, supervisor);
}

void supervisor_end_transcripts(struct supervisor *supervisor)
{
	ipc_listener_free(supervisor->transcripts->listener);
	supervisor->transcripts->listener = NULL;
	for (size_t i = 0; i < GUESTS_MAX; i++)
		if (supervisor->transcripts->watchers[i].channel != NULL)
			on_end_of_watch_time(&supervisor->transcripts->watchers[i]);
}
