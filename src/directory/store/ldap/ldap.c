// SPDX-License-Identifier: ISC
#include "directory/store/ldap/ldap.h"
#include "base/panic.h"
#include "directory/store/ldap/follow/follow.h"
#include "directory/store/ldap/link/access.h"
#include "directory/store/sqlite/sqlite.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRESH_MIN_US = 5000000, /* minimum age of fresh_us while a server is being followed */
};

/* Reads the copy, if it is recent enough. */
struct store_ldap {
	struct directory_store store; /* first */
	struct directory_store *copy; /* of directory/store/sqlite/sqlite.h */
	struct follower *follower;
	struct follower_settings settings; /* owned */
	struct os_loop *loop;
	struct os_task start;    /* in the first turn, when the sandbox has been entered */
	const char **urls;       /* of the servers; owned, but not their texts */
	struct os_timer *expiry; /* of the TTL after fresh_us */
	int64_t ttl_us;          /* how long answers are given after fresh_us */
	bool is_known;           /* the handler knows whether the store is up */
};

/* --- whether answers may be given --- */

static bool is_readable(const struct store_ldap *ldap)
{
	return ldap->store.fresh_us != INT64_MIN &&
	       os_clock_monotonic_us() < ldap->store.fresh_us + ldap->ttl_us;
}

static void take_state_of_copy(struct store_ldap *ldap)
{
	memcpy(ldap->store.identity, ldap->copy->identity, sizeof(ldap->store.identity));
	ldap->store.version = ldap->copy->version;
}

static void judge_readability(struct store_ldap *ldap)
{
	bool is_up = is_readable(ldap) && ldap->copy->is_up;

	take_state_of_copy(ldap);
	if (is_up)
		os_timer_start(ldap->expiry,
			       ldap->store.fresh_us + ldap->ttl_us - os_clock_monotonic_us());
	if (is_up == ldap->store.is_up && ldap->is_known)
		return;
	ldap->store.is_up = is_up;
	ldap->is_known = true;
	if (ldap->store.handler != NULL)
		ldap->store.handler->state(ldap->store.context, is_up);
}

static void on_expiry(void *context)
{
	judge_readability(context);
}

static void on_follower_moved(void *context)
{
	struct store_ldap *ldap = context;

	bool was_lost = ldap->store.lost_us != 0;

	ldap->store.fresh_us = follower_fresh_us(ldap->follower);
	ldap->store.lost_us = follower_lost_us(ldap->follower);
	store_sqlite_follow(ldap->copy);
	judge_readability(ldap);
	/* clients must drop cached refusals */
	if (!was_lost && ldap->store.lost_us != 0 && ldap->store.handler != NULL)
		ldap->store.handler->reset(ldap->store.context);
}

static void on_start_of_follower(void *context)
{
	struct store_ldap *ldap = context;

	judge_readability(ldap);
	follower_start(ldap->follower);
}

/* --- events of the copy --- */

static void on_copy_changed(void *context, const struct directory_key *keys,
			    const uint64_t *versions, size_t count)
{
	struct store_ldap *ldap = context;

	take_state_of_copy(ldap);
	ldap->store.handler->changed(ldap->store.context, keys, versions, count);
}

static void on_copy_reset(void *context)
{
	struct store_ldap *ldap = context;

	take_state_of_copy(ldap);
	ldap->store.handler->reset(ldap->store.context);
}

static void on_copy_state(void *context, bool is_up)
{
	(void)is_up;
	judge_readability(context);
}

static const struct directory_store_handler handler = {on_copy_changed, on_copy_reset,
						       on_copy_state};

/* --- operations --- */

static struct store_ldap *ldap_of_store(struct directory_store *store)
{
	return (struct store_ldap *)store;
}

static void get_from_ldap_copy(struct directory_store *store, const struct directory_key *keys,
			       size_t count, directory_got *got, void *context)
{
	struct directory_store *copy = ldap_of_store(store)->copy;

	if (is_readable(ldap_of_store(store)))
		copy->operations->get(copy, keys, count, got, context);
	else
		got(context, -ENOTCONN, NULL, store->version);
}

static void list_from_ldap_copy(struct directory_store *store, enum directory_table table,
				struct str prefix, struct str after, size_t limit,
				directory_listed *listed, void *context)
{
	struct directory_store *copy = ldap_of_store(store)->copy;

	if (is_readable(ldap_of_store(store)))
		copy->operations->list(copy, table, prefix, after, limit, listed, context);
	else
		directory_list_fail(listed, context, -ENOTCONN, store->version);
}

