// SPDX-License-Identifier: ISC
/*
 * One list: first finds the lists that it leads to, then reads their members page by page, one
 * message for each page; when a group of messages is written it is committed.
 */
#include "base/panic.h"
#include "deliver/list/copy.h"
#include "deliver/list/internal.h"
#include "log/event.h"
#include "mail/address.h"
#include "os/clock.h"
#include "os/file/reason.h"
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

static const int64_t AGAIN_US = SECOND_US;

static void continue_expansion(struct list_expansion *expansion);

static void end_expansion(struct list_expansion *expansion, const struct mail_verdict *verdict,
			  const char *trigger)
{
	expansion->done(expansion->context, verdict, trigger);
}

static void finish_expansion(struct list_expansion *expansion, const char *status, const char *text)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, status, "%s", text);
	end_expansion(expansion, &verdict, NULL);
}

/* Tries again later: all of it, or, if some members have it already, from this point. */
static void defer_expansion(struct list_expansion *expansion, const struct mail_verdict *verdict,
			    const char *trigger)
{
	if (!expansion->is_begun) {
		end_expansion(expansion, verdict, trigger);
		return;
	}
	expansion->timed = continue_expansion;
	os_timer_start(expansion->timer, AGAIN_US);
}

/* --- messages --- */

static void defer_for_queue(struct list_expansion *expansion, int error)
{
	struct mail_verdict verdict;

	log_event(EVENT_QUEUE_ERROR, log_id(expansion->job->id), log_str(list, expansion->list),
		  log_error(error));
	if (error == -ENOSPC || error == -EDQUOT)
		mail_verdict_set(&verdict, "4.3.1", "Insufficient system storage");
	else if (error == -EBADMSG)
		mail_verdict_set(&verdict, "4.3.0", "The message cannot be read: %s",
				 os_file_reason(error));
	else
		mail_verdict_set(&verdict, "4.3.0", "The queue cannot take the list's mail now");
	defer_expansion(expansion, &verdict, NULL);
}

static struct list_message *find_message_in_state(const struct list_expansion *expansion,
						  enum list_message_state state)
{
	struct list_message *message;

	DL_FOREACH2 (expansion->messages, message, next)
		if (message->state == state)
			return message;
	return NULL;
}

/* All messages of a group are committed, or failed. */
static void settle_message_group(struct list_expansion *expansion)
{
	const struct list_message *failed = find_message_in_state(expansion, LIST_MESSAGE_NEW);

	while (find_message_in_state(expansion, LIST_MESSAGE_DONE) != NULL) {
		list_message_free(find_message_in_state(expansion, LIST_MESSAGE_DONE));
		expansion->queued++;
		expansion->is_begun = true;
	}
	if (failed == NULL) {
		continue_expansion(expansion);
		return;
	}
	if (failed->error == -ENOTCONN) /* it may be in the queue */
		expansion->is_begun = true;
	defer_for_queue(expansion, failed->error);
}

static void commit_all(struct list_expansion *expansion)
{
	struct list_message *message;

	expansion->committing = expansion->message_count + 1;
	DL_FOREACH2 (expansion->messages, message, next)
		list_message_commit(message);
	if (--expansion->committing == 0)
		settle_message_group(expansion);
}

static void on_list_message_moved(struct list_expansion *expansion, struct list_message *message)
{
	if (expansion->committing > 0) {
		if (--expansion->committing == 0)
			settle_message_group(expansion);
	} else if (message->state == LIST_MESSAGE_NEW) {
		defer_for_queue(expansion, message->error);
	} else {
		continue_expansion(expansion);
	}
}

/* --- members --- */

/* False: it is not an address. */
static bool take_member(struct list_expansion *expansion, struct arena *arena, struct str member,
			struct str *address_out)
{
	struct mail_address address;

	if (mail_address_parse(member, MAIL_ADDRESS_UTF8, &address) < 0) {
		log_event(EVENT_LIST_MEMBER_BAD, log_id(expansion->job->id),
			  log_str(list, expansion->list), log_str(member, member));
		return false;
	}
	*address_out = arena_copy_str(arena, member);
	return true;
}

/* Lists have nodes of their own, and a member of several of them gets the mail from the first. */
static bool is_wanted_member(struct list_expansion *expansion, struct str member)
{
	const struct list_graph *graph = &expansion->graph;

	return !list_graph_is_list(graph, member) &&
	       (HASH_COUNT(graph->nodes) == 1 || list_seen_add(&expansion->seen, member));
}

