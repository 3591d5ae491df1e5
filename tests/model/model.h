// SPDX-License-Identifier: ISC
/*
 * model/model.h - a manager among pretended others: what it is linked with instead of the
 * system, the queue's directory and the processes at its sockets. Time stands still until
 * the test moves it, and nothing happens but what the test chooses.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "log/event.h"
#include "mail/envelope.h"
#include "manager/internal.h"
#include "queue/group.h"
#include "queue/message.h"

/* --- chance --- */

void model_seed(uint64_t seed);
uint64_t model_random(uint64_t below);
/* True once in N times. */
bool model_once_in(uint64_t n);
/* Nothing happens by chance: no model_once_in(), and model_random() is 0. */
extern bool model_is_calm;
/* Tells what does not hold, with the seed and the event, and exits. */
_Noreturn void model_fail(const char *format, ...) PRINTF_LIKE(1, 2);

enum { MODEL_SIZE = 100 }; /* bytes of data of most messages, all of them "x" */

/* --- model_os.c: time, timers, tasks, watched descriptors --- */

extern int64_t model_mono_us;
extern int64_t model_wall_us;
/* How far the wall clock was set, forth and back. */
extern int64_t model_jumped_us;

/* The manager's own, which each call must be given; there is nothing in them. */
extern struct os_loop *const model_loop;
extern struct queue_store *const model_store;
void model_check_loop(const struct os_loop *loop);
void model_check_store(const struct queue_store *store);

/* Runs what was deferred until nothing is. */
void model_run_tasks(void);
/* Moves the clocks so far, and calls the timers that are due on the way. */
void model_advance(int64_t us);
/* When the next timer is due; INT64_MAX: none runs. */
int64_t model_next_timer_us(void);
/* The machine's load average, in hundredths. */
extern unsigned model_load;
/* Calls whoever watches DESCRIPTOR. */
void model_ready(int descriptor);
enum { MODEL_NOTIFY = 1001, MODEL_TRIGGER = 1002, MODEL_LISTENING = 1003, MODEL_DATA = 1004 };
/* An order that waits at the notify socket; its answer. */
const char *model_give_order(const char *text);
/* Who gives it, and who each helper is, in their order in model_helpers.c. */
enum { MODEL_HELPERS = 6 };
extern uid_t model_orderer;
extern uid_t model_users[MODEL_HELPERS];
/* How often the event was logged. */
unsigned model_logged(enum log_name name);

/* What the manager has been told last: model.c. */
extern const struct config *model_config;

/* --- model_queue.c: "queue"; model_disk.c: the disk; model_mail.c: messages, the ledger --- */

enum { MODEL_RECIPIENTS_MAX = 6 };
#define MODEL_DELAY_NOTICE_US (HOUR_US / 2)
#define MODEL_LIFETIME_US     (5 * DAY_US)

/* A message on the disk. */
struct model_message {
	struct mail_id id;
	bool is_queued;  /* todo/ */
	bool is_at_s5;   /* info/ */
	bool is_present; /* its data is there */
	bool is_report;
	bool is_verp;  /* each recipient has a sender of his own */
	bool is_empty; /* its data are lost */
	enum mail_stage stage;
	int64_t release_us;            /* not to be tried before; 0: at once */
	struct mail_deadline deadline; /* that its sender has set */
	bool is_hurried;               /* an order said to try it all the same */
	int64_t due_us;
	int64_t noted_us;  /* the wall clock when that was written */
	int64_t minute_us; /* monotonic; since then it was read so many times: */
	unsigned reads;
	struct buffer envelope;
	struct buffer control;
	size_t bounce; /* bytes of its record of failures */
	uint32_t recipients;
	unsigned notify[MODEL_RECIPIENTS_MAX + 1]; /* enum mail_notify, as asked for */
	/* the ledger, by delivery (each recipient has one): */
	const void *flight[MODEL_RECIPIENTS_MAX + 1];    /* the helper that has it, or NULL */
	char decided[MODEL_RECIPIENTS_MAX + 1];          /* '2' or '5' as reported; 'x': given up */
	bool is_passed_on[MODEL_RECIPIENTS_MAX + 1];     /* its success is reported by others */
	bool is_announced[MODEL_RECIPIENTS_MAX + 1];     /* that it was sent on is to be reported */
	bool may_be_announced[MODEL_RECIPIENTS_MAX + 1]; /* or perhaps */
	bool is_held;         /* since it slept: nothing may be started */
	int64_t jumped_us;    /* model_jumped_us when it came */
	bool is_given_up;     /* an order said so */
	bool is_mapped_again; /* likewise, once at least */
	bool is_released;     /* what it waited for happened: to be woken */
	bool is_due;          /* and woken: to be tried */
	uint32_t reports;     /* on it that were queued */
	uint32_t delays;      /* reports of its delay */
	bool is_late_told;    /* one came after its deadline, perhaps */
	uint32_t successes;   /* reports of success alone */
};

extern struct model_disk {
	bool fails;      /* updates fail */
	bool refuses;    /* bounces are not queued */
	bool is_up;      /* "queue" is connected */
	bool is_closed;  /* nothing can be read */
	bool is_closing; /* so it is after the next time */
	bool keeps;      /* records of failures cannot be removed */
	bool hides;      /* trigger/ cannot be read, nor what is in it */
	size_t unread;   /* messages that could not be read */
	int open_files;  /* data that the manager has opened */
	bool is_clean;   /* the cleaner is sure that no name is left over */
	size_t alive;    /* messages that are not removed */
	size_t capacity; /* for whom there is room */
	struct model_message *messages;
} model_disk;

