// SPDX-License-Identifier: ISC
/*
 * world/waits.h - what each message waits for, and what excuses that.
 *
 * The packets between a manager and its helpers (ipc/job.h) say where each message goes, when it is
 * tried there, and which trigger a helper names; the log says when what was deferred is due, and
 * what has ended. So a message has a *wait* for each place where something of it is left: a domain
 * of other hosts, or a service.
 *
 * A wait is excused, for as long as that lasts:
 * - while its message is held;
 * - while there is a trigger that the last report about it named, or that new mail for its place
 *   waits for; one whose recipients are not mapped yet, while there is "directory";
 * - while its place wants no more mail (BUSY);
 * - while "handover", which hands it over to other nodes, does not know them;
 * - while "send", "queue" or the helper of its place stands still, its node is down, or a trouble
 *   (trouble.h) is there.
 * It is at an end with each attempt: a job begins, or "resolve" is asked.
 *
 * A job of "mailbox" that takes longer than WAITS_FILING_US is seen at its end, unless a fault came
 * meanwhile, or something stands still that is no decoder.
 *
 * The judge of attempts: what was deferred at an age is not tried again before birth +
 * (sqrt(age) + skip)^2, but for the spread of a tenth, and an eighth for those that join others
 * (manager/wait/schedule.h). Excused are, since it was deferred: a trigger that its message has
 * waited for, an order of an operator, a clock that was set, a power cut or an error of the disk,
 * and a fault while its record was not written yet (ACCOUNT_RECORD_US).
 */
#ifndef WORLD_WAITS_H
#define WORLD_WAITS_H

#include "accounts.h"
#include "base/str.h"

/* What is filed once waits 15 seconds for decoders and 10 for others with its Message-ID at most
 * (filing/decode/client.h, record lock_timeout), whatever these do; and for the disk. */
#define WAITS_FILING_US INT64_C(30000000)

struct wait_trigger {
	struct wait_trigger *next;
	char name[96];
	bool is_set;      /* at the last look; likewise: */
	bool is_awaited;  /* a message waits for it */
	int64_t there_us; /* when it was there, the last time that is known */
	int64_t tried_us; /* the last attempt of a message that waited for it */
	int64_t idle_us;  /* without an excuse, since */
};

struct wait_place {
	struct wait_place *next;
	char name[64];                /* a domain; or ':' and a service */
	const char *program;          /* of its helper; NULL: not known */
	struct wait_trigger *trigger; /* that new mail waits for, too; or NULL */
	int64_t busy_until_us;
};

/* What a message has for a place. */
struct wait {
	struct wait *next;
	struct wait_place *place;
	struct wait_trigger *trigger; /* that the last report about it named; or NULL */
	struct wait_place *nodes;     /* to which it was handed over, the last time; or NULL */
	bool is_begun;                /* there was a job */
	unsigned expected, ended;     /* deliveries */
	int64_t due_us;               /* the latest of them */
	int64_t event_us;             /* the last one */
	int64_t idle_us;              /* since then, without an excuse */
};

/* A delivery that was deferred. */
struct wait_try {
	unsigned number;
	int64_t tried_us; /* it was deferred then */
	int64_t early_us; /* before this time it must not be tried; 0: it may always be */
};

/* Mail whose first line has not come. */
struct wait_stray {
	struct wait_stray *next;
	uint64_t number;
	struct wait *waits;
};

/* A helper's end of its connection. */
struct wait_helper {
	struct wait_helper *next;
	uint64_t end;
	struct wait_place *place; /* NULL: "remote" or "resolve" */
	bool is_resolver;
};

struct waits {
	struct wait_trigger *triggers;
	struct wait_place *places;
	struct wait_helper *helpers;
	size_t helper_count;
	struct wait_stray *strays;
	int64_t heard_us; /* the last packet */
	uint64_t boots;   /* of the machine, as of the last packet; likewise: */
	int64_t wall_offset_us;
	int64_t cut_us, clock_us; /* when these have changed */
	int64_t ordered_us;       /* the last order of an operator */
	bool is_ordering;
	bool has_holds;     /* at the last look */
	int64_t strange_us; /* since when "handover" has not said in which groups the node is; 0: it
			     * has, or nothing is handed over */
	unsigned troubles;
	int64_t troubled_us; /* since when; or since the last look */
	int64_t down_us;     /* since when it is; 0: it is not */
	int64_t lost_us;     /* of all, since the last look */
	struct wait_loss {
		const char *program;
		int64_t us;
	} losses[16]; /* of processes that stood still, since the last look */
	size_t loss_count;
	int64_t looked_us;
	int64_t all_us, judged_us; /* of messages, from begin to end */
};

