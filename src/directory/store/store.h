// SPDX-License-Identifier: ISC
/*
 * directory/store/store.h - the interface of a store, which holds the directory's records; a
 * backend in a folder below this one implements it.
 *
 * One thread, one event loop. A call answers either before it returns (SQLite) or later
 * (PostgreSQL); the caller must handle both, and may call again from an answer. Answers of get
 * and list come in the order of the calls, and in order with changed(): all that was read before
 * a change is answered before changed() reports it, and all that is asked afterwards sees the
 * change. Keys are in canonical form. If the data have a record that is not, or that
 * directory_record_check() refuses, the backend logs it with the reason (store_record_bad); a get
 * of it fails with -EBADMSG, as it may be somebody's address, and lists report it apart from the
 * records.
 *
 * Other directory servers are a store, too (directory/store/relay/relay.h). Its answers come in any
 * order, but in order with changed(); it also asks the servers for "route"; and while they are down
 * it answers from its cache.
 *
 * Versions count the changes of the data, and never decrease for one identity: they are stored
 * with the data and assigned in the order of the commits. The identity is a word that is created
 * with the data (a UUID); a restored copy must get a new one.
 */
#ifndef DIRECTORY_STORE_STORE_H
#define DIRECTORY_STORE_STORE_H

#include "directory/record/record.h"

struct directory_store;
struct directory_expansion; /* directory/expand/expand.h */

enum { DIRECTORY_BATCH_MAX = 1000 }; /* keys or changes in one call */

struct directory_change {
	bool is_removal;                /* RECORD then has a key only */
	struct directory_record record; /* checked */
	bool is_conditional;            /* alone in its call, and made only if the record */
	uint64_t since;                 /* has not changed since this version: else -ESTALE */
};

/* RECORDS[i] answers keys[i], NULL: no such record; valid during the call. ERROR: 0, or, with
 * RECORDS NULL, -ENOTCONN, -ETIMEDOUT, -EIO if the data cannot be read now, -EBADMSG if one of the
 * keys has a malformed record, -EACCES if this server may not read them. VERSION: the answer
 * includes all changes up to it. */
typedef void directory_got(void *context, int error, const struct directory_record *const *records,
			   uint64_t version);
/* PAGE: never NULL, valid during the call; empty after an error. */
typedef void directory_listed(void *context, int error, const struct directory_page *page,
			      uint64_t version);
/* Calls LISTED with ERROR. */
static inline void directory_list_fail(directory_listed *listed, void *context, int error,
				       uint64_t version)
{
	listed(context, error, &(struct directory_page){0}, version);
}
/* The result of COUNT changes, which are durable together, or not at all: ERROR 0, -ENOSPC, -EIO,
 * -EOPNOTSUPP (not through this backend), -EROFS (the data are read-only), -EACCES (not by this
 * server), -EPERM (its account may not), -EBUSY (the store is held: directory/store/guard/guard.h),
 * -ESTALE (the record has changed, or perhaps: the store does not know that any more), -ENOTCONN
 * (unknown whether they were made). EXISTED[i]: the record existed before. VERSION is that of the
 * last change. */
typedef void directory_changed(void *context, int error, const bool *existed, uint64_t version);
/* The answer of route: ERROR as for directory_got. */
typedef void directory_expanded(void *context, int error,
				const struct directory_expansion *expansion);
/* Keys that changed after a version, in order; -ESTALE: the version is too old or unknown. */
typedef void directory_missed(void *context, int error, const struct directory_key *keys,
			      const uint64_t *versions, size_t count);

/* The number of domains and addresses. */
typedef void directory_counted(void *context, int error, uint64_t count);

struct directory_store_handler { /* the user of the store */
	/* Changes that were committed by anybody; VERSIONS ascend. */
	void (*changed)(void *context, const struct directory_key *keys, const uint64_t *versions,
			size_t count);
	/* All data may be different: another identity, or changes that cannot be listed. */
	void (*reset)(void *context);
	/* Whether the data can be read. First called once that is known. */
	void (*state)(void *context, bool is_up);
};

