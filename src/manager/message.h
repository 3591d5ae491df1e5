// SPDX-License-Identifier: ISC
/*
 * manager/message.h - a message that is awake: its control file is in memory.
 *
 * Its life is the following table. Asleep it is only a number and a time (wait/sleeper.h). The code
 * is the table `life` in life.c; anything not in it is a bug and ends the process.
 *
 *   state       event           action                      new state
 *   READING     NOT_MAPPED      ask resolve                 MAPPING ASLEEP
 *               MAPPED          - (also if it is given up)  DECIDING
 *               HALF_MAPPED     write S5 again              RECORDING OWING ASLEEP
 *               UNREADABLE      try again much later        ASLEEP
 *               DAMAGED         at S4: move to damaged/     REMOVING ASLEEP
 *               VANISHED        -                           GONE
 *   MAPPING     MAPPED          take over the deliveries    DECIDING
 *               NOT_MAPPED      wait for the directory      ASLEEP
 *                               or report that it waits     DECIDING
 *   DECIDING    (at once)       give up, map anew, deliver, MAPPING DELIVERING OWING RECORDING
 *                               record, report, end or wait REPORTING ENDING REMOVING ASLEEP
 *   DELIVERING  JOB_ENDED       -                           DELIVERING DECIDING
 *               RECORD_DUE      write its news              RECORDING DELIVERING
 *   OWING       RECORD_DUE      write its news              RECORDING OWING ASLEEP
 *   RECORDING   JOB_ENDED       -                           RECORDING
 *               RECORDED        it is at S5                 DELIVERING DECIDING
 *               RECORD_FAILED   try again later             DELIVERING OWING ASLEEP
 *   REPORTING   END_REPORTED    end it                      ENDING REMOVING OWING ASLEEP
 *               DELAY_REPORTED  note that                   DECIDING
 *               REPORT_FAILED   try again later             OWING ASLEEP
 *   ENDING      TODO_REMOVED    end it                      REMOVING OWING ASLEEP
 *   REMOVING    REMOVED         -                           GONE
 *
 * TODO_REMOVED in any other state only changes the message's place. "News" is outcomes of
 * deliveries that are not on the disk yet. Jobs wait or are in flight only in DELIVERING and
 * RECORDING.
 */
#ifndef MANAGER_MESSAGE_H
#define MANAGER_MESSAGE_H

#include "base/table.h"
#include "manager/link/recorder.h"
#include "manager/link/reporter.h"
#include "manager/wait/sleeper.h"

struct manager;

enum message_state {
	MESSAGE_READING,    /* its control file has just been read */
	MESSAGE_MAPPING,    /* resolve has been asked, or will be */
	MESSAGE_DECIDING,   /* only while an event is handled */
	MESSAGE_DELIVERING, /* jobs wait or are in flight */
	MESSAGE_OWING,      /* no job; its news must be written before anything else */
	MESSAGE_RECORDING,  /* its news is being written; jobs may be in flight */
	MESSAGE_REPORTING,  /* a report to its sender is being queued */
	MESSAGE_ENDING,     /* it is done, but "queue" has yet to remove it from todo/ */
	MESSAGE_REMOVING,   /* "queue" has been asked to remove it */
	MESSAGE_ASLEEP,     /* a sleeper: this struct is freed */
	MESSAGE_GONE,       /* freed and forgotten */
	MESSAGE_STATES,
};

enum message_event {
	MESSAGE_NOT_MAPPED,
	MESSAGE_MAPPED,
	MESSAGE_HALF_MAPPED,
	MESSAGE_UNREADABLE,
	MESSAGE_DAMAGED,
	MESSAGE_VANISHED,
	MESSAGE_JOB_ENDED,
	MESSAGE_RECORD_DUE,
	MESSAGE_RECORDED,
	MESSAGE_RECORD_FAILED,
	MESSAGE_END_REPORTED,
	MESSAGE_DELAY_REPORTED,
	MESSAGE_REPORT_FAILED,
	MESSAGE_TODO_REMOVED,
	MESSAGE_REMOVED,
	MESSAGE_EVENTS,
};

