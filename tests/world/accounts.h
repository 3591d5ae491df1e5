// SPDX-License-Identifier: ISC
/*
 * world/accounts.h - what the log of each node says of each of its messages, and who judges that.
 *
 * The judge of the log: a message is queued once and accepted once; each of its deliveries has one
 * end, delivered or failed, with any deferrals before it; failures are followed by one report;
 * "message_done" comes once, last, and when the message's names are gone; what the log calls
 * delivered the ledger has. No process ends by a signal that nobody sent.
 *
 * The judge of waiting (waiting.c): a message has its next attempt WAITING_US after it was due at
 * the latest, not counting the time that is excused (waits.h); and no client waits longer for a
 * reply. (More where many messages are open.)
 *
 * A line may be missing, and an end may come twice, only when the machine was hurt while the
 * message was there.
 *
 * Excuses: a recipient may get a message twice when the machine was hurt between the next hop's
 * answer (the ledger knows it; for mailboxes, other nodes and reports: the message's beginning
 * here) and ACCOUNT_RECORD_US after the log first called it delivered: by then that is on the disk.
 * Only the last deliveries of a message end with it, without a record: these may be repeated when
 * the machine was hurt before the message's file left the queue, or when a power cut brought it
 * back (states.h).
 *
 * What a node hands over to another one comes once, whatever befalls either. A second copy is
 * excused by "node_doubt" alone, for what the node has had for the time that it says, and gives to
 * somebody later.
 */
#ifndef WORLD_ACCOUNTS_H
#define WORLD_ACCOUNTS_H

#include "kernel.h"

/* Of faults, seconds of a slow next hop, names that are asked for in vain: simulated. */
#define WAITING_US INT64_C(600000000)
/* What each open message of the machine may add to that. */
#define WAITING_EACH_US INT64_C(100000)

/* A trigger's message tries at least as often: 30 times probe_delay. */
#define WAITING_PROBE_US INT64_C(1800000000)
/* What could not be read or written is tried again after that: manager/decide.c, manager/life.c. */
#define WAITING_FAILED_US INT64_C(640000000)

/* An outcome is on the disk so long after its line in the log at the latest, unless the message has
 * ended before: it waits for others for a quarter of a second, and then for the disk. */
#define ACCOUNT_RECORD_US INT64_C(5000000)

/* What the log says of one delivery. */
struct account_delivery {
	unsigned number;
	unsigned ends;
	int64_t end_us;     /* the first one; 0: none */
	int64_t last_us;    /* the last one */
	char recipient[64]; /* as the sender wrote it */
	bool is_told;       /* that it has ended, since its message was mapped (waits.h) */
	bool is_failed;
	bool is_his_own; /* it goes to the address that the sender wrote */
	bool is_here;    /* in a mailbox, or at the next hop: the ledger has it; not by a list */
	bool is_at_hop;
	bool is_handed; /* another node has it now (cluster.h) */
};

/* A fault. One that finds a process frozen began with the freeze: what was waited for did not come.
 */
struct account_hurt {
	int64_t from_us;
	int64_t until_us;
};

struct account {
	struct account *next;           /* of its hash */
	struct account *before, *after; /* of the open ones */
	struct books *books;
	char id[40];
	uint64_t message; /* of the ledger; UINT64_MAX: not known */
	int64_t first_us;
	int64_t last_us; /* the last line */
	int64_t due_us; /* before this time it need not be tried: a clock was wrong, or a file could
			 * not be read */
	int64_t done_us; /* 0: not yet */
	int64_t end_us;  /* the first delivered or failed, 0: none */
	unsigned queued;
	unsigned accepted;
	unsigned reported;
	int64_t doubt_us; /* another node that may have some of it was given up, the last time; 0:
			   * none was */
	bool is_promised; /* a client has heard so */
	bool is_failed;
	struct wait *waits; /* waits.h: one for each place where something of it is to be done */
	struct wait_try *tries; /* that were deferred, by number */
	size_t try_count;
	int64_t event_us;   /* of the message as a whole: a line, a question to "resolve" */
	int64_t idle_us;    /* since then, without an excuse, and nothing is known to be done */
	struct turn *turns; /* turns.h: one for each destination where it had a job */
	size_t flights;     /* jobs that it has now */
	uint64_t *tried;    /* a bit for each delivery that was tried here (handing.c) */
	size_t tried_size;
	struct account_delivery *deliveries; /* that have ended, by number */
	size_t delivery_count;
};