struct directory_store_operations {
	void (*get)(struct directory_store *store, const struct directory_key *keys, size_t count,
		    directory_got *got, void *context);
	/* Lists keys of TABLE that begin with PREFIX and follow AFTER (empty: from the first), at
	 * most LIMIT. */
	void (*list)(struct directory_store *store, enum directory_table table, struct str prefix,
		     struct str after, size_t limit, directory_listed *listed, void *context);
	/* -EOPNOTSUPP if the data are changed elsewhere (LDAP). If a key is repeated, the last
	 * change counts. */
	void (*change)(struct directory_store *store, const struct directory_change *changes,
		       size_t count, directory_changed *changed, void *context);
	/* At most LIMIT keys; if there are more, -ESTALE. */
	void (*missed)(struct directory_store *store, uint64_t version, size_t limit,
		       directory_missed *missed, void *context);
	/* Gets between begin and end are of one state, if they are answered at once, and share
	 * their cost (a read transaction). May be NULL. */
	void (*begin)(struct directory_store *store);
	void (*end)(struct directory_store *store);
	void (*free)(struct directory_store *store);
	/* Computes the table "route" for ADDRESS, any text, if the store does so itself instead
	 * of directory_expand(); else NULL. */
	void (*route)(struct directory_store *store, struct str address,
		      directory_expanded *expanded, void *context);
	/* For directory/store/guard/guard.h; NULL: the store cannot be guarded. */
	void (*count)(struct directory_store *store, directory_counted *counted, void *context);
	/* The operator accepts the data that are there now, or come next; what was seen before is
	 * not compared any more. May be NULL. */
	void (*accept)(struct directory_store *store);
	/* The one of SERVERS that is being followed, or NULL. NULL if the store has no servers. */
	const char *(*followed)(struct directory_store *store);
	/* Why the data are held until the operator accepts them, or NULL. NULL: what the store's
	 * member says. */
	const char *(*held)(struct directory_store *store);
};

/* The first member of each backend's own struct. */
struct directory_store {
	const struct directory_store_operations *operations;
	const struct directory_store_handler *handler; /* set with context before the first call */
	void *context;
	char identity[64]; /* empty until it is known */
	uint64_t version;  /* the newest that was seen */
	int64_t fresh_us;  /* by os_clock_monotonic_us(): when the data were last known to be in
			    * sync; answers may be used for the TTL from then on. INT64_MAX:
			    * always in sync. */
	int64_t until_us;  /* by os_clock_monotonic_us(): until when, at most, the answer of this
			    * call of got, listed or expanded may be used. 0: for the TTL. */
	uint64_t read_version; /* of the data in this call of got, which may have changes that the
				* store has not heard of yet. 0: VERSION. */
	int64_t lost_us;  /* by os_clock_monotonic_us(): since when the link to the data is known
			   * to be lost. Answers are then of that time, and must not be used to
			   * tell that something does not exist. 0: not lost. */
	const char *held; /* why the data are held: others were seen before, or some; NULL: they
			   * are not, as far as this store knows */
	const char *const *servers; /* for people: where the data are, in the order in which they
				     * are tried; set before the first call */
	size_t server_count;
	size_t change_max; /* changes in one call, at most; 0: DIRECTORY_BATCH_MAX */
	bool is_up;
	bool is_known; /* data were seen before: if they are gone, none are created (guard.h) */
};

/* Why its data are held, for people; NULL: they are not. */
static inline const char *directory_store_held(struct directory_store *store)
{
	return store->operations->held != NULL ? store->operations->held(store) : store->held;
}

/* Around what asks for expansions, each of which reads several times. STORE may be NULL. */
static inline void directory_store_begin(struct directory_store *store)
{
	if (store != NULL && store->operations->begin != NULL)
		store->operations->begin(store);
}

static inline void directory_store_end(struct directory_store *store)
{
	if (store != NULL && store->operations->end != NULL)
		store->operations->end(store);
}

#endif