struct message {
	struct mail_id id;        /* its birth is 0 while READING */
	enum message_state state; /* of life.c */
	struct message_facts facts;
	struct queue_control *control; /* owned; NULL while READING */
	unsigned char *news;           /* enum recorder_news, for each delivery; owned */
	uint32_t jobs;                 /* that wait or are in flight */
	struct job *job_list;          /* these */
	bool is_retry;                 /* counted as a retry by wake.h */
	bool is_delay_due;             /* has waited in a job until its delay is to be reported */
	bool is_crowded_out;           /* sleeps because its destination has too many waiting */
	bool was_released;             /* an event has made some due, which is not recorded */
	bool lost_turn;   /* its last job had one (wait/trigger/gate.h), and others were faster */
	bool is_sound;    /* its data have been compared with their checksum */
	bool is_new;      /* "queue" has reported it: no earlier process has begun it */
	bool is_handed;   /* a node has some of it, or may have: told when that is done */
	bool is_doubtful; /* REMOVING, but whether it was removed is not known yet */
	unsigned record_failures; /* in a row */
	struct buffer content;    /* its data; empty: on the disk */
	size_t units;             /* of memory (wait/share.h), without CONTENT */
	bool is_mapping;          /* these units count as mapping */
	struct recording recording;
	bool is_requeued; /* mapped by an operator's order: it probes even blocked hosts */
	/* the deliveries that a new map replaces, in the arena of control */
	const struct queue_delivery *former;
	size_t former_count;
	struct report *report; /* while REPORTING */
	int64_t reported_us;   /* when it was begun */
	UT_hash_handle hh;     /* by number */
};

/* The message; NULL if it sleeps or is unknown. */
struct message *message_find(const struct manager *manager, uint64_t number);
/* A message that was unknown, READING. */
struct message *message_new(struct manager *manager, uint64_t number, struct message_facts facts);
/* Only by life.c. */
void message_free(struct manager *manager, struct message *message);
/* An operator wants the data delivered as the disk has made them: takes their checksum for the
 * right one, and makes open deliveries due. Changes nothing if it is right already. -errno: they
 * cannot be read. */
MUST_CHECK int message_accept_data(struct manager *manager, struct message *message);
/* Sets its units of memory; IS_MAPPING: its recipients are not resolved yet. */
void message_weigh(struct manager *manager, struct message *message, size_t units, bool is_mapping);
/* Reads its control file: 0 or -errno, which is logged unless it is -ENOENT. TEXT: its content
 * if known; empty: it is read from the disk. */
MUST_CHECK int message_read(struct manager *manager, struct message *message, struct str text);
/* Whether ERROR means that the message's text is damaged, rather than a failure of the disk or
 * of this process. */
bool message_is_damage(int error);
/* Maps each recipient to "none": the message is given up, so its destinations do not matter. So
 * an order is carried out at once, whether or not the directory answers. */
void message_map_nowhere(struct manager *manager, struct message *message);
/* The directory cannot tell where the recipients go, because of TEXT: defers each of them with the
 * route "none", and marks it to be mapped again. Then a control file can record that the delay was
 * reported. */
void message_map_later(struct manager *manager, struct message *message, struct str text);
/* Takes over DELIVERIES, the answer of resolve, which are in its envelope's arena: if the
 * message was mapped before, those for remap_envelope(). Deliveries that are already decided are
 * news. */
void message_take_mapping(struct manager *manager, struct message *message,
			  struct queue_delivery *deliveries, size_t count);
/* How long it may wait at most: for its lifetime, or until its sender wants it back. */
int64_t message_latest_us(const struct manager *manager, const struct message *message);
/* When one that waits for its turn in a job, from NOW_US, is to be looked at: its sender wants it
 * back, or is to be told that it waits. 0: never. */
int64_t message_look_us(const struct manager *manager, const struct message *message,
			int64_t now_us);
bool message_has_news(const struct message *message);
/* Whether its map is new and will replace the one on the disk. */
bool message_has_new_map(const struct message *message);
/* Keeps CONTENT, the complete data, if there is room for it. */
void message_keep_content(struct manager *manager, struct message *message, struct str content);

/* Makes a sleeper of it, due at DUE_US. WAITERS (may be NULL): it sleeps with them, or until
 * then. Returns MESSAGE_ASLEEP. */
enum message_state message_sleep(struct manager *manager, struct message *message,
				 struct waiters *waiters, int64_t due_us);

/* What must be written to the disk, and reported. */
struct recorder_work message_work(const struct message *message);
struct report_subject message_subject(const struct message *message);

#endif
