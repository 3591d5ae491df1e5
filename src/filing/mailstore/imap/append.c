// SPDX-License-Identifier: ISC
/* Appends copies to mailboxes on an IMAP server (RFC 3501 section 6.3.11). */
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/mailstore/imap/internal.h"
#include "mailbox/copy.h"
#include "os/file/reason.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { APPEND_BLOCK_SIZE = 64 << 10, DATE_SIZE = 40 };

/* ---- the message as it is sent: CRLF at the end of each line ---- */

struct sending {
	struct mailbox_copy copy;
	char *block;
	struct buffer plain; /* lines end in LF */
	struct buffer wire;
	char last;
};

/* 0, MAILBOX_COPY_SEALED or -errno; sending_end() follows. */
static int sending_begin(struct sending *sending, const struct mailstore_append *append)
{
	int result = 0;

	*sending = (struct sending){.block = memory_alloc(APPEND_BLOCK_SIZE)};
	if (append->recipient.length > 0)
		result = mailbox_copy_begin_filed(&sending->copy, &append->content, append->sender,
						  append->recipient, sending->block,
						  APPEND_BLOCK_SIZE, &sending->plain);
	else
		mailbox_copy_begin_bare(&sending->copy, &append->content);
	if (result == 0 && append->is_binary)
		result = mailbox_copy_set_binary(&sending->copy, sending->block, APPEND_BLOCK_SIZE);
	return result;
}

static void sending_end(struct sending *sending)
{
	mailbox_copy_clear(&sending->copy);
	free(sending->block);
	buffer_clear(&sending->plain);
	buffer_clear(&sending->wire);
}

static bool sending_is_done(const struct sending *sending)
{
	return mailbox_copy_is_done(&sending->copy) && sending->plain.length == 0;
}

/* Makes the next part in WIRE: 0 or -errno. */
static int sending_next(struct sending *sending)
{
	struct str rest;
	int result = 0;

	buffer_reset(&sending->wire);
	if (!mailbox_copy_is_done(&sending->copy))
		result = mailbox_copy_next(&sending->copy, sending->block, APPEND_BLOCK_SIZE,
					   &sending->plain);
	if (result != 0)
		return result;
	rest = buffer_view(&sending->plain);
	for (size_t i = 0; i < rest.length; i++) {
		if (rest.data[i] == '\n' && sending->last != '\r')
			buffer_append_byte(&sending->wire, '\r');
		buffer_append_byte(&sending->wire, rest.data[i]);
		sending->last = rest.data[i];
	}
	buffer_reset(&sending->plain);
	return 0;
}

/* ---- appending ---- */

struct appending {
	const struct mailstore_gate *gate; /* NULL: none */
	struct mailstore_append *append;
	uint64_t size;
};

/* The bytes that will be sent. False: it cannot be, and the verdict says why. */
static bool measure_message(struct appending *appending)
{
	struct mail_verdict *verdict = &appending->append->verdict;
	struct sending sending;
	bool has_nul = false;
	int result = sending_begin(&sending, appending->append);

	appending->size = 0;
	while (result == 0 && !sending_is_done(&sending)) {
		result = sending_next(&sending);
		appending->size += sending.wire.length;
		has_nul |= str_find(buffer_view(&sending.wire), '\0') >= 0;
	}
	sending_end(&sending);
	if (result == MAILBOX_COPY_SEALED)
		mail_verdict_set(verdict, "5.6.3", "%s", MAILBOX_COPY_SEALED_TEXT);
	else if (result < 0)
		mail_verdict_set(verdict, "4.3.0", "Cannot read the message: %s",
				 os_file_reason(result));
	else if (has_nul)
		mail_verdict_set(verdict, "5.6.3",
				 "The message has NUL bytes, which no IMAP mailbox takes");
	return result == 0 && !has_nul;
}

