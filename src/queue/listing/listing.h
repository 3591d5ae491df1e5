// SPDX-License-Identifier: ISC
/*
 * queue/listing/listing.h - what is in a queue, read directly from its directory: no daemon is
 * asked except by ask_why(), nothing is locked or changed. In memory are one message at a time, and
 * the numbers in one X of todo/.
 *
 * listing_each() shows a message that stays in the queue exactly once, even if it moves meanwhile;
 * one that arrives or ends meanwhile may or may not be seen. The sums of listing_count() are those
 * at the time when each place was read.
 */
#ifndef QUEUE_LISTING_LISTING_H
#define QUEUE_LISTING_LISTING_H

#include "config/config.h"
#include "queue/control/control.h"
#include "queue/store.h"

struct listing_entry {
	uint64_t number;
	bool is_preprocessed;          /* S5; otherwise S4 */
	enum mail_stage stage;         /* at S4 */
	struct queue_control *control; /* NULL: damaged */
	unsigned line;                 /* the damaged line; 0: the damage is not in one line */
	bool is_held;                  /* by the operator: trigger/hold.ID exists, and HELD_UNTIL */
	struct str held_until;         /* the trigger with which the hold ends; empty: none */
	struct str waits_for;          /* the trigger that all of it waits for, if no record of a
					* delivery has it; empty: none, or unknown */
	struct str waits_because;      /* what its file says of that trigger, for people */
	struct str pause;              /* "WHERE: REASON", for people: what else it waits for */
};

/* Asks what a message waits for that could be tried now: appends the trigger's name,
 * "(WHERE: REASON)", or nothing, to WHY. */
typedef void listing_ask_why(void *context, struct mail_id id, struct buffer *why);

/* Sets waits_for, waits_because and pause of ENTRY, a message, if its records do not say why it is
 * not tried. */
void listing_learn_why(struct queue_store *store, listing_ask_why *ask, void *context,
		       struct listing_entry *entry);

/* An empty text matches everything. Addresses are compared ignoring case. */
struct listing_filter {
	struct str sender;    /* LOCAL@DOMAIN */
	bool is_from_null;    /* only from the null sender, whatever SENDER is */
	struct str recipient; /* of the envelope, or an address it was mapped to */
	struct str domain;    /* the domain of such a recipient */
	bool has_stage;
	enum mail_stage stage; /* only messages waiting there */
	struct str transport;  /* "remote", "list" or a service's name */
	struct str trigger;    /* that a delivery waits for by its last record, or, without one,
				* the whole message; or a hold, or the trigger that ends it */
	struct str reason;     /* in the last reply or error of a waiting delivery, or its status */
	bool is_held;          /* only messages held by an operator */
	int64_t born_before_us;
	int64_t born_after_us;
	int64_t left_out_since_us; /* what is born between then and the moment when it is looked at
				    * is left out; 0: nothing. What is born later came before, while
				    * the clock was ahead */
	struct str user;           /* who was authenticated, or queued it by a command */
	bool has_client;
	struct config_network client; /* only messages that a client there has sent */
	bool is_of_one_user;          /* only messages that UID queued by a command */
	unsigned long uid;
	listing_ask_why *ask_why; /* NULL: not asked */
	bool wants_triggers_only; /* it need not be asked while there is none */
	void *why_context;
};

enum { LISTING_HOLD_SIZE = MAIL_ID_SIZE + 8 };

/* The name of the trigger that holds ID back: "hold.457-63f1a2b3c4d5e". */
struct str listing_hold_name(struct mail_id id, char name[LISTING_HOLD_SIZE]);

/* Calls EACH with every message that passes FILTER; stops when it returns something else than 0,
 * and returns that. */
MUST_CHECK int listing_each(struct queue_store *store, const struct listing_filter *filter,
			    int (*each)(void *context, const struct listing_entry *entry),
			    void *context);

