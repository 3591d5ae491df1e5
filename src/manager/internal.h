// SPDX-License-Identifier: ISC
/*
 * manager/internal.h - what the manager's files do for each other, on what is in
 * manager/state.h.
 */
#ifndef MANAGER_INTERNAL_H
#define MANAGER_INTERNAL_H

#include "manager/state.h"

/* message.c */
/* The message, unless it sleeps (or is not known). */
struct message *message_find(struct manager *manager, uint64_t number);
/* A message that was not known: it wakes, its control file is not read. */
struct message *message_new(struct manager *manager, uint64_t number, bool is_queued,
			    enum mail_stage stage);
/* Takes one out of those that sleep: the same. Consumes SLEEPER. */
struct message *message_take(struct manager *manager, struct sleeper *sleeper);
/* Reads MESSAGE's control file, which is TEXT (when empty it is on the disk), and goes
 * on. The message may be gone afterwards. */
void message_wake(struct manager *manager, struct message *message, struct str text);
/* Puts it to sleep until DUE_US. Consumes MESSAGE. */
void message_sleep(struct manager *manager, struct message *message, int64_t due_us);
/* Puts it to sleep until WAITERS are woken, or LATEST_US. Consumes MESSAGE. */
void message_sleep_with(struct manager *manager, struct message *message, struct waiters *waiters,
			int64_t latest_us);
void message_free(struct manager *manager, struct message *message);
/* After a change: goes on with what the message needs next. */
void message_continue(struct manager *manager, struct message *message);
/* It has so many in memory now. */
void message_weigh(struct manager *manager, struct message *message, size_t deliveries);
bool message_has_unrecorded(const struct message *message); /* outcomes */
/* All of its recipients have their deliveries. */
void message_mapped(struct manager *manager, struct message *message);

/* wake.c */
/* Whether another one may be woken now, or become deliveries. */
bool wake_is_allowed(const struct manager *manager);
/* Whether many are awake: those with a choice had better sleep. */
bool wake_many_are_awake(const struct manager *manager);
/* A new message has come: retries get less. */
void wake_new_mail(struct manager *manager);
/* Whether no new mail comes. */
bool wake_has_spare_time(const struct manager *manager);
/* Whether a retry may be started now; otherwise what could not be is dispatched later. */
bool wake_may_start_retry(struct manager *manager);
/* SLEEPER is the next to be woken. */
void wake_first(struct manager *manager, struct sleeper *sleeper);
/* The first COUNT of WAITERS are, or when they are RETRIES, as others are. */
void wake_waiters(struct manager *manager, struct waiters *waiters, size_t count, bool retries);
/* After a change of what sleeps: the timer. */
void wake_schedule(struct manager *manager);
/* Before a time is compared with those of sleepers or put among them: where the wall
 * clock was set meanwhile, theirs follow, so that who had to wait ten minutes more waits
 * ten minutes more. */
void wake_check_clock(struct manager *manager);
void wake_due(void *context);

/* resolver.c */
void resolver_ask(struct manager *manager, struct message *message);
/* Nothing of MESSAGE is waited for any more: others may be asked for. */
void resolver_done(struct manager *manager, struct message *message);
/* Trigger `directory` was set because it does not answer: resolve is to say when it does. */
void resolver_await(struct manager *manager);
/* It does. */
void resolver_back(struct manager *manager);
void resolver_connected(struct manager *manager);
void resolver_lost(struct manager *manager);
void resolver_flush(void *context);

/* resolver_answer.c: BODY of a RESOLVED. False when it is malformed: what is right in front
 * of that counts. */
MUST_CHECK bool resolver_answered(struct manager *manager, struct str body);

/* stage.c */
void stage_configure_all(struct manager *manager);
struct stage *stage_find(struct manager *manager, struct str name);
enum { STAGE_SERVICES_MAX = 256 };
/* The names of all local services; how many. */
size_t stage_services(struct manager *manager, const char *names[STAGE_SERVICES_MAX]);
/* DESTINATION has become blocked. Of a remote one the jobs that wait are dropped, and their
 * messages sleep. */
void stage_destination_blocked(struct destination *destination, struct trigger *trigger);
/* TRIGGER is no more. */
void stage_unblock(struct manager *manager, const struct trigger *trigger);
/* Starts what may start. */
void stage_dispatch(void *context);
/* A job ended or lost its helper: frees it and gives back what it held. */
void stage_job_ended(struct manager *manager, struct job *job);
/* Drops the jobs that wait (the manager stops). */
void stage_drop_waiting(struct manager *manager);
void stage_free_all(struct manager *manager);

/* stage_job.c */
/* Makes jobs of the message's deliveries that are to be tried now; how many.
 * Where they would only wait, *CROWDED_OUT is set to what for, and none is made. */
size_t stage_add_jobs(struct manager *manager, struct message *message,
		      struct destination **crowded_out);
/* The trigger that keeps the delivery from being tried now, or NULL. */
struct trigger *stage_blocked_by(struct manager *manager, const struct message *message,
				 const struct queue_delivery *delivery);
/* The body of a START. */
void stage_pack_job(const struct job *job, struct buffer *body);

