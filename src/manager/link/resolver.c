// SPDX-License-Identifier: ISC
#include "manager/link/resolver.h"
#include "base/panic.h"
#include "base/table.h"
#include "ipc/channel.h"
#include "manager/link/mapping.h"
#include "os/clock.h"
#include <stdlib.h>
#include <utlist.h>

/* Limit of recipients asked for at the same time, unless they are of one message. */
enum { ASKED_MAX = 50000 };

/* The questions asked, or to be asked, about one message. */
struct question {
	uint64_t number;
	struct message *message;
	uint32_t first; /* question number of its first part */
	uint32_t parts;
	uint32_t open; /* parts not answered; 0: not asked yet */
	struct mapping mapping;
	struct question *next, *previous; /* while not asked */
	UT_hash_handle hh;                /* by number */
};

struct resolver {
	struct os_loop *loop;
	struct helpers *helpers;
	const struct resolver_handler *handler;
	void *context;
	struct question *questions; /* by number */
	struct question *kept;      /* not asked yet, in order */
	uint32_t next_part;
	size_t asked;       /* recipients */
	bool is_awaiting;   /* resolve will say when the directory is back */
	struct buffer body; /* of the next RESOLVE, sent at the end of this turn */
	struct os_task task;
	struct os_task ask_task; /* more may be asked now */
};

/* Without resolve nothing is lost: it is asked again when it is back. */
static void flush_resolver(void *context)
{
	struct resolver *resolver = context;

	if (resolver->body.length > 0)
		helpers_tell(resolver->helpers, "resolve", IPC_JOB_RESOLVE,
				     buffer_view(&resolver->body));
	buffer_reset(&resolver->body);
}

/* Questions of one turn are sent together, as many as fit in a packet. */
static void ask_part(struct resolver *resolver, const struct question *question, size_t first,
		     size_t count)
{
	const struct mail_envelope *envelope = question->mapping.envelope;
	struct buffer *body = &resolver->body;
	size_t size = IPC_JOB_RESOLVE_OVERHEAD + envelope->sender.length;

	for (size_t i = first; i < first + count; i++)
		size += IPC_JOB_RECIPIENT_OVERHEAD + envelope->recipients[i].address.length;
	if (body->length + size > IPC_BODY_MAX)
		flush_resolver(resolver);
	pack_u64(body, question->number);
	pack_u32(body, resolver->next_part++);
	pack_str(body, envelope->sender);
	pack_u32(body, (uint32_t)count);
	for (size_t i = first; i < first + count; i++) {
		pack_u32(body, envelope->recipients[i].number);
		pack_str(body, envelope->recipients[i].address);
	}
	os_loop_defer(resolver->loop, &resolver->task);
}

static bool may_ask_resolver(const struct resolver *resolver, const struct question *question)
{
	return helpers_can_resolve(resolver->helpers) &&
	       (resolver->asked == 0 ||
		resolver->asked + question->mapping.envelope->recipient_count <= ASKED_MAX);
}

static void ask_resolver(struct resolver *resolver, struct question *question)
{
	struct mail_envelope *envelope = question->mapping.envelope;
	size_t total = envelope->recipient_count;

	question->mapping = (struct mapping){.envelope = envelope};
	question->first = resolver->next_part;
	resolver->asked += total;
	for (size_t first = 0; first < total; first += IPC_JOB_RECIPIENTS_MAX) {
		size_t count = total - first;

		if (count > IPC_JOB_RECIPIENTS_MAX)
			count = IPC_JOB_RECIPIENTS_MAX;
		ask_part(resolver, question, first, count);
		question->open++;
	}
	question->parts = question->open;
}

/* Asks the questions that had to wait, in order. */
static void ask_kept(void *context)
{
	struct resolver *resolver = context;

	while (resolver->kept != NULL && may_ask_resolver(resolver, resolver->kept)) {
		struct question *question = resolver->kept;

		DL_DELETE2(resolver->kept, question, previous, next);
		ask_resolver(resolver, question);
	}
}

static void free_mapping_question(struct resolver *resolver, struct question *question)
{
	if (question->open > 0)
		resolver->asked -= question->mapping.envelope->recipient_count;
	else
		DL_DELETE2(resolver->kept, question, previous, next);
	HASH_DELETE(hh, resolver->questions, question);
	free(question);
}

static struct question *find_mapping_question(struct resolver *resolver, uint64_t number)
{
	struct question *question;

	HASH_FIND(hh, resolver->questions, &number, sizeof number, question);
	return question;
}

void resolver_ask(struct resolver *resolver, struct message *message, uint64_t number,
		  struct mail_envelope *envelope)
{
	struct question *question = memory_alloc_zero(1, sizeof *question);

	question->number = number;
	question->message = message;
	question->mapping.envelope = envelope;
	HASH_ADD(hh, resolver->questions, number, sizeof question->number, question);
	if (resolver->kept == NULL && may_ask_resolver(resolver, question))
		ask_resolver(resolver, question);
	else
		DL_APPEND2(resolver->kept, question, previous, next);
}