static void take_page(struct list_expansion *expansion, const struct directory_members *page)
{
	struct arena *arena = arena_new();
	struct str *members = arena_alloc(arena, (page->count + 1) * sizeof *members);
	size_t count = 0;

	for (size_t i = 0; i < page->count; i++)
		if (is_wanted_member(expansion, page->members[i]))
			count += take_member(expansion, arena, page->members[i], &members[count]);
	if (count > 0)
		list_message_new(expansion, members, count);
	expansion->members += count;
	if (page->count > 0) {
		buffer_reset(&expansion->after);
		buffer_append_str(&expansion->after, page->members[page->count - 1]);
	}
	if (page->is_end) {
		expansion->node = expansion->node->hh.next;
		buffer_reset(&expansion->after);
	}
	arena_free(arena);
}

static void on_expansion_members(void *context, const struct directory_members *page)
{
	struct list_expansion *expansion = context;

	if (!page->is_known) {
		defer_expansion(expansion, &page->verdict, "directory");
		return;
	}
	take_page(expansion, page);
	continue_expansion(expansion);
}

static void succeed_expansion(struct list_expansion *expansion)
{
	char text[96];

	if (expansion->members == 0) {
		finish_expansion(expansion, "2.0.0", "the list has no members");
		return;
	}
	snprintf(text, sizeof text, "sent on to %zu members in %zu messages", expansion->members,
		 expansion->queued);
	finish_expansion(expansion, "2.0.0", text);
}

static void continue_expansion(struct list_expansion *expansion)
{
	struct list_message *message = find_message_in_state(expansion, LIST_MESSAGE_NEW);

	if (message != NULL)
		list_message_open(message);
	else if (expansion->node != NULL && expansion->message_count < DELIVER_LIST_GROUP)
		directory_list_members(expansion->directory, expansion->node->address,
				       buffer_view(&expansion->after), on_expansion_members,
				       expansion, &expansion->page);
	else if (expansion->messages != NULL)
		commit_all(expansion);
	else
		succeed_expansion(expansion);
}

/* --- the list --- */

static void on_expansion_post_judged(void *context, const struct mail_verdict *verdict,
				     bool is_away)
{
	struct list_expansion *expansion = context;

	if (verdict->class != MAIL_OK) {
		defer_expansion(expansion, verdict, is_away ? "directory" : NULL);
		return;
	}
	expansion->node = expansion->graph.nodes;
	continue_expansion(expansion);
}

static void on_graph(void *context, const struct mail_verdict *verdict, const char *trigger)
{
	struct list_expansion *expansion = context;

	if (verdict != NULL) {
		defer_expansion(expansion, verdict, trigger);
		return;
	}
	directory_post_ask(expansion->directory, &expansion->graph.list, expansion->job->sender,
			   on_expansion_post_judged, expansion, &expansion->post);
}

static void on_expansion_timer(void *context)
{
	struct list_expansion *expansion = context;

	expansion->timed(expansion);
}

void list_expansion_start(struct list_expansion *expansion)
{
	const struct deliver_helper_job *job = expansion->job;
	struct buffer chain CLEANUP(buffer_clear) = {0};
	struct mail_verdict verdict;
	int looped;

	expansion->moved = on_list_message_moved;
	if (!directory_is_served(expansion->directory)) {
		finish_expansion(expansion, "4.3.5", "no directory is configured");
		return;
	}
	if (mail_sender_is_null(job->sender)) {
		finish_expansion(expansion, "5.7.2", "the list takes no bounces");
		return;
	}
	looped = list_copy_find_loop(&job->content, expansion->key, expansion->list, expansion->via,
				     &chain);
	if (looped < 0) {
		mail_verdict_set(&verdict, "4.3.0", "the message cannot be read: %s",
				 os_file_reason(looped));
		end_expansion(expansion, &verdict, NULL);
	} else if (looped > 0) {
		mail_verdict_set(&verdict, "5.4.6", "mail loop: " STR_FORMAT,
				 STR_ARGUMENTS(buffer_view(&chain)));
		end_expansion(expansion, &verdict, NULL);
	} else {
		expansion->timer = os_timer_new(expansion->loop, on_expansion_timer, expansion);
		expansion->graph = (struct list_graph){.directory = expansion->directory,
						       .job = job,
						       .key = expansion->key,
						       .via = expansion->via,
						       .done = on_graph,
						       .context = expansion};
		list_graph_start(&expansion->graph, expansion->list);
	}
}

void list_expansion_clear(struct list_expansion *expansion)
{
	directory_members_cancel(&expansion->page);
	directory_post_cancel(&expansion->post);
	while (expansion->messages != NULL)
		list_message_free(expansion->messages);
	if (expansion->timer != NULL)
		os_timer_free(expansion->timer);
	list_graph_clear(&expansion->graph);
	list_seen_clear(&expansion->seen);
	buffer_clear(&expansion->after);
}