enum listing_order {
	LISTING_BY_PLACE,  /* in the order in which the files are found */
	LISTING_BY_AGE,    /* oldest first */
	LISTING_BY_SIZE,   /* largest first */
	LISTING_BY_SENDER, /* by domain, then local part */
	LISTING_BY_DOMAIN, /* of the first recipient that is not done */
	LISTING_BY_NEXT,   /* by the time of the next attempt; then those that wait for something
			    * else */
};

/* The same in sorted order; damaged messages come last. Takes about 100 bytes of memory for each
 * message that passes; each is read twice, and one that has ended in between is not shown. */
MUST_CHECK int listing_each_sorted(struct queue_store *store, const struct listing_filter *filter,
				   enum listing_order order, bool is_reversed,
				   int (*each)(void *context, const struct listing_entry *entry),
				   void *context);

/* The message that TEXT names: an id, or its number alone. -ENOENT, -EINVAL.
 * The caller frees entry_out->control. */
MUST_CHECK int listing_find(struct queue_store *store, struct str text,
			    struct listing_entry *entry_out);

/* One place of the queue. */
struct listing_count {
	char name[64]; /* "todo submit", "preprocessed", "local maildir", "spare files" ...; last
			* "of format 1", if an earlier version has queued any */
	uint64_t messages;
	uint64_t bytes; /* of data files, if they can be read */
};

/* Calls EACH for every place; *OLDEST_US is the earliest birth, 0: no messages. */
MUST_CHECK int listing_count(struct queue_store *store,
			     int (*each)(void *context, const struct listing_count *count),
			     void *context, int64_t *oldest_us);

/* How many messages there are, without a look at any: cheap. One that moves meanwhile may be
 * counted twice. */
MUST_CHECK int listing_count_messages(struct queue_store *store, uint64_t *count_out);

/* What would be missed if the disk went. */
struct listing_left {
	uint64_t messages;
	uint64_t packages; /* that other nodes have handed over, and may hand over again */
	uint64_t peers;    /* nodes that may have to be told that mail of this one is settled */
};

/* The same, with what other nodes may come back to. */
MUST_CHECK int listing_count_left(struct queue_store *store, struct listing_left *left_out);

struct listing_damage {
	uint64_t messages;    /* that a disk has changed */
	uint64_t differences; /* in them */
};

/* Looks at the envelope and the control file of every message, and at the data if WITH_DATA: calls
 * EACH with each difference (queue/damage.h). */
MUST_CHECK int listing_damage(struct queue_store *store, bool with_data,
			      void (*each)(void *context, const char *path,
					   const struct queue_difference *difference),
			      void *context, struct listing_damage *found_out);

enum listing_by {
	LISTING_BY_DESTINATION, /* the domain, or "local SERVICE" */
	LISTING_BY_REASON,      /* the last status and text, with numbers replaced */
};

enum { LISTING_GROUPS_MAX = 1000 }; /* in memory at a time; what comes later is "the rest" */

/* Undecided deliveries that have something in common. */
struct listing_group {
	struct str name;
	bool is_rest; /* everything beyond LISTING_GROUPS_MAX; has no name */
	uint64_t deliveries;
	uint64_t messages;
	int64_t oldest_us; /* the earliest birth */
};

/* Calls EACH with every group, largest first, the rest last. */
MUST_CHECK int listing_groups(struct queue_store *store, enum listing_by by,
			      void (*each)(void *context, const struct listing_group *group),
			      void *context);

/* A message in the format of other systems' mailq. */
void listing_print(const struct listing_entry *entry, struct buffer *out);
/* Of a message that is held: "held by the operator until maint is released". */
void listing_print_hold(const struct listing_entry *entry, struct buffer *out);
/* What else than its control file says it waits for, a line each; nothing if that is nothing. */
void listing_print_why(const struct listing_entry *entry, struct buffer *out);
void listing_print_heading(struct buffer *out);
/* As the field NAME of JSON: PAUSE, "DESTINATION: REASON", as an object. */
void listing_print_pause_json(const char *name, struct str pause, struct buffer *out);
/* As JSON, without a newline. */
void listing_print_json(const struct listing_entry *entry, struct buffer *out);

#endif