struct model_message *model_find(uint64_t number);
/* M must not be tried any more: its sender's time has passed. */
bool model_is_late(const struct model_message *m);
/* M must not be tried yet, whatever the clocks did. */
bool model_is_early(const struct model_message *m);
/* Says this to the manager in the name of "queue", which is connected. */
void model_tell(enum queue_protocol type, struct str body);
/* ENVELOPE becomes a message, with the next number; the manager is told. */
void model_add_mail(struct mail_envelope *envelope, bool is_report);
uint64_t model_next_number(void);
/* The helper for SERVICE has delivered it; IS_TIMED: to a host that was told of its deadline. */
void model_note_sent(struct model_message *m, uint32_t delivery, const char *service,
		     bool is_timed);
/* A helper is told BODY, a START, of it: all of its envelope (model_told.c). */
void model_check_told(const struct model_message *m, struct str body);
/* Whether its recipients are to be mapped before it is tried. */
bool model_is_requeued(const struct model_message *m);
/* SLEEPER is M, asleep: whether its times are right. IS_TRIGGERED: by a trigger. */
void model_check_asleep(const struct model_message *m, const struct sleeper *sleeper,
			bool is_triggered);
/* It is read: as often as there is a reason. */
void model_note_read(struct model_message *m);
/* It is removed: whether that may be. */
void model_check_over(const struct model_message *m);
/* What its sender wants, of the NUMBERth message: all of it comes. */
void model_set_wishes(struct mail_envelope *envelope, uint64_t number);
/* A new message with so many recipients of RANDOM domains; the manager is told. */
void model_new_mail(uint32_t recipients);
/* One of so many bytes from SENDER to ADDRESSES (NULL ends them). */
/* One to ADDRESS that is not to be tried while TRIGGER is set. */
struct model_message *model_mail_that_waits(const char *address, const char *trigger);
struct model_message *model_mail_to(const char *sender, const char *const *addresses,
				    uint64_t size);
/* Ends the update that is at the disk, if any; whether there was one. */
bool model_disk_works(void);
/* Answers the removals that were asked for. */
void model_answer_removals(void);
/* Goes on with a bounce that is being queued, if any. */
bool model_queue_bounce(void);
/* A failure of the message was reported to its sender. */
void model_reported(uint64_t number);
/* Its delay, or that all succeeded: each once, and only to who asked. */
void model_notified(uint64_t number);
void model_queue_lost(void);
/* A manager has ended: what it had said to "queue" was said. */
void model_forget_manager(void);
void model_queue_connects(void);
/* "queue" knows that no name is left over, if that is so. */
void model_check_cleaned(void);
/* All messages and triggers are gone. */
void model_forget_disk(void);
bool model_has_trigger(const char *name);

/* --- model_helpers.c: helpers and resolve --- */

/* The first so many helpers count their sessions, one for each job (model_class.h); NULL: none
 * does. */
extern const struct model_sessions {
	size_t count;
	/* Of the job TAG of a helper, with HOST; false: there is no place for it. */
	bool (*begin)(size_t helper, uint32_t tag, const char *host, bool has_turn);
	/* It is over; nothing, if it was not begun. */
	void (*end)(size_t helper, uint32_t tag);
	/* The trigger for which mail to HOST waits then; until the next call. */
	const char *(*refused_by)(size_t helper, const char *host);
	/* The helper is lost, perhaps because it is killed; its connection has ended, and all its
	 * jobs; it connects. */
	void (*lose)(size_t helper);
	void (*drop)(size_t helper);
	void (*connect)(size_t helper);
} * model_sessions;

/* Those that are lacking are connected. */
void model_connect_helpers(void);
/* Some helper, or resolve, does something: KIND decides. PEACE: nothing bad. */
void model_helper_acts(bool peace);
/* Every helper does all it can. */
void model_helpers_finish_all(void);
void model_lose_helper(void);
/* All that are for SERVICE. */
void model_lose(const char *service);
/* All questions are answered: as they should be; with two deliveries for each recipient; not now,
 * because the directory is away, or for another reason. An address gone@... is not known. */
enum model_answer { MODEL_KNOWN, MODEL_DOUBLED, MODEL_AWAY, MODEL_LATER };
void model_resolve(enum model_answer how);
/* The same, but each recipient leads to all of TARGETS (NULL ends them). */
void model_resolve_to(const char *const *targets);
/* How often resolve was asked to say when the directory is back; it says so. */
unsigned model_asked_back(void);
void model_directory_is_back(void);
/* The helper that has the delivery says STATUS of it, and TRIGGER unless that is ""; or nothing
 * when STATUS is NULL. The job ends with its last delivery. */
void model_say(struct model_message *m, uint32_t delivery, const char *status, const char *trigger);
/* The same, and the job goes on even if nothing is left. */
void model_say_before_the_end(struct model_message *m, uint32_t delivery, const char *status);
/* The helper that has the delivery ends its job: the destination has had enough for so long. */
void model_say_busy(struct model_message *m, uint32_t delivery, uint32_t wait_ms);
/* The sender, or the destination, that the delivery's job was started with. */
const char *model_sender_of(const struct model_message *m, uint32_t delivery);
const char *model_destination_of(const struct model_message *m, uint32_t delivery);

#endif
