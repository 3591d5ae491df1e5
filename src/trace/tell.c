// SPDX-License-Identifier: ISC
/* The story as sentences, and as JSON. */
#include "base/text/json.h"
#include "mail/text/text.h"
#include "trace/story.h"
#include <string.h>

/* "{key}" is replaced by the value of that field. If an event has several sentences, the first
 * is used whose KEY the line has. */
static const struct {
	const char *event;
	const char *sentence;
	const char *key;
} sentences[] = {
	{"message_accepted",
	 "accepted from user {user} (uid {uid}): from <{from}>, {recipients} recipients, {size} "
	 "bytes",
	 "uid"},
	{"message_accepted",
	 "accepted from {client} ({helo}), user {user}: from <{from}>, {recipients} recipients, "
	 "{size} bytes, Message-ID {message_id}",
	 "user"},
	{"message_accepted",
	 "accepted from {client} ({helo}): from <{from}>, {recipients} recipients, {size} bytes, "
	 "Message-ID {message_id}",
	 "message_id"},
	{"message_accepted",
	 "accepted from {client} ({helo}): from <{from}>, {recipients} recipients, {size} bytes"},
	{"message_refused", "refused for {client}: {status} {text}"},
	{"message_found",
	 "found in the queue, where it came by {received}: from <{from}>, {recipients} recipients, "
	 "{size} bytes"},
	{"message_queued", "queued at {stage}"},
	{"message_restored", "restored from a backup, and is {message} now", "message"},
	{"message_restored", "restored from a backup"},
	{"message_preprocessed", "preprocessed: it is decided where each recipient goes"},
	{"delivered", "delivered to <{to}> by {by} for <{original}>: {status} {text}", "original"},
	{"delivered", "delivered to <{to}> by {by}: {status} {text}"},
	{"deferred",
	 "waiting: <{to}> by {by} for <{original}>: {status} {text}; tried again at {until}",
	 "original"},
	{"deferred", "waiting: <{to}> by {by}: {status} {text}; tried again at {until}"},
	{"postponed", "waiting: <{to}> until {until}, as its sender has asked"},
	{"hurried", "released by the operator before its time: <{to}>"},
	{"failed", "failed: <{to}> by {by} for <{original}>: {status} {text}", "original"},
	{"failed", "failed: <{to}> by {by}: {status} {text}"},
	{"message_recorded", "recorded: it was not known before"},
	{"message_filed", "filed for <{mailbox}> in {folder}, by rule {rule}", "rule"},
	{"message_filed", "filed for <{mailbox}> in {folder}"},
	{"message_filed_before", "for <{mailbox}> it is in {folder} already, by rule {rule}",
	 "rule"},
	{"message_filed_before", "for <{mailbox}> it is in {folder} already"},
	{"filing_failed", "not filed for <{mailbox}> in {folder}: {text}"},
	{"list_expanded", "sent on to {recipients} members of <{list}> from <{from}> as {message}"},
	{"list_member_bad", "no address among the members of <{list}>: {member}"},
	{"bounced", "bounced to <{to}> as {bounce}"},
	{"bounce_dropped", "failed, and nobody to tell: dropped, from <{from}>"},
	{"message_done", "done: all recipients are dealt with"},
	{"message_damaged", "damaged: it cannot be read and is left alone"},
};

/* Appended to the sentence of an attempt that TLS protected. */
#define SECURED " ({tls}, {cipher}, policy {policy}, verified: {verified})"

/* The fields at the start of every line are shown separately. */
static const char *const common[] = {"time", "level", "process", "event", "id"};

static bool is_common(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(common); i++)
		if (str_equal(key, str_from(common[i])))
			return true;
	return false;
}

static void tell_sentence(const struct log_line *line, struct str sentence, struct buffer *out)
{
	struct str piece;

	while (sentence.length > 0) {
		char key[32];

		(void)str_split(&sentence, '{', &piece);
		buffer_append_str(out, piece);
		if (sentence.length == 0)
			return;
		(void)str_split(&sentence, '}', &piece);
		if (piece.length >= sizeof key)
			return;
		memcpy(key, piece.data, piece.length);
		key[piece.length] = '\0';
		mail_text_append(out, log_line_get(line, key), MAIL_TEXT_ASCII);
	}
}

/* An event without a sentence: its name and its fields. */
static void tell_fields(const struct log_line *line, struct str event, struct buffer *out)
{
	const char *separator = "";
	struct str word;

	while (str_split(&event, '_', &word)) {
		buffer_append_string(out, separator);
		mail_text_append(out, word, MAIL_TEXT_ASCII);
		separator = " ";
	}
	separator = ": ";
	for (size_t i = 0; i < line->count; i++) {
		if (is_common(line->pairs[i].key))
			continue;
		buffer_append_string(out, separator);
		mail_text_append(out, line->pairs[i].key, MAIL_TEXT_ASCII);
		buffer_append_byte(out, ' ');
		mail_text_append(out, line->pairs[i].value, MAIL_TEXT_ASCII);
		separator = ", ";
	}
}

static const char *sentence_of(const struct log_line *line, struct str event)
{
	for (size_t i = 0; i < COUNT_OF(sentences); i++)
		if (str_equal(event, str_from(sentences[i].event)) &&
		    (sentences[i].key == NULL || log_line_get(line, sentences[i].key).length > 0))
			return sentences[i].sentence;
	return NULL;
}

void trace_tell(const struct log_line *line, bool with_id, struct buffer *out)
{
	struct str event = log_line_get(line, "event");
	const char *sentence = sentence_of(line, event);

	mail_text_append(out, log_line_get(line, "time"), MAIL_TEXT_ASCII);
	buffer_append_byte(out, ' ');
	if (with_id) {
		mail_text_append(out, log_line_get(line, "id"), MAIL_TEXT_ASCII);
		buffer_append_byte(out, ' ');
	}
	mail_text_append(out, log_line_get(line, "process"), MAIL_TEXT_ASCII);
	buffer_append_string(out, ": ");
	if (sentence != NULL)
		tell_sentence(line, str_from(sentence), out);
	else
		tell_fields(line, event, out);
	if (sentence != NULL && log_line_get(line, "cipher").length > 0)
		tell_sentence(line, STR(SECURED), out);
	buffer_append_byte(out, '\n');
}

void trace_tell_json(const struct log_line *line, struct buffer *out)
{
	buffer_append_byte(out, '{');
	for (size_t i = 0; i < line->count; i++) {
		if (i > 0)
			buffer_append_byte(out, ',');
		json_append_text(out, line->pairs[i].key);
		buffer_append_byte(out, ':');
		if (line->pairs[i].is_number)
			buffer_append_str(out, line->pairs[i].value);
		else
			json_append_text(out, line->pairs[i].value);
	}
	buffer_append_string(out, "}\n");
}
