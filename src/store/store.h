// SPDX-License-Identifier: ISC
/*
 * store/store.h - where the records are: what each backend does (src/store/).
 *
 * One thread, one event loop. A call either answers before it returns (SQLite) or later
 * (PostgreSQL); whoever calls must stand both, and may call again from an answer. Answers
 * of get and list come in the order of the calls, and in order with changed(): all
 * that was read before a change is answered before changed() tells of it, all that is
 * asked afterwards sees it. Keys are in canonical form; what a backend finds in its data that
 * is not, or that directory_record_check() refuses, it logs (store_record_bad), with
 * the reason: whoever asks for it is told that (-EBADMSG), for it may be somebody's address, and
 * lists name it apart from the records.
 *
 * Other directory servers are a store too (store/relay/relay.h). That one's answers come in any
 * order, but in order with changed(); it computes "route" by asking, too; and what it kept
 * for a while it answers while it is down.
 *
 * Versions count changes of the data, and never go back for one identity: they live
 * in the data itself and are given in the order of the commits. The identity is a word
 * that is made with the data (a UUID); a restored copy has to get a new one.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "directory/record/record.h"

struct directory_store;
struct directory_expansion; /* directory/expand/expand.h */

enum { DIRECTORY_BATCH_MAX = 1000 }; /* keys or changes in one call */

struct directory_change {
	bool is_removal;                /* then RECORD has a key only */
	struct directory_record record; /* checked */
};

/* RECORDS[i] answers keys[i], NULL: there is none; valid during the call. ERROR: 0, or
 * -ENOTCONN, -ETIMEDOUT, -EIO when the data cannot be read now, -EBADMSG when one of the keys has
 * a malformed record, -EACCES when this server may not, and RECORDS is NULL. VERSION: all changes
 * up to it have been seen. */
typedef void directory_got(void *context, int error, const struct directory_record *const *records,
			   uint64_t version);
/* PAGE: not NULL, valid during the call; empty after an error. */
typedef void directory_listed(void *context, int error, const struct directory_page *page,
			      uint64_t version);
/* LISTED is told of ERROR. */
static inline void directory_list_fail(directory_listed *listed, void *context, int error,
				       uint64_t version)
{
	listed(context, error, &(struct directory_page){0}, version);
}
/* All COUNT changes are durable as one, or none: ERROR 0, -ENOSPC, -EIO, -EOPNOTSUPP (not through
 * this backend), -EROFS (they are read-only), -EACCES (not by this server), -EPERM (its
 * account may not), -EBUSY (the store is held: store/guard/guard.h),
 * -ENOTCONN (unknown whether). EXISTED[i]: there was such a record. VERSION is that of the last
 * one. */
typedef void directory_changed(void *context, int error, const bool *existed, uint64_t version);
/* For route: ERROR as directory_got's. */
typedef void directory_expanded(void *context, int error,
				const struct directory_expansion *expansion);
/* Keys that changed after a version, in order; -ESTALE: it is too old, or of the future. */
typedef void directory_missed(void *context, int error, const struct directory_key *keys,
			      const uint64_t *versions, size_t count);

/* How many domains and addresses there are. */
typedef void directory_counted(void *context, int error, uint64_t count);

struct directory_store_handler { /* who uses the store */
	/* Committed, whoever made them; VERSIONS ascend. */
	void (*changed)(void *context, const struct directory_key *keys, const uint64_t *versions,
			size_t count);
	/* Anything may be different: another identity, or changes that cannot be told. */
	void (*reset)(void *context);
	/* It can be read, or not any more. Called at first when that is known. */
	void (*state)(void *context, bool is_up);
};

struct directory_store_operations {
	void (*get)(struct directory_store *store, const struct directory_key *keys, size_t count,
		    directory_got *got, void *context);
	/* Keys of TABLE that begin with PREFIX and follow AFTER (empty: from the first), at
	 * most LIMIT. */
	void (*list)(struct directory_store *store, enum directory_table table, struct str prefix,
		     struct str after, size_t limit, directory_listed *listed, void *context);
	/* -EOPNOTSUPP where others keep the data (LDAP). Keys within a call may come again; the
	 * last counts. */
	void (*change)(struct directory_store *store, const struct directory_change *changes,
		       size_t count, directory_changed *changed, void *context);
	/* At most LIMIT: more of them is -ESTALE. */
	void (*missed)(struct directory_store *store, uint64_t version, size_t limit,
		       directory_missed *missed, void *context);
	/* Between begin and end many gets share what they cost (a read transaction). May be NULL.
	 */
	void (*begin)(struct directory_store *store);
	void (*end)(struct directory_store *store);
	void (*free)(struct directory_store *store);
	/* What the table "route" has for ADDRESS, any text, where that is not for
	 * directory_expand() to say; else NULL. */
	void (*route)(struct directory_store *store, struct str address,
		      directory_expanded *expanded, void *context);
	/* For store/guard/guard.h; NULL: it cannot be guarded. */
	void (*count)(struct directory_store *store, directory_counted *counted, void *context);
	/* The operator means what is there now, or comes next: nothing that was seen before is
	 * expected any more. May be NULL. */
	void (*accept)(struct directory_store *store);
	/* The one of SERVERS that is followed; NULL: none is. NULL where there are none. */
	const char *(*followed)(struct directory_store *store);
};

/* First in each backend's own struct. */
struct directory_store {
	const struct directory_store_operations *operations;
	const struct directory_store_handler *handler; /* set with context before the first call */
	void *context;
	char identity[64]; /* empty until it is known */
	uint64_t version;  /* the newest that was seen */
	int64_t fresh_us;  /* by os_clock_monotonic_us(): the data were certainly in line then;
			    * what is read may be used from then on for its TTL. INT64_MAX: always
			    * in line. */
	int64_t until_us; /* by os_clock_monotonic_us(): what is told in this call of got, listed or
			   * expanded may be used until then at most. 0: for its TTL. */
	int64_t lost_us;  /* by os_clock_monotonic_us(): since when the link to what keeps the data
			   * is known to be lost. What is told meanwhile was so then: that
			   * something did not exist must not be answered. 0: it is not lost. */
	const char *const *servers; /* for people: what keeps the data, in the order in which it
				     * is tried; set before the first call */
	size_t server_count;
	size_t change_max; /* changes in one call, at most; 0: DIRECTORY_BATCH_MAX */
	bool is_up;
	bool is_known; /* data were seen here: where there are none, none are made (guard.h) */
};

#endif
