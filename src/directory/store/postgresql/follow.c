// SPDX-License-Identifier: ISC
/*
 * Polls the table "change" for rows after the last one reported: on each notification, ten times a
 * second on a standby, and once a second in any case, which also detects a dead connection. It uses
 * the connection of the gets, so that answers and reported changes are in order.
 */
#include "base/panic.h"
#include "directory/store/postgresql/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHANGES_MAX = 1000, /* of a poll */
	BEHIND_MAX = 20000, /* rows to report; more of them are reported as a reset */
};

static const int64_t STANDBY_US = SECOND_US / 10;
static const int64_t STALE_US = 3 * SECOND_US;

static const char changes_sql[] =
	"SELECT version, table_name, key, " POSTGRESQL_MARK
	" FROM change WHERE version > $1::bigint ORDER BY version LIMIT 1000";

/* A role that may not see the receiver's state gets NULL. */
static const char state_sql[] =
	"SELECT identity, version, pg_is_in_recovery(),"
	" (SELECT " POSTGRESQL_MARK " FROM change WHERE version = meta.version),"
	" (SELECT latest_end_lsn <= pg_last_wal_replay_lsn() FROM pg_stat_wal_receiver),"
	" (SELECT greatest(0, extract(epoch FROM clock_timestamp() - last_msg_receipt_time)"
	"  * 1000000)::bigint FROM pg_stat_wal_receiver)"
	" FROM meta";

static struct postgresql_store *store_of(struct postgresql_request *request)
{
	return request->context;
}

static void take_changes(struct postgresql_follower *follower, const PGresult *result)
{
	int rows = PQntuples(result);

	follower->is_full = rows == CHANGES_MAX;
	for (int row = 0; row < rows; row++) {
		const char *table = postgresql_link_value(result, row, 1);
		const struct str name = str_slice(postgresql_link_value(result, row, 2),
						  postgresql_link_length(result, row, 2));
		struct directory_key *key = &follower->keys[follower->count];

		if (strcmp(table, "*") == 0)
			follower->is_everything = true;
		follower->about.oldest = strtoull(postgresql_link_value(result, row, 0), NULL, 10);
		snprintf(follower->about.seen_mark, sizeof follower->about.seen_mark, "%s",
			 postgresql_link_value(result, row, 3));
		if (!postgresql_change_key(table, name, key))
			continue;
		key->name = arena_copy_str(follower->arena, name);
		follower->versions[follower->count++] = follower->about.oldest;
	}
}

static void take_state_of_database(struct postgresql_follower *follower, const PGresult *result)
{
	struct postgresql_about *about = &follower->about;

	if (PQntuples(result) != 1)
		return;
	snprintf(about->identity, sizeof about->identity, "%s",
		 postgresql_link_value(result, 0, 0));
	about->version = strtoull(postgresql_link_value(result, 0, 1), NULL, 10);
	about->is_standby = *postgresql_link_value(result, 0, 2) == 't';
	snprintf(about->newest_mark, sizeof about->newest_mark, "%s",
		 postgresql_link_value(result, 0, 3));
	follower->has_replayed = *postgresql_link_value(result, 0, 4) == 't';
	follower->silence_us = PQgetisnull(result, 0, 5)
				       ? -1
				       : strtoll(postgresql_link_value(result, 0, 5), NULL, 10);
}

static void on_poll_result(struct postgresql_request *request, unsigned statement,
			   const PGresult *result)
{
	bool is_so = statement == 0 ? PQnfields(result) == 4 && PQntuples(result) <= CHANGES_MAX
				    : PQnfields(result) == 6 && PQntuples(result) <= 1;

	if (!is_so)
		postgresql_link_doubt(request, "an answer of another shape than was asked for");
	else if (statement == 0)
		take_changes(&store_of(request)->follower, result);
	else
		take_state_of_database(&store_of(request)->follower, result);
}

/* ---- reporting ---- */

static void set_version(struct postgresql_store *store, uint64_t version, const char *mark)
{
	store->base.version = version;
	memcpy(store->follower.mark, mark, sizeof store->follower.mark);
}

static void tell_everything(struct postgresql_store *store, const struct postgresql_about *about)
{
	bool was_told = store->base.identity[0] != '\0';

	memcpy(store->base.identity, about->identity, sizeof store->base.identity);
	set_version(store, about->version, about->newest_mark);
	if (was_told && store->base.handler != NULL)
		store->base.handler->reset(store->base.context);
}

