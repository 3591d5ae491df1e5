// SPDX-License-Identifier: ISC
/*
 * For each sender, until one of these answers: what is known without a question; whether an address
 * with an extension has a record of its own; the user's record; the record of the address, or that
 * of the catch-all; the records of the mailboxes to which it leads. All are cached like other
 * answers.
 */
#include "directory/lookup/sender.h"
#include "base/panic.h"
#include "directory/lookup/internal.h"
#include "directory/record/key.h"
#include "directory/wire/frame.h"
#include "mail/address.h"
#include <stdlib.h>

struct directory_sending {
	struct directory *directory;
	directory_sender_judged *judged;
	void *context;
	struct directory_sender_request *request;
	struct arena *arena;
	struct str user;
	const struct str *senders;
	size_t count, sender; /* the one being examined */
	struct str key;       /* of it, in canonical form */
	struct str mailbox;   /* the same without extension, unless it has a record of its own */
	struct str *targets;  /* to which it leads, without extensions */
	size_t target_count, target;
	struct directory_question question;
	struct directory_request route;
};

/* --- the end --- */

static void sending_free(struct directory_sending *sending)
{
	arena_free(sending->arena);
	free(sending);
}

static void finish_sending(struct directory_sending *sending, const struct mail_verdict *verdict)
{
	struct mail_verdict copy = *verdict;
	directory_sender_judged *judged = sending->judged;
	void *context = sending->context;

	sending->request->sending = NULL;
	sending_free(sending);
	judged(context, &copy);
}

/* Says which of the senders it is. */
static void refuse_sending(struct directory_sending *sending)
{
	struct str sender = sending->senders[sending->sender];
	struct mail_verdict verdict;

	sender.length = sender.length < MAIL_ADDRESS_MAX ? sender.length : MAIL_ADDRESS_MAX;
	mail_verdict_set(&verdict, "5.7.1", "You may not send as " STR_FORMAT,
			 STR_ARGUMENTS(sender));
	finish_sending(sending, &verdict);
}

static void say_error(struct directory_sending *sending, const struct directory_answer_text *answer)
{
	struct mail_verdict verdict;

	directory_read_error(answer, &verdict);
	finish_sending(sending, &verdict);
}

static void examine_sender(struct directory_sending *sending);

/* The sender is the user's. */
static void grant_sender(struct directory_sending *sending)
{
	sending->sender++;
	examine_sender(sending);
}

/* --- records --- */

static bool find_value(const struct directory_answer_text *answer, const char *name,
		       struct str *value_out)
{
	for (size_t i = 0; i < answer->result_count; i++) {
		struct str found;

		directory_frame_split_result(answer->results[i], &found, value_out);
		if (str_equal(found, str_from(name)))
			return true;
	}
	return false;
}

/* Whether ANSWER is the record of one of his mailboxes. */
static bool is_his(const struct directory_sending *sending,
		   const struct directory_answer_text *answer)
{
	struct str user;

	return find_value(answer, "user", &user) && str_equal(user, sending->user);
}

static void ask_record_of_sending(struct directory_sending *sending, enum directory_table table,
				  struct str key, directory_answered *answered)
{
	sending->question = (struct directory_question){.answered = answered, .context = sending};
	directory_get_record(sending->directory, table, key, &sending->question);
}

/* Whether ANSWER, or what GRANTS says of it, ends the examination. */
static bool decide_sender(struct directory_sending *sending,
			  const struct directory_answer_text *answer,
			  bool (*grants)(const struct directory_sending *sending,
					 const struct directory_answer_text *answer))
{
	if (answer->error != DIRECTORY_ERROR_NONE)
		say_error(sending, answer);
	else if (grants(sending, answer))
		grant_sender(sending);
	else
		return false;
	return true;
}

/* --- where the address leads --- */

static void next_target(struct directory_sending *sending);

static void on_target(void *context, const struct directory_answer_text *answer)
{
	struct directory_sending *sending = context;

	if (!decide_sender(sending, answer, is_his))
		next_target(sending);
}

static void next_target(struct directory_sending *sending)
{
	struct str target;

	if (sending->target == sending->target_count) {
		refuse_sending(sending);
		return;
	}
	target = sending->targets[sending->target++];
	if (str_equal(target, sending->user))
		grant_sender(sending);
	else
		ask_record_of_sending(sending, DIRECTORY_ADDRESS, target, on_target);
}

static void keep_targets(struct directory_sending *sending, const struct directory_result *result)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	sending->target = sending->target_count = 0;
	sending->targets = arena_alloc(sending->arena,
				       DIRECTORY_SENDER_TARGETS_MAX * sizeof *sending->targets);
	for (size_t i = 0; i < result->target_count; i++) {
		const struct directory_target *target = &result->targets[i];

		buffer_reset(&key);
		if (target->kind == DIRECTORY_TARGET_LOCAL &&
		    sending->target_count < DIRECTORY_SENDER_TARGETS_MAX &&
		    directory_mailbox_key(target->address, &key) == 0)
			sending->targets[sending->target_count++] =
				arena_copy_str(sending->arena, buffer_view(&key));
	}
}

static void on_route_of_sender(void *context, const struct directory_result *result)
{
	struct directory_sending *sending = context;

	if (result->answer == DIRECTORY_UNKNOWN) {
		finish_sending(sending, &result->verdict);
		return;
	}
	if (result->answer != DIRECTORY_FOUND) {
		refuse_sending(sending);
		return;
	}
	keep_targets(sending, result);
	next_target(sending);
}

