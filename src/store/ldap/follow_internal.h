// SPDX-License-Identifier: ISC
/* store/ldap/follow_internal.h - between the parts of ldap_follow. */
#ifndef STORE_LDAP_FOLLOW_INTERNAL_H
#define STORE_LDAP_FOLLOW_INTERNAL_H

#include "log/event.h"
#include "store/ldap/follow.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
	FOLLOW_PROBE_US = 2000000, /* between questions whether the server is there, and how far */
	FOLLOW_SILENCE_US = 3000000,   /* until an answer: a link is known as dead after both */
	FOLLOW_ANSWER_US = 120000000,  /* until an answer, though other things are said */
	FOLLOW_PRESENT_MAX = 64 << 20, /* bytes; and as much for what is in the copy twice over */
	FOLLOW_SLICE_US = 200000,      /* at most, until a stop is seen */
	FOLLOW_RETURN_US = 60000000,   /* between looks at servers that are preferred */
	FOLLOW_FRESH_US = 60000000,    /* between notes of freshness on the disk */
	FOLLOW_DELAY_US = 1000000,     /* when no server can be followed; doubles */
	FOLLOW_DELAY_MAX_US = 8000000,
	FOLLOW_TURN_MAX = 1000,       /* messages between commits, once all is loaded */
	FOLLOW_ENTRIES_BAD_MAX = 100, /* entries that are named in the log, of one load */
	FOLLOW_NOTES_MAX = 1000,      /* lines that wait for the log; more are dropped */
};

enum { NOTE_FIELDS_MAX = 6 };

/* A line for the log. */
struct note {
	enum log_name event;
	struct log_field fields[NOTE_FIELDS_MAX + 1]; /* texts owned */
	struct note *next;
};

/* The thread's, but for what is said otherwise. */
struct follower {
	struct follower_settings settings;
	struct copy *copy;
	void (*moved)(void *context);
	void *context;
	struct os_wakeup *wakeup;
	pthread_t thread;
	bool is_started;
	atomic_bool is_stopping;
	atomic_bool is_accepted; /* the next load, however little it shows */
	pthread_mutex_t mutex;   /* for the next six, and the condition */
	int64_t fresh_us;
	int64_t lost_us; /* 0: a server is followed */
	size_t number;   /* of that server, or of the last that was tried */
	struct note *notes;
	struct note **last_note;
	size_t note_count;
	pthread_cond_t stopping;
	struct copy_counts counts;   /* since the connection */
	uint64_t passwords_unusable; /* the same */
	uint64_t bad_count;          /* the same */
	struct buffer *complaints;   /* of each server: what was last said of it */
	int64_t fresh_noted_us;      /* when freshness was last written */
	bool is_reload;              /* the cookie was refused */
};

/* For the log: fields as log_event() takes them. */
#define follower_note(follower, name, ...) \
	follower_add_note(follower, name, (const struct log_field[]){__VA_ARGS__, {LOG_FIELD_END}})
void follower_add_note(struct follower *follower, enum log_name event,
		       const struct log_field *fields);
bool follower_is_stopping(struct follower *follower);
/* All that the server had at FRESH_US is in the copy. */
void follower_set_fresh(struct follower *follower, int64_t fresh_us);
/* Wakes the loop's thread: records may have changed. */
void follower_tell(struct follower *follower);

enum session_end {
	SESSION_LOST,    /* or never made */
	SESSION_BEHIND,  /* the server lacks what we have */
	SESSION_REFUSED, /* the cookie; once more without */
	SESSION_RETURN,  /* a server that is preferred may be back */
	SESSION_STOPPED,
};

/* session.c: follows server NUMBER until that ends; in WHY the reason, for people.
 * *WAS_LOADED_OUT: whether it came to where changes are waited for. */
enum session_end session_run(struct follower *follower, size_t number, bool *was_loaded_out,
			     struct buffer *why);
/* Whether server NUMBER can be used now. */
bool session_try(struct follower *follower, size_t number);

#endif
