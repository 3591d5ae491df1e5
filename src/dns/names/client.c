// SPDX-License-Identifier: ISC
#include "dns/names/client.h"
#include "base/panic.h"
#include "base/table.h"
#include "dns/name.h"
#include "dns/names/protocol.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const int64_t KEPT_LEAST_US = MINUTE_US;
static const int64_t KEPT_MOST_US = HOUR_US;
static const int64_t TEMPORARY_US = MINUTE_US / 2;

/* The address of a client. Its name is being looked up (then it is in the list "asked", in the
 * order of questions), or known (in "kept", most recently used last). */
struct names_entry {
	struct in6_addr address;
	struct names *names;
	char *name; /* once known; "": none */
	bool is_temporary;
	bool is_asked;
	bool is_late;     /* asked; the requests that waited got a temporary failure */
	int64_t until_us; /* known: valid until then; asked: requests wait until then */
	struct names_request *requests;
	struct names_entry *next, *previous;
	UT_hash_handle hh;
};

struct names {
	struct ipc_client *client;
	struct os_timer *timer; /* for the first asked entry that is not late */
	struct names_entry *entries;
	struct names_entry *asked;
	struct names_entry *kept;
	size_t asked_count;
	size_t kept_count;
	bool is_slow;
};

static void answer_requests(struct names_entry *entry, const char *name, bool is_temporary)
{
	while (entry->requests != NULL) {
		struct names_request *request = entry->requests;

		names_request_cancel(request);
		request->done(request->context, name, is_temporary);
	}
}

static void take_off_list(struct names_entry *entry)
{
	struct names *names = entry->names;

	if (entry->is_asked) {
		DL_DELETE2(names->asked, entry, previous, next);
		names->asked_count--;
	} else {
		DL_DELETE2(names->kept, entry, previous, next);
		names->kept_count--;
	}
}

static void drop_names_entry(struct names_entry *entry)
{
	take_off_list(entry);
	HASH_DEL(entry->names->entries, entry);
	free(entry->name);
	free(entry);
}

static void keep_names_entry(struct names_entry *entry)
{
	struct names *names = entry->names;

	if (names->kept_count >= NAMES_KEPT_MAX)
		drop_names_entry(names->kept);
	entry->is_asked = false;
	DL_APPEND2(names->kept, entry, previous, next);
	names->kept_count++;
}

/* Those after the first were asked later. */
static void set_names_timer(struct names *names)
{
	struct names_entry *entry;

	os_timer_stop(names->timer);
	DL_FOREACH2 (names->asked, entry, next) {
		int64_t left_us = entry->until_us - os_clock_boot_us();

		if (entry->is_late)
			continue;
		os_timer_start(names->timer, left_us > 0 ? left_us : 0);
		return;
	}
}

/* An answer may cause new questions, so the list is searched from the start after each. */
static struct names_entry *find_late_names_entry(struct names *names, int64_t now_us)
{
	struct names_entry *entry;

	DL_FOREACH2 (names->asked, entry, next)
		if (!entry->is_late && entry->until_us <= now_us)
			return entry;
	return NULL;
}

static void on_names_timer(void *context)
{
	struct names *names = context;
	int64_t now_us = os_clock_boot_us();
	struct names_entry *entry;

	while ((entry = find_late_names_entry(names, now_us)) != NULL) {
		entry->is_late = true;
		names->is_slow = true;
		answer_requests(entry, "", true);
	}
	set_names_timer(names);
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

	take_off_list(entry);
	if (!entry->is_late)
		names->is_slow = false;
	if (ttl_us < KEPT_LEAST_US)
		ttl_us = KEPT_LEAST_US;
	if (ttl_us > KEPT_MOST_US)
		ttl_us = KEPT_MOST_US;
	entry->until_us = os_clock_boot_us() + (is_temporary ? TEMPORARY_US : ttl_us);
	entry->is_temporary = is_temporary;
	entry->is_late = false;
	free(entry->name);
	entry->name = memory_alloc_zero(name.length + 1, 1);
	memcpy(entry->name, name.data, name.length);
	keep_names_entry(entry);
	set_names_timer(names);
	answer_requests(entry, entry->name, is_temporary);
}

