// SPDX-License-Identifier: ISC
/* The story as sentences, and as JSON. */
#include "base/text/json.h"
#include "mail/text/text.h"
#include "trace/story.h"
#include <string.h>

/* How an attempt was protected. */
#define SECURED "[ ({tls}, {cipher}, policy {policy}, verified: {verified})]"
#define AFTER   "[, {delay} s after it was received]"

/* "{key}" is replaced by the value of that field; what is in brackets is left out if one of its
 * fields has none. If an event has several sentences, the first is used whose KEY the line has. */
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
	 "accepted from {client}[ ({helo})][, user {user}]: from <{from}>, {recipients} "
	 "recipients, {size} bytes[, Message-ID {message_id}][, session {session}][ ({tls}, "
	 "{cipher})]"},
	{"message_refused",
	 "refused for {client}[, user {user}]:[ {status}] {text}[, session {session}]", "client"},
	{"message_refused", "refused for user {user} (uid {uid}): {text}"},
	{"command_refused",
	 "refused for {client}[, user {user}]: {code}[ {status}] {text}[, to \"{command}\"]"},
	{"session_opened", "{client} has connected[, from port {client_port}]"},
	{"session_closed", "the session of {client} has ended"},
	{"message_found",
	 "found in the queue, where it came by {received}: from <{from}>, {recipients} recipients, "
	 "{size} bytes"},
	{"message_queued", "queued at {stage}"},
	{"node_took", "handed over by node {node}, where it is {package}: {recipients} recipients, "
		      "{size} bytes"},
	{"node_refused", "not taken from node {node}, where it is {package}: {status} {text}"},
	{"message_restored", "restored from a backup[, and is {message} now]"},
	{"message_preprocessed", "preprocessed: it is decided where each recipient goes"},
	{"delivered",
	 "delivered to <{to}> by {by}[ for <{original}>]: {status} {text}" AFTER SECURED},
	{"deferred", "waiting: <{to}> by {by}[ for <{original}>]: {status} {text}; tried again at "
		     "{until}" SECURED},
	{"postponed", "waiting: <{to}> until {until}, as its sender has asked"},
	{"hurried", "released by the operator before its time: <{to}>"},
	{"failed", "failed: <{to}> by {by}[ for <{original}>]: {status} {text}" AFTER SECURED},
	{"message_recorded", "recorded: it was not known before"},
	{"message_filed", "filed for <{mailbox}> in {folder}[, by rule {rule}]"},
	{"message_filed_before", "for <{mailbox}> it is in {folder} already[, by rule {rule}]"},
	{"filing_failed", "not filed for <{mailbox}> in {folder}: {text}"},
	{"list_expanded", "sent on to {recipients} members of <{list}> from <{from}> as {message}"},
	{"list_member_bad", "no address among the members of <{list}>: {member}"},
	{"bounced", "bounced to <{to}> as {bounce}"},
	{"bounce_dropped", "failed, and nobody to tell: dropped, from <{from}>"},
	{"message_done", "done: all recipients are dealt with"},
	{"message_damaged", "damaged: it cannot be read and is left alone"},
};

/* The fields at the start of every line are shown separately. */
static const char *const common[] = {"time", "level", "process", "event", "id", "at"};

static bool is_common(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(common); i++)
		if (str_equal(key, str_from(common[i])))
			return true;
	return false;
}

/* The value of the next "{key}" in *PART; what is before it is *BEFORE_OUT. False: there is none.
 */
static bool take_placeholder(const struct log_line *line, struct str *part, struct str *before_out,
			     struct str *value_out)
{
	char key[32];
	struct str name;

	(void)str_split(part, '{', before_out);
	if (part->length == 0)
		return false;
	(void)str_split(part, '}', &name);
	if (name.length >= sizeof key)
		return false;
	memcpy(key, name.data, name.length);
	key[name.length] = '\0';
	*value_out = log_line_get(line, key);
	return true;
}

static bool has_all_values(const struct log_line *line, struct str part)
{
	struct str before;
	struct str value;

	while (take_placeholder(line, &part, &before, &value))
		if (value.length == 0)
			return false;
	return true;
}

static void tell_part(const struct log_line *line, struct str part, struct buffer *out)
{
	struct str before;
	struct str value;

	while (take_placeholder(line, &part, &before, &value)) {
		buffer_append_str(out, before);
		mail_text_append(out, value, MAIL_TEXT_ASCII);
	}
	buffer_append_str(out, before);
}

static void tell_sentence(const struct log_line *line, struct str sentence, struct buffer *out)
{
	struct str part;

	while (str_split(&sentence, '[', &part)) {
		tell_part(line, part, out);
		if (str_split(&sentence, ']', &part) && has_all_values(line, part))
			tell_part(line, part, out);
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
	struct str id = log_line_get(line, "id");
	struct str at = log_line_get(line, "at");
	const char *sentence = sentence_of(line, event);

	mail_text_append(out, log_line_get(line, "time"), MAIL_TEXT_ASCII);
	buffer_append_byte(out, ' ');
	if (at.length > 0) {
		mail_text_append(out, at, MAIL_TEXT_ASCII);
		buffer_append_byte(out, ' ');
	}
	if (with_id && id.length > 0) {
		mail_text_append(out, id, MAIL_TEXT_ASCII);
		buffer_append_byte(out, ' ');
	}
	mail_text_append(out, log_line_get(line, "process"), MAIL_TEXT_ASCII);
	buffer_append_string(out, ": ");
	if (sentence != NULL)
		tell_sentence(line, str_from(sentence), out);
	else
		tell_fields(line, event, out);
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