/* What is known of a machine. */
struct books {
	struct machine *machine;
	struct account **table;
	size_t bits;
	size_t count;
	struct account *first_open, *last_open;
	size_t open_count;
	struct account_hurt *hurts; /* in the order of their ends */
	size_t hurt_count, hurt_size;
	int64_t promised_us; /* the last time that a client heard 250 for a message */
	int64_t outcome_us;  /* the last time that a delivery ended or was deferred */
	int64_t filing_us;   /* the last time that "mailbox" was given a message */
	int64_t moved_us;    /* the last time that something delayed its mail */
	bool is_held;        /* an operator holds some */
	struct waits *waits; /* waits.h */
	struct turns *turns; /* turns.h */
	struct books *next;
};

/* Reads the log of MACHINE from now on. */
void accounts_watch(struct machine *machine);
void accounts_end(void);
struct books *accounts_first(void);
struct books *accounts_of(const struct machine *machine);
/* NULL: nothing is known of ID, or not any more. */
const struct account *accounts_find(const struct machine *machine, const char *id);
/* The node at ADDRESS has said 250 for MESSAGE, and that it is ID there. */
void accounts_promised(uint32_t address, const char *id, uint64_t message);
/* Judges the accounts that are done since a minute. */
void accounts_close(void);
/* All is done: what has not ended has ended without a word. */
void accounts_look_at_end(void);

/* --- handing.c --- */

/* Nodes hand mail over to each other (cluster.h), or not. */
void accounts_hand_over(bool is_so);
bool accounts_are_handed_over(void);
/* NUMBER of MACHINE, which is MESSAGE of the ledger, had ended, and is there again after a power
 * cut: what that may bring a second time is excused. */
void accounts_returned(const struct machine *machine, uint64_t number, uint64_t message);
/* Whether TEXT, of a delivery, says that another node has it now. */
bool handing_is_told(const char *text);
/* Delivery NUMBER of ACCOUNT is tried by this node. */
void handing_try(struct account *account, unsigned number);
/* Whether a second copy of DELIVERY is none of this node's doing, whatever befalls it: it was
 * handed over, and not tried here before. */
bool handing_is_clean(const struct account *account, const struct account_delivery *delivery);
/* "node_doubt": after PATIENCE_US a node was given up that may have some of what is open. */
void handing_doubt(const struct books *books, int64_t patience_us);

/* --- hurts.c --- */

/* Something was killed, frozen, cut off or broken on MACHINE. */
void accounts_hurt(const struct machine *machine);
/* Mail may be late: a stop, a start, a reload, a thaw, a clock that jumps; and a hurt. */
void accounts_moved(const struct machine *machine);
void accounts_hold(const struct machine *machine, bool is_held);
/* The disk has changed something of the message NUMBER (damages.h), for which nobody waits. */
void accounts_damaged(const struct machine *machine, uint64_t number);
bool books_are_hurt_between(const struct books *books, int64_t from_us, int64_t until_us);

/* --- closing.c --- */

/* Whether the disk has changed something of its message. */
bool account_is_damaged(const struct account *account);
/* Objects to WHAT the log says of ACCOUNT, unless its machine was hurt meanwhile, or its message is
 * damaged. */
void account_object(const struct account *account, const char *what);
/* ACCOUNT is done: which of its deliveries must be on the disk. */
void account_settle(const struct account *account);
/* Whether a process of MACHINE stands still. */
bool machine_is_frozen(const struct machine *machine);
/* accounts.c: NULL, if nothing is known of ID. */
struct account *account_find(const struct books *books, const char *id);
/* accounts.c: the message that has NUMBER now; NULL: nothing is known of it. */
struct account *account_of_number(const struct books *books, uint64_t number);
/* accounts.c: forgets it. */
void account_drop(struct account *account);

/* --- waiting.c --- */

/* Looks at the open messages of each machine; and so from now on, once a minute. */
void waiting_look(void);
void waiting_begin(void);
/* The clock of MACHINE, which was wrong by JUMP_US, is right again. For each open message the next
 * attempt may have been decided, without a word, when it looked older than it is: it may come as
 * late as if it were. And where the clock was ahead, the record says a time of that clock, to which
 * the message sleeps again when it has woken in time: at most for one more pause. */
void waiting_clock_is_right(const struct machine *machine, int64_t jump_us);
/* The time of all messages from their first line to their end, and how much of it was judged: of
 * that, what they waited for would have been noticed. */
void waiting_sum(int64_t *all_us_out, int64_t *judged_us_out);
/* A client of the node at ADDRESS has waited SINCE_US for WHAT. */
void waiting_check_client(uint32_t address, int64_t since_us, const char *what);

#endif
