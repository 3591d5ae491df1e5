// SPDX-License-Identifier: ISC
/* Finds copies on an IMAP server: by the Message-ID as the server has it, then by what they hold.
 */
#include "base/text/quote.h"
#include "base/timestamp.h"
#include "filing/mailstore/imap/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	COMMANDS_TIME = 10,    /* a search may take as long as this many commands */
	HEADER_ESTIMATE = 512, /* bytes of an answer about one Message-ID */
};

/* ---- candidates ---- */

struct finding {
	const struct mailstore_location *location;
	struct arena *arena;
	struct imap_mailbox mailbox;
	uint64_t *uids; /* of the candidates */
	size_t uid_count;
	bool are_too_many;
	uint64_t uid; /* that is compared now */
	uint64_t size;
	int compared; /* 1, 0 or -errno */
	struct mailstore_found *found;
	size_t found_count;
};

static void add_candidate_uid(struct finding *finding, uint64_t uid)
{
	if (finding->uid_count == IMAP_FOUND_MAX)
		finding->are_too_many = true;
	else if (uid > 0)
		finding->uids[finding->uid_count++] = uid;
}

static void add_range(void *context, uint64_t from, uint64_t to)
{
	struct finding *finding = context;

	for (uint64_t uid = from; uid <= to && !finding->are_too_many; uid++)
		add_candidate_uid(finding, uid);
}

static void take_search(void *context, const struct imap_response *response)
{
	imap_mailbox_found(response->text, add_range, context);
}

static void take_header(void *context, const struct imap_response *response)
{
	struct finding *finding = context;
	uint64_t uid = imap_mailbox_fetched(response->text);
	/* "" or NIL without the field, if there is no empty line after the header, either */
	struct str header = response->literal.length > 0 ? response->literal : STR("");

	if (uid > 0 && mailstore_compare_header(finding->location, header))
		add_candidate_uid(finding, uid);
}

static int check_imap_answer(struct imap_connection *connection, const char *what,
			     const struct imap_answer *answer)
{
	return answer->status == IMAP_OK ? 0 : imap_store_refuse(connection, -EIO, what, answer);
}

static int search_message_id(struct imap_connection *connection, struct finding *finding)
{
	struct buffer command CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	int result;

	buffer_append_string(&command, "UID SEARCH HEADER MESSAGE-ID ");
	quote_append(&command, finding->location->id);
	buffer_append_byte(&command, '\0');
	result = imap_command(connection, buffer_data(&command), 0, take_search, finding, &answer);
	return result == 0 ? check_imap_answer(connection, "the search failed", &answer) : result;
}

/* What has no Message-ID, or a malformed one, cannot be searched for by it. */
static int look_at_headers(struct imap_connection *connection, struct finding *finding)
{
	uint64_t size = finding->mailbox.messages * HEADER_ESTIMATE;
	struct imap_answer answer;
	int result;

	if (finding->mailbox.messages == 0)
		return 0;
	if (size > IMAP_MESSAGE_MAX)
		size = IMAP_MESSAGE_MAX;
	result = imap_command(connection, "UID FETCH 1:* (BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])",
			      size, take_header, finding, &answer);
	return result == 0
		       ? check_imap_answer(connection, "the Message-IDs cannot be read", &answer)
		       : result;
}

/* ---- comparing ---- */

/* "7 FETCH (UID 12 RFC822.SIZE 345)" */
static void take_message_size(void *context, const struct imap_response *response)
{
	struct finding *finding = context;
	struct str text = response->text;
	uint64_t size;

	if (imap_mailbox_fetched(response->text) != finding->uid)
		return;
	while (text.length > 0) {
		if (*text.data == '(' || *text.data == ')')
			text = str_skip(text, 1);
		if (imap_is(imap_word(&text), "RFC822.SIZE") && str_to_u64(imap_word(&text), &size))
			finding->size = size;
	}
}