static void tell_polled_changes(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;
	const struct postgresql_about *about = &follower->about;

	if (strcmp(about->identity, store->base.identity) != 0 || follower->is_everything ||
	    about->version > store->base.version + BEHIND_MAX) {
		tell_everything(store, about);
		return;
	}
	if (about->oldest == 0)
		return;
	set_version(store, about->oldest, about->seen_mark);
	if (follower->count > 0 && store->base.handler != NULL)
		store->base.handler->changed(store->base.context, follower->keys,
					     follower->versions, follower->count);
}

/* The data were in sync at SINCE_US. */
static void was_fresh(struct postgresql_store *store, int64_t since_us)
{
	if (since_us > store->base.fresh_us)
		store->base.fresh_us = since_us;
}

/* A standby's data were in sync at the time when the primary was asked for its version, once they
 * have reached that version. */
static void compare_with_primary(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;
	const struct postgresql_writer *writer = &store->writer;

	if (follower->awaited_us != 0 && follower->about.version >= follower->awaited) {
		was_fresh(store, follower->awaited_us);
		follower->awaited_us = 0;
	}
	if (!postgresql_link_is_accepted(writer->link) || writer->asked_us == 0)
		return;
	if (follower->about.version >= writer->version)
		was_fresh(store, writer->asked_us);
	else if (follower->awaited_us == 0) {
		follower->awaited = writer->version;
		follower->awaited_us = writer->asked_us;
	}
}

/* While its connection to the primary is idle, a standby is only as fresh as the last message that
 * it received, unless we can ask the primary. */
static void note_freshness(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;

	if (!follower->is_standby) {
		was_fresh(store, follower->asked_us);
		return;
	}
	compare_with_primary(store);
	if (follower->has_replayed && follower->silence_us >= 0)
		was_fresh(store, follower->asked_us - follower->silence_us);
}

/* Leaves a standby that lags behind the primary that we are connected to. */
static bool leave_stale(struct postgresql_store *store)
{
	const struct postgresql_follower *follower = &store->follower;
	const struct postgresql_writer *writer = &store->writer;

	if (!follower->is_standby || !postgresql_link_is_accepted(writer->link) ||
	    writer->version <= store->base.version ||
	    follower->asked_us - store->base.fresh_us < STALE_US)
		return false;
	postgresql_link_move(store->reader.link, postgresql_link_position(writer->link),
			     "it has lagged behind the primary for 3 seconds");
	return true;
}

static const char silent[] = "it has not heard of its primary for too long";
static const char unknown[] =
	"it does not say when it heard of its primary: it receives nothing, or the role is no "
	"member of pg_monitor";

/* False: its answers must not be used any more. */
static bool is_fresh(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;

	if (!follower->is_standby || follower->asked_us - store->base.fresh_us <= store->ttl_us) {
		follower->cut_off_us = 0;
		return true;
	}
	if (follower->cut_off_us == 0) {
		follower->cut_off_us = follower->asked_us;
		log_event(EVENT_STORE_STALE,
			  log_string(database, postgresql_link_label(store->reader.link)),
			  log_string(reason, follower->silence_us < 0 ? unknown : silent));
	}
	return false;
}

/* Tries another database from time to time. */
static bool leave_cut_off(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;

	if (follower->cut_off_us == 0 || store->databases.count == 1 ||
	    follower->asked_us - follower->cut_off_us < STALE_US)
		return false;
	follower->cut_off_us = follower->asked_us;
	postgresql_link_refuse(store->reader.link, "it is cut off from its primary");
	return true;
}

/* ---- asking ---- */

static void free_poll_request(struct postgresql_request *request,
			      const struct postgresql_failure *failure)
{
	(void)failure;
	free(request);
}

static void listen_here(struct postgresql_store *store)
{
	struct postgresql_request *request = memory_alloc_zero(1, sizeof *request);

	request->done = free_poll_request;
	postgresql_link_query(store->reader.link, "LISTEN stagepost_directory", NULL, 0);
	postgresql_link_end(store->reader.link, request);
}

static void poll_done(struct postgresql_request *request, const struct postgresql_failure *failure);