/* RFC 3501, "date-time", in UTC. */
static void format_date(int64_t date_us, char out[DATE_SIZE])
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t seconds = (time_t)(date_us / SECOND_US);
	struct tm tm = {.tm_mday = 1, .tm_year = 70};

	(void)gmtime_r(&seconds, &tm);
	snprintf(out, DATE_SIZE, "%2d-%s-%04d %02d:%02d:%02d +0000", tm.tm_mday,
		 months[tm.tm_mon % 12], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void append_imap_flags(unsigned flags, struct buffer *out)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{MAILSTORE_SEEN, "\\Seen"},
		{MAILSTORE_FLAGGED, "\\Flagged"},
		{MAILSTORE_DRAFT, "\\Draft"},
	};
	const char *before = "";

	buffer_append_byte(out, '(');
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if ((flags & names[i].flag) == 0)
			continue;
		buffer_append_format(out, "%s%s", before, names[i].name);
		before = " ";
	}
	buffer_append_byte(out, ')');
}

/* From the last bytes on the server may append the message whatever happens here. */
static int send_appended_message(struct imap_connection *connection, struct appending *appending)
{
	struct sending sending;
	uint64_t left = appending->size;
	int result = sending_begin(&sending, appending->append);

	if (result != 0)
		result =
			imap_connection_break(connection, -EIO, "the message cannot be read again");
	while (result == 0 && !sending_is_done(&sending)) {
		result = sending_next(&sending);
		if (result != 0 || sending.wire.length > left) {
			result = imap_connection_break(connection, -EIO,
						       "the message cannot be read again");
			break;
		}
		left -= sending.wire.length;
		if (left == 0)
			appending->append->is_unknown = true;
		result = imap_connection_send(connection, buffer_view(&sending.wire));
	}
	if (result == 0 && left > 0)
		result =
			imap_connection_break(connection, -EIO, "the message cannot be read again");
	sending_end(&sending);
	return result == 0 ? imap_connection_send(connection, STR("\r\n")) : result;
}

/* One APPEND, with its answer. */
static int append_once(struct imap_connection *connection, struct appending *appending,
		       struct str name, struct imap_answer *answer)
{
	struct mailstore_append *append = appending->append;
	struct buffer command CLEANUP(buffer_clear) = {0};
	char date[DATE_SIZE];
	int result;

	format_date(append->date_us, date);
	buffer_append_string(&command, "APPEND ");
	buffer_append_str(&command, name);
	buffer_append_byte(&command, ' ');
	append_imap_flags(append->flags, &command);
	buffer_append_format(&command, " \"%s\" {%" PRIu64 "}", date, appending->size);
	buffer_append_byte(&command, '\0');
	result = imap_command_begin(connection, buffer_data(&command), appending->size);
	if (result == 0)
		result = imap_command_continue(connection, answer);
	if (result != 0)
		return result < 0 ? result : 0;
	result = send_appended_message(connection, appending);
	if (result == 0)
		result = imap_command_end(connection, NULL, NULL, answer);
	if (result == 0)
		append->is_unknown = false;
	return result;
}

/* Makes the mailbox NAME: 1: it is there; 0: it is refused, as REFUSAL says now; -errno. */
static int create_imap_mailbox(struct imap_connection *connection, struct str name,
			       struct imap_refusal *refusal)
{
	struct buffer command CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	int result;

	buffer_append_format(&command, "CREATE " STR_FORMAT, STR_ARGUMENTS(name));
	buffer_append_byte(&command, '\0');
	result = imap_command(connection, buffer_data(&command), 0, NULL, NULL, &answer);
	if (result < 0)
		return result;
	/* another one may have made it at the same time */
	if (answer.status == IMAP_OK || imap_is(answer.code, "ALREADYEXISTS"))
		return 1;
	imap_refusal_take(&answer, true, refusal);
	return 0;
}

