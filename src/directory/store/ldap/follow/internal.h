// SPDX-License-Identifier: ISC
/* directory/store/ldap/follow/internal.h - shared by the parts of
 * directory/store/ldap/follow/follow.h. */
#ifndef DIRECTORY_STORE_LDAP_FOLLOW_INTERNAL_H
#define DIRECTORY_STORE_LDAP_FOLLOW_INTERNAL_H

#include "directory/store/ldap/follow/follow.h"
#include "log/event.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
	FOLLOW_PROBE_US = 2000000,     /* between probes of the server and its contextCSN */
	FOLLOW_SILENCE_US = 3000000,   /* for the answer; after both a dead link is detected */
	FOLLOW_ANSWER_US = 120000000,  /* for the answer while other messages arrive */
	FOLLOW_PRESENT_MAX = 64 << 20, /* bytes; plus twice those of the copy's entries */
	FOLLOW_SLICE_US = 200000,      /* at most, until a stop is noticed */
	FOLLOW_RETURN_US = 60000000,   /* between checks of preferred servers */
	FOLLOW_FRESH_US = 60000000,    /* between writes of the freshness to the disk */
	FOLLOW_DELAY_US = 1000000,     /* if no server can be followed; doubles */
	FOLLOW_DELAY_MAX_US = 8000000,
	FOLLOW_TURN_MAX = 1000,       /* messages between commits, after the load */
	FOLLOW_ENTRIES_BAD_MAX = 100, /* bad entries logged in one load */
	FOLLOW_NOTES_MAX = 1000,      /* queued log lines; more are dropped */
};

enum { NOTE_FIELDS_MAX = 6 };

/* A line for the log. */
struct note {
	enum log_name event;
	struct log_field fields[NOTE_FIELDS_MAX + 1]; /* owns the texts */
	struct note *next;
};

/* For the thread only, unless noted otherwise. */
struct follower {
	struct follower_settings settings;
	struct copy *copy;
	void (*moved)(void *context);
	void *context;
	struct os_wakeup *wakeup;
	pthread_t thread;
	bool is_started;
	atomic_bool is_stopping;
	atomic_bool is_accepted; /* the next load, however few entries it has */
	pthread_mutex_t mutex;   /* for the next six, and the condition */
	int64_t fresh_us;
	int64_t lost_us; /* 0: a server is being followed */
	size_t number;   /* of that server, or of the last one tried */
	struct note *notes;
	struct note **last_note;
	size_t note_count;
	pthread_cond_t stopping;
	struct copy_counts counts;   /* of this connection */
	uint64_t passwords_unusable; /* likewise */
	uint64_t bad_count;          /* likewise */
	struct buffer *complaints;   /* last logged, of each server */
	int64_t fresh_noted_us;      /* when the freshness was last written to the disk */
	bool is_reload;              /* the cookie was refused */
};

/* state.c. Queues a log line; fields as for log_event(). */
#define follower_note(follower, name, ...)                                             \
	do {                                                                           \
		LOG_ROW(name);                                                         \
		follower_add_note(follower, name,                                      \
				  (const struct log_field[]){__VA_ARGS__, {LOG_END}}); \
	} while (0)
void follower_add_note(struct follower *follower, enum log_name event,
		       const struct log_field *fields);
/* Writes the queued lines; in the loop's thread. */
void follower_write_notes(struct follower *follower);
bool follower_is_stopping(struct follower *follower);
/* The copy has all that the server had at FRESH_US. */
void follower_set_fresh(struct follower *follower, int64_t fresh_us);
/* No server is being followed. */
void follower_set_lost(struct follower *follower);
/* Server NUMBER is tried, or followed. */
void follower_set_server(struct follower *follower, size_t number);
/* Notifies the loop's thread that records may have changed. */
void follower_tell(struct follower *follower);

enum session_end {
	SESSION_LOST,    /* or never made */
	SESSION_BEHIND,  /* the server lacks changes that we have */
	SESSION_REFUSED, /* the cookie; try again without */
	SESSION_RETURN,  /* a preferred server may be available again */
	SESSION_STOPPED,
};

/* session.c: follows server NUMBER until that ends; the reason is in WHY, for people.
 * *WAS_LOADED_OUT: whether it got as far as waiting for changes. */
enum session_end session_run(struct follower *follower, size_t number, bool *was_loaded_out,
			     struct buffer *why);
/* Whether server NUMBER can be used now. */
bool session_try(struct follower *follower, size_t number);

#endif