static void refuse_change_of_ldap(struct directory_store *store,
				  const struct directory_change *changes, size_t count,
				  directory_changed *changed, void *context)
{
	(void)changes;
	(void)count;
	changed(context, -EOPNOTSUPP, NULL, store->version);
}

static void tell_missed_of_ldap_copy(struct directory_store *store, uint64_t version, size_t limit,
				     directory_missed *told, void *context)
{
	struct directory_store *copy = ldap_of_store(store)->copy;

	copy->operations->missed(copy, version, limit, told, context);
}

static void begin_reading_ldap_copy(struct directory_store *store)
{
	directory_store_begin(ldap_of_store(store)->copy);
}

static void end_reading_ldap_copy(struct directory_store *store)
{
	directory_store_end(ldap_of_store(store)->copy);
}

static void accept_ldap_data(struct directory_store *store)
{
	follower_accept(ldap_of_store(store)->follower);
}

static const char *followed_ldap_server(struct directory_store *store)
{
	return follower_server(ldap_of_store(store)->follower);
}

static void free_ldap_store(struct directory_store *store)
{
	struct store_ldap *ldap = ldap_of_store(store);

	os_task_cancel(ldap->loop, &ldap->start);
	if (!follower_free(ldap->follower))
		return; /* the thread still uses everything */
	if (ldap->copy != NULL)
		ldap->copy->operations->free(ldap->copy);
	os_timer_free(ldap->expiry);
	access_clear_servers(ldap->settings.servers, ldap->settings.server_count);
	access_clear_login(&ldap->settings.login);
	free((char *)ldap->settings.path);
	entry_map_free(ldap->settings.map);
	free(ldap->urls);
	free(ldap);
}

static const struct directory_store_operations operations = {
	.get = get_from_ldap_copy,
	.list = list_from_ldap_copy,
	.change = refuse_change_of_ldap,
	.missed = tell_missed_of_ldap_copy,
	.begin = begin_reading_ldap_copy,
	.end = end_reading_ldap_copy,
	.followed = followed_ldap_server,
	.accept = accept_ldap_data,
	.free = free_ldap_store,
};

/* --- opening --- */

static int take_settings(struct store_ldap *ldap, const struct store_ldap_settings *given,
			 struct buffer *why)
{
	struct follower_settings *settings = &ldap->settings;
	int error = access_take_servers(given, &settings->servers, &settings->server_count, why);

	ldap->ttl_us = given->ttl_us > FRESH_MIN_US ? given->ttl_us : FRESH_MIN_US;
	settings->path = memory_copy_string(given->path);
	if (error == 0)
		error = access_take_login(given, &settings->login, why);
	if (error == 0)
		error = entry_map_new(given->map, given->map_count, &settings->map, why);
	return error;
}

int store_ldap_new(struct os_loop *loop, const struct store_ldap_settings *settings,
		   struct directory_store **store_out, struct buffer *why)
{
	struct store_ldap *ldap = memory_alloc_zero(1, sizeof(*ldap));
	int error;

	ldap->store.operations = &operations;
	ldap->store.fresh_us = INT64_MIN;
	ldap->loop = loop;
	ldap->start = (struct os_task){.call = on_start_of_follower, .context = ldap};
	ldap->expiry = os_timer_new(loop, on_expiry, ldap);
	(void)setenv("LDAPNOINIT", "1", 1); /* ldap.conf must have no effect */
	error = take_settings(ldap, settings, why);
	if (error < 0) {
		free_ldap_store(&ldap->store);
		return error;
	}
	ldap->urls = memory_alloc_zero(settings->url_count, sizeof(*ldap->urls));
	for (size_t i = 0; i < settings->url_count; i++)
		ldap->urls[i] = ldap->settings.servers[i].url;
	ldap->store.servers = ldap->urls;
	ldap->store.server_count = settings->url_count;
	*store_out = &ldap->store;
	return 0;
}

int store_ldap_open(struct directory_store *store, struct buffer *why)
{
	struct store_ldap *ldap = ldap_of_store(store);
	int error = store_sqlite_open(ldap->loop, ldap->settings.path, &ldap->copy, why);

	if (error < 0)
		return error;
	ldap->copy->handler = &handler;
	ldap->copy->context = ldap;
	error = follower_new(ldap->loop, &ldap->settings, on_follower_moved, ldap, &ldap->follower,
			     why);
	if (error < 0)
		return error;
	store->fresh_us = follower_fresh_us(ldap->follower);
	store->lost_us = follower_lost_us(ldap->follower);
	take_state_of_copy(ldap);
	os_loop_defer(ldap->loop, &ldap->start);
	return 0;
}

void store_ldap_describe_map(struct buffer *out)
{
	entry_map_describe(out);
}