/* helper.c */
void helper_on_connection(void *context, int socket);
void helper_close(struct helper *helper);
/* Tells all to finish what can be done again, and to go on with what cannot. */
void helper_drain_all(struct manager *manager);
struct helper *helper_for_stage(struct stage *stage);
struct helper *helper_resolve(struct manager *manager);

/* outcome.c */
/* False when the job has no such delivery, or it was reported before. */
MUST_CHECK bool outcome_set(struct manager *manager, struct job *job,
			    const struct ipc_job_report *report);
/* What nobody reported on: the helper ended, or finished without a word. */
void outcome_lost(struct manager *manager, struct job *job);
/* Tells the log of a delivery's outcome: once for each attempt, and for what was decided
 * without one. */
void outcome_log(const struct message *message, const struct queue_delivery *delivery);
/* A delivery that waited too long: failed. */
void outcome_expire(const struct message *message, struct queue_delivery *delivery);

/* record.c */
/* Writes what is not on disk yet. */
void record_write(struct manager *manager, struct message *message);
/* Outcomes stand in memory while other jobs of the message run: not for long. */
void record_later(struct manager *manager, struct message *message);
/* There is nothing to be recorded any more. */
void record_cancel(struct manager *manager, struct message *message);
void record_due(void *context);
/* The manager stops: all that was put off. */
void record_all(struct manager *manager);
extern const struct queue_group_handler record_group_handler;

/* trigger.c */
/* What waits because the directory does not answer. */
#define TRIGGER_DIRECTORY "directory"
struct trigger *trigger_find(struct manager *manager, struct str name);
/* NAME is to be waited for: makes trigger/NAME. What waits for a host or a service is tried
 * now and then, one message at a time, less and less often. */
void trigger_set(struct manager *manager, struct str name, struct str reason);
/* Its event happened: removes trigger/NAME, wakes all who wait. */
void trigger_release(struct manager *manager, struct str name);
void trigger_release_this(struct manager *manager, struct trigger *trigger);
struct waiters *trigger_waiters(struct trigger *trigger);
/* Whether MESSAGE is the one that may try although the trigger is set. */
bool trigger_is_probe(const struct trigger *trigger, const struct message *message);
/* Lets MESSAGE, which was among WAITERS, try now if no other one does. */
void trigger_let_try(struct manager *manager, struct message *message,
		     const struct waiters *waiters);
/* One that waited for a trigger that was released, or NULL. */
struct sleeper *trigger_next_released(struct manager *manager);
/* MESSAGE is forgotten, or its attempt is over. */
void trigger_probe_ended(struct manager *manager, struct message *message);
/* Reads the trigger directory, at start and when told that it changed. */
void trigger_scan(struct manager *manager);
void trigger_timer(void *context);
void trigger_free_all(struct manager *manager);

/* removal.c */
void removal_ask(struct manager *manager, struct message *message, enum queue_remove kind);
void removal_flush(void *context);
extern const struct ipc_client_handler removal_queue_handler;

/* notice.c */
/* Whether the delivery's recipient has asked to hear of its success. */
bool notice_is_success_wanted(const struct message *message, const struct queue_delivery *delivery);
/* Whether the delivery is told of in the report at the end: it has failed, or
 * it was successful and nobody else tells. */
bool notice_is_at_end(const struct message *message, const struct queue_delivery *delivery);
bool notice_has_any_at_end(const struct message *message);
/* When the sender is told that the message waits; INT64_MAX: never, or that was done. */
int64_t notice_delay_due_us(const struct manager *manager, const struct message *message);
/* What is in the report at the end, or in the one of a delay; in the envelope's arena. */
struct bounce_outcome *notice_collect_end(const struct message *message, size_t *count_out);
struct bounce_outcome *notice_collect_delay(const struct manager *manager,
					    const struct message *message, size_t *count_out);
/* The delay was reported at NOW_US: it will not be again. */
void notice_delay_reported(const struct manager *manager, struct message *message, int64_t now_us);

/* failure.c */
/* Queues the report on a message whose recipients are all done. */
void failure_bounce(struct manager *manager, struct message *message);
/* Queues the report on its delay, then goes on with it. */
void failure_report_delay(struct manager *manager, struct message *message);
void failure_abandon(struct message *message);

/* scan.c */
/* Looks for what is not known, a little at a time: in todo/ and, unless ONLY_NEW,
 * in info/. */
void scan_begin(struct manager *manager, bool only_new);
void scan_timer(void *context);
void scan_open_trigger(struct manager *manager);
/* The message, if it sleeps; one that is not known is looked for on the disk. NULL:
 * there is none. */
struct sleeper *scan_find(struct manager *manager, uint64_t number);
/* Whether a message at S5 that is due then can be left to the scans. */
bool scan_will_find(const struct manager *manager, int64_t due_us);
void scan_end(struct manager *manager);

/* operator.c */
void operator_on_notice(void *context, unsigned events);
/* Carries out the order on a message whose deliveries are in memory. */
void operator_carry_out(struct message *message);
/* Those who wait for the end of the message's hold, itself alone; NULL: not held. */
struct waiters *operator_hold_of(struct manager *manager, struct mail_id message);
void operator_end_hold(struct manager *manager, struct mail_id message);

/* manager.c */
void manager_check_stopped(struct manager *manager);

#endif