/* After REFUSAL: whether the mailbox NAME was missing, and has been made: 1, 0 or -errno. */
static int make_missing(struct imap_connection *connection, const struct mailstore_append *append,
			struct str name, struct imap_refusal *refusal)
{
	bool is_missing = refusal->is_no && imap_is(str_from(refusal->code), "TRYCREATE");

	/* not every server says that by this code */
	if (refusal->is_no && !is_missing && !mailstore_folder_is_inbox(append->location.folder)) {
		int result = imap_mailbox_exists(connection, name);

		if (result < 0)
			return result;
		is_missing = result == 0;
	}
	return is_missing ? create_imap_mailbox(connection, name, refusal) : 0;
}

/* After ANSWER, a refusal: 1: it was appended at last, as *ANSWER says now; 0: the verdict says
 * why it was not; -errno. */
static int append_after_refusal(struct imap_connection *connection, struct appending *appending,
				struct str name, struct imap_answer *answer)
{
	struct imap_refusal refusal;
	int made;

	imap_refusal_take(answer, false, &refusal);
	made = make_missing(connection, appending->append, name, &refusal);
	if (made < 0)
		return made;
	if (made > 0) {
		int result = append_once(connection, appending, name, answer);

		if (result < 0)
			return result;
		if (answer->status == IMAP_OK)
			return 1;
		imap_refusal_take(answer, false, &refusal);
	}
	return imap_refusal_judge(connection, &refusal, appending->append, appending->size, name);
}

/* "APPENDUID VALIDITY UID" (RFC 4315) */
static void take_appended_uid(struct mailstore_append *append, const struct imap_answer *answer)
{
	struct str argument = answer->argument;
	uint64_t validity;
	uint64_t uid;

	if (imap_is(answer->code, "APPENDUID") && str_to_u64(imap_word(&argument), &validity) &&
	    str_to_u64(imap_word(&argument), &uid))
		snprintf(append->copy, sizeof append->copy, "%" PRIu64 ":%" PRIu64, validity, uid);
}

static int run_append(struct imap_connection *connection, void *context)
{
	struct appending *appending = context;
	struct mailstore_append *append = appending->append;
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	int result = imap_store_name(connection, &append->location, &name);

	if (result < 0) {
		mail_verdict_set(&append->verdict, "5.1.3", "%s", connection->problem);
		append->is_refused = true;
		return 0;
	}
	if (!mailstore_may_append(appending->gate, append))
		return 0;
	result = append_once(connection, appending, buffer_view(&name), &answer);
	if (result == 0)
		result = answer.status == IMAP_OK
				 ? 1
				 : append_after_refusal(connection, appending, buffer_view(&name),
							&answer);
	if (result < 0)
		return result == -ENOTCONN && append->is_unknown ? -ECONNABORTED : result;
	if (result == 0)
		return 0;
	take_appended_uid(append, &answer);
	mail_verdict_set(&append->verdict, "2.0.0", "stored");
	return 0;
}

void imap_append_all(struct mailstore *mailstore, struct mailstore_append *appends, size_t count,
		     const struct mailstore_gate *gate)
{
	struct imap_store *store = (struct imap_store *)mailstore;
	bool is_down = false; /* then the others do not wait for it, too */

	for (size_t i = 0; i < count; i++) {
		struct appending appending = {.gate = gate, .append = &appends[i]};
		int result = 0;

		if (!measure_message(&appending))
			continue;
		if (!is_down)
			result = imap_store_with(store, appends[i].location.user, run_append,
						 &appending);
		if (result == -EINVAL)
			mail_verdict_set(&appends[i].verdict, "5.1.3",
					 "No mailbox can have such a name");
		else if (is_down || result < 0)
			mail_verdict_set(&appends[i].verdict, "4.3.0", "%s", mailstore->error);
		if (!is_down)
			imap_store_judge(store, appends[i].location.user, result);
		appends[i].is_away = mailstore->is_away;
		is_down |= mailstore->is_away || result == -ETIMEDOUT;
	}
}
