// SPDX-License-Identifier: ISC
#include "dns/names/client.h"
#include "base/panic.h"
#include "base/table.h"
#include "dns/name.h"
#include "dns/names/protocol.h"
#include "ipc/pack.h"
#include "ipc/question.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const int64_t KEPT_LEAST_US = MINUTE_US;
static const int64_t KEPT_MOST_US = HOUR_US;
static const int64_t TEMPORARY_US = MINUTE_US / 2;

/* The address of a client. Its name is being looked up (QUESTION is open), or known (then it is in
 * the list "kept", most recently used last). */
struct names_entry {
	struct in6_addr address;
	struct names *names;
	struct ipc_question question; /* late: the requests that waited got a temporary failure */
	char *name;                   /* once known; "": none */
	bool is_temporary;
	int64_t until_us; /* known: valid until then */
	struct names_request *requests;
	struct names_entry *next, *previous;
	UT_hash_handle hh;
};

struct names {
	struct ipc_questions *questions;
	struct names_entry *entries;
	struct names_entry *kept;
	size_t kept_count;
	bool is_slow;
};

static struct names_entry *entry_of_question(struct ipc_question *question)
{
	return CONTAINER_OF(question, struct names_entry, question);
}

static bool is_asked_entry(const struct names_entry *entry)
{
	return entry->question.questions != NULL;
}

static void answer_requests(struct names_entry *entry, const char *name, bool is_temporary)
{
	while (entry->requests != NULL) {
		struct names_request *request = entry->requests;

		names_request_cancel(request);
		request->done(request->context, name, is_temporary);
	}
}

static void take_off_kept(struct names_entry *entry)
{
	DL_DELETE2(entry->names->kept, entry, previous, next);
	entry->names->kept_count--;
}

static void free_names_entry(struct names_entry *entry)
{
	ipc_question_cancel(&entry->question);
	HASH_DEL(entry->names->entries, entry);
	free(entry->name);
	free(entry);
}

static void keep_names_entry(struct names_entry *entry)
{
	struct names *names = entry->names;
	struct names_entry *oldest = names->kept;

	if (names->kept_count >= NAMES_KEPT_MAX) {
		take_off_kept(oldest);
		free_names_entry(oldest);
	}
	DL_APPEND2(names->kept, entry, previous, next);
	names->kept_count++;
}

/* Who comes to it now does not wait; its answer is kept when it comes. */
static void on_name_late(struct ipc_question *question)
{
	struct names_entry *entry = entry_of_question(question);

	entry->names->is_slow = true;
	answer_requests(entry, "", true);
}

static bool unpack_names_answer(struct unpack *unpack, struct str *address_out,
				bool *is_temporary_out, int64_t *ttl_us_out, struct str *name_out)
{
	*address_out = unpack_str(unpack);
	*is_temporary_out = unpack_u32(unpack) != 0;
	*ttl_us_out = unpack_u32(unpack) * SECOND_US;
	*name_out = unpack_str(unpack);
	return unpack_is_whole(unpack) && address_out->length == NAMES_ADDRESS_SIZE &&
	       (name_out->length == 0 || dns_name_is_host(*name_out));
}

static void take_answered_name(struct names_entry *entry, bool is_temporary, int64_t ttl_us,
			       struct str name)
{
	struct names *names = entry->names;

	if (!entry->question.is_late)
		names->is_slow = false;
	ipc_question_cancel(&entry->question);
	if (ttl_us < KEPT_LEAST_US)
		ttl_us = KEPT_LEAST_US;
	if (ttl_us > KEPT_MOST_US)
		ttl_us = KEPT_MOST_US;
	entry->until_us = os_clock_boot_us() + (is_temporary ? TEMPORARY_US : ttl_us);
	entry->is_temporary = is_temporary;
	free(entry->name);
	entry->name = memory_alloc_zero(name.length + 1, 1);
	memcpy(entry->name, name.data, name.length);
	keep_names_entry(entry);
	answer_requests(entry, entry->name, is_temporary);
}

static bool on_name_answered(struct ipc_question *question, struct str body)
{
	struct unpack unpack = {body, false};
	struct str address;
	struct str name;
	bool is_temporary;
	int64_t ttl_us;

	if (!unpack_names_answer(&unpack, &address, &is_temporary, &ttl_us, &name))
		return false;
	if (question == NULL)
		return true;
	if (memcmp(address.data, &entry_of_question(question)->address, NAMES_ADDRESS_SIZE) != 0)
		return false;
	take_answered_name(entry_of_question(question), is_temporary, ttl_us, name);
	return true;
}

static void pack_names_question(const struct ipc_question *question, struct buffer *body)
{
	const struct names_entry *entry =
		CONTAINER_OF(question, const struct names_entry, question);

	pack_str(body, str_slice((const char *)entry->address.s6_addr, NAMES_ADDRESS_SIZE));
}

/* The entry of ADDRESS whose name is being looked up, or NULL: too much is asked already. */
static struct names_entry *begin_name_lookup(struct names *names, const struct in6_addr *address,
					     struct names_entry *old)
{
	struct names_entry *entry = old;

	if (ipc_questions_count(names->questions) >= NAMES_OPEN_MAX)
		return NULL;
	if (old != NULL) {
		take_off_kept(old);
	} else {
		entry = memory_alloc_zero(1, sizeof *entry);
		entry->names = names;
		entry->address = *address;
		HASH_ADD(hh, names->entries, address, sizeof entry->address, entry);
	}
	ipc_question_ask(names->questions, &entry->question);
	return entry;
}

void names_ask(struct names *names, const struct in6_addr *address, struct names_request *request)
{
	struct names_entry *entry;

	HASH_FIND(hh, names->entries, address, sizeof *address, entry);
	if (entry != NULL && !is_asked_entry(entry) && entry->until_us > os_clock_boot_us()) {
		take_off_kept(entry);
		keep_names_entry(entry);
		request->done(request->context, entry->name, entry->is_temporary);
		return;
	}
	if (entry == NULL || !is_asked_entry(entry))
		entry = begin_name_lookup(names, address, entry);
	if (entry == NULL || entry->question.is_late) {
		request->done(request->context, "", true);
		return;
	}
	request->entry = entry;
	DL_APPEND2(entry->requests, request, previous, next);
}

void names_request_cancel(struct names_request *request)
{
	if (request->entry == NULL)
		return;
	DL_DELETE2(request->entry->requests, request, previous, next);
	request->entry = NULL;
}

bool names_request_is_open(const struct names_request *request)
{
	return request->entry != NULL;
}

bool names_are_slow(const struct names *names)
{
	return names->is_slow;
}

struct names *names_new(struct os_loop *loop, const char *path)
{
	static const struct ipc_question_kind kind = {.type = NAMES_ASK,
						      .answer_type = NAMES_ANSWER,
						      .pack = pack_names_question,
						      .answered = on_name_answered,
						      .late = on_name_late};
	struct names *names = memory_alloc_zero(1, sizeof *names);

	names->questions = ipc_questions_new(loop, path, &kind, NAMES_PATIENCE_US);
	return names;
}

void names_when_connected(struct names *names, void (*call)(void *context), void *context)
{
	ipc_client_when_connected(ipc_questions_client(names->questions), call, context);
}

void names_free(struct names *names)
{
	if (names == NULL)
		return;
	while (names->entries != NULL)
		free_names_entry(names->entries);
	ipc_questions_free(names->questions);
	free(names);
}