static void on_names_message(void *context, struct ipc_message *message)
{
	struct names *names = context;
	struct unpack unpack = {message->body, false};
	struct names_entry *entry;
	struct str address;
	struct str name;
	bool is_temporary;
	int64_t ttl_us;

	if (message->type != NAMES_ANSWER ||
	    !unpack_names_answer(&unpack, &address, &is_temporary, &ttl_us, &name)) {
		ipc_channel_refuse(ipc_client_channel(names->client), message->type);
		return;
	}
	HASH_FIND(hh, names->entries, address.data, NAMES_ADDRESS_SIZE, entry);
	if (entry != NULL && entry->is_asked)
		take_answered_name(entry, is_temporary, ttl_us, name);
}

static void on_names_connected(void *context)
{
	(void)context;
}

/* Pending questions will not be answered: waiting requests are told so, and the next request
 * asks again. */
static void on_names_lost(void *context)
{
	struct names *names = context;
	struct names_entry *list = names->asked;
	struct names_entry *entry;
	struct names_entry *next;

	/* remove them from the lists first: an answer may cause new questions */
	names->asked = NULL;
	names->asked_count = 0;
	os_timer_stop(names->timer);
	DL_FOREACH2 (list, entry, next)
		HASH_DEL(names->entries, entry);
	DL_FOREACH_SAFE2 (list, entry, next, next) {
		answer_requests(entry, "", true);
		free(entry->name);
		free(entry);
	}
}

static bool send_names_question(struct names *names, const struct in6_addr *address)
{
	struct ipc_channel *channel = ipc_client_channel(names->client);
	struct buffer body = {0};

	if (channel == NULL || names->asked_count >= NAMES_OPEN_MAX)
		return false;
	pack_str(&body, str_slice((const char *)address->s6_addr, NAMES_ADDRESS_SIZE));
	ipc_channel_send(channel, NAMES_ASK, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	return true;
}

/* The entry of ADDRESS whose name is being looked up, or NULL: nobody can be asked. */
static struct names_entry *begin_name_lookup(struct names *names, const struct in6_addr *address,
					     struct names_entry *old)
{
	struct names_entry *entry = old;

	if (!send_names_question(names, address))
		return NULL;
	if (old != NULL) {
		take_off_list(old);
	} else {
		entry = memory_alloc_zero(1, sizeof *entry);
		entry->names = names;
		entry->address = *address;
		HASH_ADD(hh, names->entries, address, sizeof entry->address, entry);
	}
	entry->is_asked = true;
	entry->until_us = os_clock_boot_us() + NAMES_PATIENCE_US;
	DL_APPEND2(names->asked, entry, previous, next);
	names->asked_count++;
	if (!os_timer_is_running(names->timer))
		set_names_timer(names);
	return entry;
}

void names_ask(struct names *names, const struct in6_addr *address, struct names_request *request)
{
	struct names_entry *entry;

	HASH_FIND(hh, names->entries, address, sizeof *address, entry);
	if (entry != NULL && !entry->is_asked && entry->until_us > os_clock_boot_us()) {
		take_off_list(entry);
		keep_names_entry(entry);
		request->done(request->context, entry->name, entry->is_temporary);
		return;
	}
	if (entry == NULL || !entry->is_asked)
		entry = begin_name_lookup(names, address, entry);
	if (entry == NULL || entry->is_late) {
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
	static const struct ipc_client_handler handler = {on_names_connected, on_names_message,
							  on_names_lost};
	struct names *names = memory_alloc_zero(1, sizeof *names);

	names->timer = os_timer_new(loop, on_names_timer, names);
	names->client = ipc_client_new(loop, path, &handler, names);
	return names;
}

void names_when_connected(struct names *names, void (*call)(void *context), void *context)
{
	ipc_client_when_connected(names->client, call, context);
}

void names_free(struct names *names)
{
	if (names == NULL)
		return;
	ipc_client_free(names->client);
	os_timer_free(names->timer);
	while (names->asked != NULL)
		drop_names_entry(names->asked);
	while (names->kept != NULL)
		drop_names_entry(names->kept);
	free(names);
}
