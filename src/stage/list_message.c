// SPDX-License-Identifier: ISC
/* One of the messages that a list's mail becomes. */
#include "base/panic.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file.h"
#include "stage/list_copy.h"
#include "stage/list_internal.h"
#include <stdlib.h>
#include <utlist.h>

/* Of a loop's turn: other lists have theirs. */
enum { SLICE = 16 * LIST_COPY_BLOCK };

static void failed(struct list_message *message, int error)
{
	queue_client_abandon(&message->queue);
	message->state = LIST_MESSAGE_NEW;
	message->error = error;
	list_expansion_moved(message->expansion, message);
}

/* 0 or -errno; the message may be WHOLE then. */
static int copy_slice(struct list_message *message)
{
	const struct list_expansion *expansion = message->expansion;
	const struct stage_helper_job *job = expansion->job;
	uint64_t end = job->size;

	if (message->copied == 0) {
		int error = os_file_write(message->queue.file, buffer_data(&expansion->head),
					  expansion->head.length, 0);

		if (error < 0)
			return error;
	}
	if (end > message->copied + SLICE)
		end = message->copied + SLICE;
	while (message->copied < end) {
		int64_t count = list_copy_bytes(job->file, message->queue.file, message->copied,
						expansion->head.length, end - message->copied);

		if (count < 0)
			return (int)count;
		message->copied += (uint64_t)count;
	}
	if (message->copied == job->size)
		message->state = LIST_MESSAGE_WHOLE;
	return 0;
}

static void copy(struct list_expansion *expansion)
{
	struct list_message *message;
	int error;

	DL_FOREACH2 (expansion->messages, message, next)
		if (message->state == LIST_MESSAGE_COPYING)
			break;
	if (message == NULL)
		panic("a list's message is not there");
	error = copy_slice(message);
	if (error < 0) {
		failed(message, error);
	} else if (message->state == LIST_MESSAGE_WHOLE) {
		list_expansion_moved(expansion, message);
	} else {
		expansion->timed = copy;
		os_timer_start(expansion->timer, 0);
	}
}

static void log_queued(const struct list_message *message)
{
	char id[MAIL_ID_SIZE];

	mail_id_format(message->envelope->id, id);
	log_event(EVENT_LIST_EXPANDED, log_id(message->expansion->job->id),
		  log_str("list", message->expansion->list), log_string("message", id),
		  log_str("from", message->envelope->sender),
		  log_number("recipients", (int64_t)message->envelope->recipient_count));
}

static void on_queue_done(void *context, int result)
{
	struct list_message *message = context;

	if (result < 0) {
		failed(message, result);
	} else if (message->state == LIST_MESSAGE_OPENING) {
		message->state = LIST_MESSAGE_COPYING;
		message->copied = 0;
		copy(message->expansion);
	} else {
		message->state = LIST_MESSAGE_DONE;
		log_queued(message);
		list_expansion_moved(message->expansion, message);
	}
}

struct list_message *list_message_new(struct list_expansion *expansion, const struct str *members,
				      size_t count)
{
	struct list_message *message = memory_alloc_zero(1, sizeof *message);
	struct mail_envelope *envelope = mail_envelope_new();

	message->expansion = expansion;
	message->queue.done = on_queue_done;
	message->queue.context = message;
	message->envelope = envelope;
	envelope->stage = MAIL_STAGE_SUBMIT;
	envelope->utf8 = expansion->job->utf8;
	envelope->sender = arena_copy_str(envelope->arena, expansion->sender);
	envelope->received = STR("list");
	envelope->size = expansion->head.length + expansion->job->size;
	for (size_t i = 0; i < count; i++)
		mail_envelope_add(envelope, members[i]);
	DL_APPEND2(expansion->messages, message, previous, next);
	expansion->message_count++;
	return message;
}

void list_message_open(struct list_message *message)
{
	message->state = LIST_MESSAGE_OPENING;
	queue_client_open(message->expansion->queue, &message->queue);
}

void list_message_commit(struct list_message *message)
{
	message->state = LIST_MESSAGE_COMMITTING;
	message->envelope->id = (struct mail_id){message->queue.number, os_clock_wall_us()};
	queue_client_commit(&message->queue, message->envelope);
}

void list_message_free(struct list_message *message)
{
	struct list_expansion *expansion = message->expansion;

	DL_DELETE2(expansion->messages, message, previous, next);
	expansion->message_count--;
	queue_client_abandon(&message->queue);
	mail_envelope_free(message->envelope);
	free(message);
}
