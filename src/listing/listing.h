// SPDX-License-Identifier: ISC
/*
 * listing/listing.h - what is in a queue, read from its directory as it stands:
 * no daemon is asked but by ask_why(), nothing is locked or changed, one message at a time is in
 * memory, and of one X of todo/ the numbers.
 *
 * listing_each() shows a message that is there all the while once, also when it moves
 * on; one that comes or goes meanwhile may be seen, or not. The sums of
 * listing_count() are those of each place when it was read.
 */
#ifndef LISTING_LISTING_H
#define LISTING_LISTING_H

#include "queue/control.h"
#include "queue/store.h"

struct listing_entry {
	uint64_t number;
	bool is_preprocessed;          /* S5; else S4 */
	enum mail_stage stage;         /* of S4 */
	struct queue_control *control; /* NULL: damaged */
	unsigned line;                 /* of the damage; 0: no line is to blame */
	bool is_held;                  /* by the operator: trigger/hold.ID stands */
	struct str waits_for;          /* the trigger that all of it waits for, where no delivery's
					* record has it; empty: none, or not known */
};

/* Empty texts let everything pass. Addresses are compared in any case. */
struct listing_filter {
	struct str sender;    /* LOCAL@DOMAIN */
	bool is_from_null;    /* only from the null sender, whatever sender says */
	struct str recipient; /* of the envelope, or where it was mapped to */
	struct str domain;    /* of such a recipient */
	bool has_stage;
	enum mail_stage stage; /* only what waits there */
	struct str transport;  /* "remote", "list" or a service's name */
	struct str trigger;    /* that a delivery waits for by its last record, all of it without
				* one, or a hold */
	struct str reason; /* in the last reply or error of a delivery that waits, or its status */
	bool is_held;      /* only what an operator holds */
	int64_t born_before_us;
	int64_t born_after_us;
	bool is_of_one_user; /* only what USER queued by a command */
	unsigned long user;
	/* Whoever knows what a message waits for that has not been tried: appends the trigger's
	 * name, or nothing, to NAME. NULL: nobody is asked. */
	void (*ask_why)(void *context, struct mail_id id, struct buffer *name);
	void *why_context;
};

enum { LISTING_HOLD_SIZE = MAIL_ID_SIZE + 8 };

/* The name of the trigger that holds ID back: "hold.457-63f1a2b3c4d5e". */
struct str listing_hold_name(struct mail_id id, char name[LISTING_HOLD_SIZE]);

/* Calls EACH with every message that passes FILTER; stops when it returns
 * something else than 0, and returns that. */
MUST_CHECK int listing_each(struct queue_store *store, const struct listing_filter *filter,
			    int (*each)(void *context, const struct listing_entry *entry),
			    void *context);

enum listing_order {
	LISTING_BY_PLACE,  /* as the files are found */
	LISTING_BY_AGE,    /* the oldest first */
	LISTING_BY_SIZE,   /* the largest first */
	LISTING_BY_SENDER, /* by domain, then local part */
	LISTING_BY_DOMAIN, /* of the first recipient that is not done */
	LISTING_BY_NEXT,   /* who is tried next first, then who waits for something else */
};

/* The same in an order; what is damaged comes last. About 100 bytes of memory for each message that
 * passes; each is read twice, and one that has gone between is not shown. */
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
	char name[64]; /* "todo submit", "preprocessed", "local maildir", "spare files" ... */
	uint64_t messages;
	uint64_t bytes; /* of data files, where they can be seen */
};

/* Calls EACH with every place; *OLDEST_US is the earliest birth, 0: no message. */
MUST_CHECK int listing_count(struct queue_store *store,
			     int (*each)(void *context, const struct listing_count *count),
			     void *context, int64_t *oldest_us);

enum listing_by {
	LISTING_BY_DESTINATION, /* the domain, or "local SERVICE" */
	LISTING_BY_REASON,      /* the last status and text, without what looks like a number */
};

enum { LISTING_GROUPS_MAX = 1000 }; /* that are in memory; what comes later is "the rest" */

/* What is not done and has something in common. */
struct listing_group {
	struct str name;
	bool is_rest; /* all that found no room; has no name */
	uint64_t deliveries;
	uint64_t messages;
	int64_t oldest_us; /* the earliest birth */
};

/* Calls EACH with every group, the largest first, the rest at last. */
MUST_CHECK int listing_groups(struct queue_store *store, enum listing_by by,
			      void (*each)(void *context, const struct listing_group *group),
			      void *context);

/* A message as mailq of other systems shows it. */
void listing_print(const struct listing_entry *entry, struct buffer *out);
void listing_print_heading(struct buffer *out);
/* As JSON, without a newline. */
void listing_print_json(const struct listing_entry *entry, struct buffer *out);

#endif