static void on_catch_all(void *context, const struct directory_answer_text *answer)
{
	struct directory_sending *sending = context;

	if (!decide_sender(sending, answer, is_his))
		directory_lookup(sending->directory, sending->key, on_route_of_sender, sending,
				 &sending->route);
}

/* A mailbox of another name than its address leads nowhere that has a record; without one of its
 * own it is that of the catch-all. */
static void on_address(void *context, const struct directory_answer_text *answer)
{
	struct directory_sending *sending = context;
	ptrdiff_t at = str_find_last(sending->mailbox, '@');

	if (decide_sender(sending, answer, is_his))
		return;
	if (!answer->exists && at >= 0)
		ask_record_of_sending(sending, DIRECTORY_ADDRESS,
				      str_skip(sending->mailbox, (size_t)at), on_catch_all);
	else
		directory_lookup(sending->directory, sending->key, on_route_of_sender, sending,
				 &sending->route);
}

/* --- what the user's record grants --- */

static bool is_one(const struct directory_sending *sending, struct str granted)
{
	if (granted.length > 0 && granted.data[0] == '@')
		return sending->key.length > granted.length &&
		       str_equal(str_skip(sending->key, sending->key.length - granted.length),
				 granted);
	return str_equal(granted, sending->key) || str_equal(granted, sending->mailbox);
}

static bool is_granted(const struct directory_sending *sending,
		       const struct directory_answer_text *answer)
{
	struct str list;
	struct str granted;

	if (!find_value(answer, "send_as", &list))
		return false;
	while (str_split(&list, ' ', &granted))
		if (is_one(sending, granted))
			return true;
	return false;
}

static void on_user_of_sending(void *context, const struct directory_answer_text *answer)
{
	struct directory_sending *sending = context;

	if (!decide_sender(sending, answer, is_granted))
		ask_record_of_sending(sending, DIRECTORY_ADDRESS, sending->mailbox, on_address);
}

/* --- each sender --- */

/* False: it is no address. */
static bool take_sender_keys(struct directory_sending *sending, struct str sender)
{
	struct buffer form CLEANUP(buffer_clear) = {0};
	struct buffer mailbox CLEANUP(buffer_clear) = {0};

	if (directory_key_address(sender, &form) < 0 ||
	    directory_mailbox_key(buffer_view(&form), &mailbox) < 0)
		return false;
	sending->key = arena_copy_str(sending->arena, buffer_view(&form));
	sending->mailbox = arena_copy_str(sending->arena, buffer_view(&mailbox));
	return true;
}

static void examine_mailbox(struct directory_sending *sending)
{
	bool is_served = directory_is_served(sending->directory);

	if (str_equal(sending->mailbox, sending->user) ||
	    (!is_served &&
	     directory_is_default_address(sending->directory, sending->user, sending->mailbox)))
		grant_sender(sending);
	else if (is_served)
		ask_record_of_sending(sending, DIRECTORY_USER, sending->user, on_user_of_sending);
	else
		refuse_sending(sending);
}

/* What has a record of its own is no extension of another address. */
static void on_whole(void *context, const struct directory_answer_text *answer)
{
	struct directory_sending *sending = context;

	if (answer->error != DIRECTORY_ERROR_NONE) {
		say_error(sending, answer);
		return;
	}
	if (answer->exists)
		sending->mailbox = sending->key;
	examine_mailbox(sending);
}

static void examine_sender(struct directory_sending *sending)
{
	if (sending->sender == sending->count) {
		struct mail_verdict verdict;

		mail_verdict_set(&verdict, "2.1.0", "Sender ok");
		finish_sending(sending, &verdict);
	} else if (!take_sender_keys(sending, sending->senders[sending->sender]))
		refuse_sending(sending);
	else if (str_equal(sending->key, sending->user))
		grant_sender(sending);
	else if (directory_is_served(sending->directory) &&
		 !str_equal(sending->key, sending->mailbox))
		ask_record_of_sending(sending, DIRECTORY_ADDRESS, sending->key, on_whole);
	else
		examine_mailbox(sending);
}

void directory_sender_ask(struct directory *directory, struct str user, const struct str *senders,
			  size_t count, directory_sender_judged *judged, void *context,
			  struct directory_sender_request *request)
{
	struct directory_sending *sending = memory_alloc_zero(1, sizeof *sending);
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct str *copies;

	if (request->sending != NULL)
		panic("a user's senders are asked about twice");
	*sending = (struct directory_sending){.directory = directory,
					      .judged = judged,
					      .context = context,
					      .request = request,
					      .arena = arena_new(),
					      .count = count};
	request->sending = sending;
	copies = arena_alloc(sending->arena, count * sizeof *copies);
	for (size_t i = 0; i < count; i++)
		copies[i] = arena_copy_str(sending->arena, senders[i]);
	sending->senders = copies;
	if (directory_key_normalize(DIRECTORY_USER, user, &name) < 0) {
		refuse_sending(sending);
		return;
	}
	sending->user = arena_copy_str(sending->arena, buffer_view(&name));
	examine_sender(sending);
}

void directory_sender_cancel(struct directory_sender_request *request)
{
	struct directory_sending *sending = request->sending;

	if (sending == NULL)
		return;
	request->sending = NULL;
	directory_cancel_record(sending->directory, &sending->question);
	directory_request_cancel(&sending->route);
	sending_free(sending);
}