static void poll_postgresql_changes(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;
	char version[24];
	const struct postgresql_parameter parameter = {.text = version};

	if (follower->is_asking) {
		follower->ask_again = true;
		return;
	}
	snprintf(version, sizeof version, "%llu", (unsigned long long)store->base.version);
	follower->is_asking = true;
	follower->ask_again = false;
	follower->asked_us = os_clock_monotonic_us();
	follower->arena = arena_new();
	follower->keys = arena_alloc(follower->arena, CHANGES_MAX * sizeof *follower->keys);
	follower->versions = arena_alloc(follower->arena, CHANGES_MAX * sizeof *follower->versions);
	follower->count = 0;
	follower->is_everything = false;
	follower->about = (struct postgresql_about){0};
	follower->request = (struct postgresql_request){
		.result = on_poll_result, .done = poll_done, .context = store};
	postgresql_link_query(store->reader.link, changes_sql, &parameter, 1);
	postgresql_link_query(store->reader.link, state_sql, NULL, 0);
	postgresql_link_end(store->reader.link, &follower->request);
}

static void poll_postgresql_later(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;

	if (follower->ask_again || follower->is_full)
		poll_postgresql_changes(store);
	else
		os_timer_start(follower->timer, follower->is_standby ? STANDBY_US : SECOND_US);
}

static void take_place_in_replication(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;
	bool was_standby = follower->is_standby;

	follower->is_standby = follower->about.is_standby;
	if (was_standby && !follower->is_standby) { /* the standby was promoted */
		listen_here(store);
		follower->ask_again = true;
	}
	note_freshness(store);
}

static bool went_back(const struct postgresql_store *store)
{
	const struct postgresql_about *about = &store->follower.about;

	return strcmp(about->identity, store->base.identity) == 0 &&
	       about->version < store->base.version;
}

/* Handles the result of a poll from which it can resume. */
static void follow_postgresql_changes(struct postgresql_store *store)
{
	take_place_in_replication(store);
	tell_polled_changes(store);
	postgresql_writer_seen(store);
	if (leave_stale(store) || leave_cut_off(store))
		return;
	if (!is_fresh(store))
		store->follower.handler->stale(store);
	else if (!store->follower.is_full)
		store->follower.handler->followed(store);
	poll_postgresql_later(store);
}

static void poll_done(struct postgresql_request *request, const struct postgresql_failure *failure)
{
	struct postgresql_store *store = store_of(request);
	struct postgresql_follower *follower = &store->follower;
	struct arena *arena = follower->arena;

	follower->is_asking = false;
	follower->arena = NULL;
	if (failure != NULL && !failure->is_lost)
		postgresql_link_refuse(store->reader.link, failure->text);
	else if (failure == NULL && follower->about.identity[0] == '\0')
		postgresql_link_refuse(store->reader.link, "directory_data has no row");
	else if (failure == NULL && went_back(store))
		postgresql_link_refuse(store->reader.link, "its versions went back");
	else if (failure == NULL)
		follow_postgresql_changes(store);
	arena_free(arena);
}

static void on_poll_time(void *context)
{
	poll_postgresql_changes(context);
}

void postgresql_follow_notified(struct postgresql_store *store)
{
	if (!store->follower.is_asking)
		os_timer_stop(store->follower.timer);
	poll_postgresql_changes(store);
}

/* Whether the data have diverged from those reported before: another identity, or the last change
 * reported is not among theirs, or no longer. (Each reported version has its row.) */
static bool has_diverged(const struct postgresql_store *store, const struct postgresql_about *about)
{
	return strcmp(about->identity, store->base.identity) != 0 ||
	       store->base.version + 1 < about->oldest ||
	       (store->base.version > 0 && strcmp(about->seen_mark, store->follower.mark) != 0);
}

void postgresql_follow_prepare(struct postgresql_store *store,
			       const struct postgresql_follow_handler *handler)
{
	store->follower.handler = handler;
	store->follower.timer = os_timer_new(store->loop, on_poll_time, store);
}

void postgresql_follow_start(struct postgresql_store *store, const struct postgresql_about *about)
{
	struct postgresql_follower *follower = &store->follower;

	follower->is_standby = about->is_standby;
	follower->awaited_us = 0;
	if (has_diverged(store, about)) {
		if (strcmp(about->identity, store->base.identity) == 0)
			log_event(EVENT_STORE_DIVERGED,
				  log_string(database, postgresql_link_label(store->reader.link)),
				  log_number(version, (int64_t)store->base.version));
		tell_everything(store, about);
	}
	if (!about->is_standby)
		listen_here(store);
	poll_postgresql_changes(store);
}

void postgresql_follow_stop(struct postgresql_store *store)
{
	struct postgresql_follower *follower = &store->follower;

	os_timer_stop(follower->timer);
	follower->ask_again = false;
}