void waits_new(struct books *books);
void waits_end(struct books *books);
/* A new account, of which packets may have come before. */
void waits_adopt(struct account *account);
/* ACCOUNT is no more. */
void waits_drop(struct account *account);

/* --- what happens on a machine --- */

/* Before each packet. */
void waits_notice(struct books *books);
/* PROCESS, which stood still, does no more. */
void waits_thawed(const struct process *process);
void waits_trouble(const struct machine *machine, bool begins);
/* An operator gives an order, until that is carried out, or has failed. */
void waits_order(const struct machine *machine, bool begins);
/* A node stops; or is there again. */
void waits_down(struct books *books, bool is_down);
/* It is started: since the last packet it was down. */
void waits_started(const struct machine *machine);

/* --- what packets say --- */

/* The helper at END is one of SERVICE, and of PROGRAM. */
void waits_helper(struct books *books, uint64_t end, struct str service, const char *program);
/* NULL: END is none of a helper. */
const struct wait_helper *waits_find_helper(const struct books *books, uint64_t end);
/* The place of DESTINATION, or, if that is no domain, of the service of the helper at END; NULL. */
struct wait_place *waits_place(struct books *books, struct str destination, uint64_t end);
struct wait_place *waits_place_of_domain(struct books *books, struct str domain);
struct wait_place *waits_place_of_service(struct books *books, struct str service);
/* "resolve" is asked where message NUMBER goes: what was known of that is not so. */
void waits_ask(struct books *books, uint64_t number);
/* One more delivery of NUMBER goes to PLACE. */
void waits_map(struct books *books, uint64_t number, struct wait_place *place);
/* A job of ACCOUNT for PLACE begins; ... */
void waits_begin(struct account *account, struct wait_place *place);
/* ... and this delivery is in it. */
void waits_try(struct account *account, struct wait_place *place, unsigned number);
/* Where what is handed over to the nodes of GROUP waits, whatever it is. */
struct wait_place *waits_place_of_nodes(struct books *books, struct str group);
/* A job of ACCOUNT begins to hand over to NODES what it has for PLACE; ... */
void waits_hand(struct account *account, struct wait_place *nodes, struct wait_place *place);
/* ... or all of it, which is for COUNT recipients and was mapped nowhere. */
void waits_hand_unmapped(struct account *account, struct wait_place *nodes,
			 struct wait_place *stage, unsigned count);
/* "handover" is there, and has not said yet in which groups the node is; or has. */
void waits_groups(struct books *books, bool are_known);
/* What is said of a delivery. */
struct wait_report {
	unsigned number;
	struct str status, text, trigger;
};

/* REPORT is of ACCOUNT, which was tried at PLACE. */
void waits_report(struct account *account, struct wait_place *place,
		  const struct wait_report *report);
/* tries.c: the same for the judge of attempts. */
void tries_report(struct account *account, const struct wait_place *place,
		  const struct wait_report *report);
void waits_busy(struct wait_place *place, int64_t us);

/* --- what the log says --- */

/* A job for PLACE has ended, and took so long; 0: there was a fault meanwhile. */
void waits_filed(const struct books *books, const struct wait_place *place, int64_t took_us);
/* A delivery of ACCOUNT to TO by BY (a service, or "remote") is due at DUE_US, or, if that is 0,
 * has ended. */
void waits_hear(struct account *account, const char *by, const char *to, int64_t due_us);
void waits_trigger_released(struct books *books, const char *name);

/* --- for waiting.c --- */

/* Something is left to be done there. */
bool wait_is_open(const struct wait *wait);
/* Which triggers there are now. */
void waits_look_at_triggers(struct books *books);
/* The one with NAME; NULL: nobody has heard of it. */
struct wait_trigger *waits_find_trigger(const struct books *books, const char *name);
/* The same, but a new one. */
struct wait_trigger *waits_trigger(struct books *books, const char *name);
/* How long since the last look PROGRAM (NULL: those that all mail needs) could not work. */
int64_t waits_lost_us(const struct books *books, const char *program);
/* Sums up what has stood still until now; and the next look's time begins. */
void waits_look(struct books *books);
void waits_looked(struct books *books);

#endif