static void take_fetched_message(void *context, const struct imap_response *response)
{
	struct finding *finding = context;
	struct ipc_content content = {
		.bytes = response->literal, .file = -1, .size = response->literal.length};

	if (finding->compared == 0 && response->literal.data != NULL &&
	    imap_mailbox_fetched(response->text) == finding->uid)
		finding->compared = mailstore_compare(finding->location, &content);
}

static int fetch_candidate(struct imap_connection *connection, struct finding *finding,
			   const char *what, uint64_t size, imap_untagged *each)
{
	struct buffer command CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	int result;

	buffer_append_format(&command, "UID FETCH %" PRIu64 " (UID %s)", finding->uid, what);
	buffer_append_byte(&command, '\0');
	result = imap_command(connection, buffer_data(&command), size, each, finding, &answer);
	return result == 0 ? check_imap_answer(connection, "a message cannot be read", &answer)
			   : result;
}

static int compare_candidate(struct imap_connection *connection, struct finding *finding)
{
	int result;

	finding->size = 0;
	finding->compared = 0;
	result = fetch_candidate(connection, finding, "RFC822.SIZE", 0, take_message_size);
	if (result == 0 && finding->size > IMAP_MESSAGE_MAX)
		return imap_store_refuse(connection, -EMSGSIZE,
					 "a message is too large to be compared",
					 &(struct imap_answer){.text = STR("")});
	if (result == 0)
		result = fetch_candidate(connection, finding, "BODY.PEEK[]", finding->size,
					 take_fetched_message);
	if (result < 0)
		return result;
	if (finding->compared == 1) {
		struct buffer copy CLEANUP(buffer_clear) = {0};

		buffer_append_format(&copy, "%" PRIu64 ":%" PRIu64, finding->mailbox.validity,
				     finding->uid);
		finding->found[finding->found_count++].copy =
			arena_copy(finding->arena, buffer_view(&copy));
	}
	return finding->compared < 0 ? finding->compared : 0;
}

static int compare_uids(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int compare_candidates(struct imap_connection *connection, struct finding *finding)
{
	int64_t until_us =
		os_clock_monotonic_us() + COMMANDS_TIME * connection->settings->timeout_us;
	const struct imap_answer none = {.text = STR("")};
	int result = 0;

	if (finding->are_too_many)
		return imap_store_refuse(connection, -E2BIG,
					 "too many messages have its Message-ID", &none);
	qsort(finding->uids, finding->uid_count, sizeof *finding->uids, compare_uids);
	for (size_t i = 0; i < finding->uid_count && result == 0; i++) {
		if (i > 0 && finding->uids[i] == finding->uids[i - 1])
			continue; /* the server said it twice */
		if (os_clock_monotonic_us() > until_us)
			return imap_store_refuse(connection, -ETIMEDOUT,
						 "the search takes too long", &none);
		finding->uid = finding->uids[i];
		result = compare_candidate(connection, finding);
	}
	return result;
}

static int run_find(struct imap_connection *connection, void *context)
{
	struct finding *finding = context;
	int result;

	finding->uid_count = 0;
	finding->found_count = 0;
	result = imap_mailbox_open(connection, "EXAMINE", finding->location, &finding->mailbox);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	result = mailstore_compare_is_derived(finding->location)
			 ? look_at_headers(connection, finding)
			 : search_message_id(connection, finding);
	return result == 0 ? compare_candidates(connection, finding) : result;
}

int imap_find(struct mailstore *mailstore, const struct mailstore_location *location,
	      struct arena *arena, struct mailstore_found **found_out, size_t *count_out)
{
	struct finding finding = {
		.location = location,
		.arena = arena,
		.uids = arena_alloc(arena, IMAP_FOUND_MAX * sizeof *finding.uids),
		.found = arena_alloc(arena, IMAP_FOUND_MAX * sizeof *finding.found),
	};
	int result =
		imap_store_with((struct imap_store *)mailstore, location->user, run_find, &finding);

	if (result < 0) {
		imap_store_judge((struct imap_store *)mailstore, location->user, result);
		return result;
	}
	*found_out = finding.found;
	*count_out = finding.found_count;
	return 0;
}