void resolver_forget(struct resolver *resolver, uint64_t number)
{
	struct question *question = find_mapping_question(resolver, number);

	if (question == NULL)
		return;
	free_mapping_question(resolver, question);
	/* later: when the manager ends there are no helpers to ask any more */
	os_loop_defer(resolver->loop, &resolver->ask_task);
}

void resolver_connected(struct resolver *resolver)
{
	ask_kept(resolver);
}

/* Pending questions will not be answered: ask the next resolve, before all others. */
void resolver_lost(struct resolver *resolver)
{
	struct question *question;
	struct question *next;

	buffer_reset(&resolver->body);
	resolver->is_awaiting = false;
	HASH_ITER (hh, resolver->questions, question, next) {
		if (question->open == 0)
			continue;
		question->open = 0;
		resolver->asked -= question->mapping.envelope->recipient_count;
		DL_PREPEND2(resolver->kept, question, previous, next);
	}
	ask_kept(resolver);
}

void resolver_await(struct resolver *resolver)
{
	if (resolver->is_awaiting || !helpers_can_resolve(resolver->helpers))
		return;
	helpers_tell(resolver->helpers, "resolve", IPC_JOB_AWAIT, STR(""));
	resolver->is_awaiting = true;
}

void resolver_back(struct resolver *resolver)
{
	resolver->is_awaiting = false;
}

/* --- answers --- */

/* All parts of QUESTION are answered, or some recipient cannot be resolved now. */
static void finish_mapping_question(struct resolver *resolver, struct question *question,
				    bool is_away)
{
	struct mapping mapping = question->mapping;
	struct message *message = question->message;

	free_mapping_question(resolver, question);
	if (mapping.is_unresolved) {
		resolver->handler->unmapped(resolver->context, message, is_away, mapping.text);
	} else {
		mapping_number(&mapping);
		resolver->handler->mapped(resolver->context, message, mapping.deliveries,
					  mapping.count, mapping.version);
	}
	ask_kept(resolver);
}

/* Takes over the deliveries of one part. False: a recipient is missing. */
static bool finish_part(struct resolver *resolver, struct question *question,
			const struct ipc_job_resolved *answer)
{
	struct mapping *mapping = &question->mapping;

	if (answer->version > mapping->version)
		mapping->version = answer->version;
	if (answer->flags & IPC_JOB_RESOLVED_MORE)
		return true;
	if (question->open == 1 && !mapping->is_unresolved && !mapping_is_whole(mapping))
		return false;
	if (question->open == 1 || mapping->is_unresolved)
		finish_mapping_question(resolver, question, answer->flags & IPC_JOB_RESOLVED_AWAY);
	else
		question->open--;
	return true;
}

/* Answers that are no longer needed are skipped. */
static struct question *find_asked(struct resolver *resolver, const struct ipc_job_resolved *answer)
{
	struct question *question = find_mapping_question(resolver, answer->number);

	if (question == NULL || question->open == 0 ||
	    answer->question - question->first >= question->parts)
		return NULL;
	return question;
}

static bool take_target_of_recipient(struct resolver *resolver, struct question *question,
				     const struct ipc_job_target *target)
{
	bool is_too_old = resolver->handler->is_too_old(resolver->context, question->message);

	return mapping_add(&question->mapping, target, is_too_old, os_clock_wall_us());
}

/* False when it is malformed. */
static bool read_resolver_answer(struct resolver *resolver, struct unpack *body)
{
	struct ipc_job_resolved answer;
	struct question *question;

	if (!ipc_job_take_resolved(body, &answer))
		return false;
	question = find_asked(resolver, &answer);
	for (uint32_t i = 0; i < answer.count; i++) {
		struct ipc_job_target target;

		if (!ipc_job_take_target(body, &target) ||
		    (question != NULL && !take_target_of_recipient(resolver, question, &target)))
			return false;
	}
	if (question == NULL)
		return true;
	resolver->handler->grew(resolver->context, question->message, question->mapping.count);
	return finish_part(resolver, question, &answer);
}

bool resolver_answered(struct resolver *resolver, struct str text)
{
	struct unpack body = {text, false};
	bool is_good = true;

	while (is_good && body.rest.length > 0)
		is_good = read_resolver_answer(resolver, &body);
	return is_good;
}

/* --- itself --- */

struct resolver *resolver_new(struct os_loop *loop, struct helpers *helpers,
			      const struct resolver_handler *handler, void *context)
{
	struct resolver *resolver = memory_alloc_zero(1, sizeof *resolver);

	resolver->loop = loop;
	resolver->helpers = helpers;
	resolver->handler = handler;
	resolver->context = context;
	resolver->task = (struct os_task){.call = flush_resolver, .context = resolver};
	resolver->ask_task = (struct os_task){.call = ask_kept, .context = resolver};
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	while (resolver->questions != NULL)
		free_mapping_question(resolver, resolver->questions);
	os_task_cancel(resolver->loop, &resolver->task);
	os_task_cancel(resolver->loop, &resolver->ask_task);
	buffer_clear(&resolver->body);
	free(resolver);
}
