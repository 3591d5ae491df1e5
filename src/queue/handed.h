// SPDX-License-Identifier: ISC
/*
 * queue/handed.h - packages that other nodes handed over (mail/package.h).
 *
 *   handed/NODE/NAME           a hard link to the data file of the message that NODE's package
 *                              NAME has become
 *   handed/NODE/NAME.done      the same when the message has ended
 *   handed/NODE/run.EPOCH.RUN  the highest run of NODE's process that has connected
 *
 * The name is the memory that prevents a second copy: while NODE may still have the package, and so
 * may hand it over again, it is here. When NODE has removed it durably it says so, the package is
 * settled, and the name goes. NODE's answers to what is here (queue/client/protocol.h) hang on
 * these states:
 *
 *   at NODE   here                           meaning
 *   todo/     -                              NODE has it
 *   todo/     todo/ or info/, NAME           taken
 *   todo/     NAME alone                     litter: its commit did not succeed
 *   todo/     todo/ or mess/, NAME.done      ended; the other name goes next. Where the filesystem
 *                                            keeps no order, NAME is there beside NAME.done until
 *                                            that is durable
 *   todo/     NAME.done                      ended, not settled: the file stays, and its number
 *   gone      any of these                   NODE says that it is settled: the name goes
 *
 * Names are durable in the order in which the table needs them. NAME is durable before the name in
 * todo/ is made: alone it is litter, and litter is removed at the start. NAME.done is durable
 * before the last other name of an ended message goes: otherwise a power failure would make an
 * ended message litter, and NODE would hand it over again. And the removal of NAME is durable
 * before the number of its file is another message's.
 *
 * All functions are called in the loop's thread, for the intake of the daemon.
 */
#ifndef QUEUE_HANDED_H
#define QUEUE_HANDED_H

#include "mail/package.h"
#include "queue/message.h"

enum { QUEUE_HANDED_NODES_MAX = 4096 }; /* that have ever handed over, and were not forgotten */

#define QUEUE_HANDED_FOLDER "handed"
#define QUEUE_PEERS_FOLDER  "peers"

/* What a node has handed over, and where the message is queued. */
struct queue_package {
	struct str node;
	struct str name;
	enum mail_stage stage;
	struct str numbers; /* of its deliveries (queue_handed_numbers()); empty: a whole message */
	struct str records; /* of its map, with checksums: they follow the envelope; may be empty */
};

/* S2, before anything is written: MESSAGE becomes PACKAGE, of a node that has greeted
 * (queue_handed_greet()). Its commit makes both names. -EEXIST: it is here already; -EBUSY: its
 * commit is in progress, or the outcome is unknown until the next greeting. */
MUST_CHECK int queue_handed_begin(struct queue_message *message,
				  const struct queue_package *package);
/* The end of that: RESULT of writing and committing the message NUMBER. */
void queue_handed_end(struct queue_intake *intake, uint64_t number, int result);
/* The message is reported to a manager, if it is a package. */
void queue_handed_report(struct queue_intake *intake, uint64_t number);

/* The highest run of NODE that has connected; 0 and 0: none has. */
void queue_handed_run(const struct queue_intake *intake, struct str node, uint64_t *epoch_out,
		      uint64_t *run_out);

/*
 * A connection of NODE begins. First everything that the connections before it have begun must be
 * durable, or gone durably, and so must the run. *DURABLE_OUT is what queue_intake_durable() must
 * reach, by queue_message_commit_group(), before the call is repeated: 1. 0: that is so.
 *
 * -EMFILE: there are too many nodes; -ENOSPC, -EIO...: nothing is known.
 */
MUST_CHECK int queue_handed_greet(struct queue_intake *intake, struct str node, uint64_t epoch,
				  uint64_t run, uint64_t *durable_out);
/* Calls EACH with each package of NODE that is here, until it returns something else than 0, and
 * returns that; -errno when the numbers of deliveries cannot be read. */
MUST_CHECK int queue_handed_each(struct queue_intake *intake, struct str node,
				 int (*each)(void *context, struct str name, struct str numbers),
				 void *context);

/* NODE does not have NAME any more: its name goes. No error when there is none; after an error it
 * stays. */
MUST_CHECK int queue_handed_settle(struct queue_intake *intake, struct str node, struct str name);
/* The same, and another node has it, too: a message that was not reported to a manager goes with
 * its name. */
MUST_CHECK int queue_handed_drop(struct queue_intake *intake, struct str node, struct str name);

/* Appends the numbers of the deliveries in CONTROL, or of its recipients while it is not mapped:
 * "3-5,9". */
void queue_handed_numbers(const struct queue_control *control, struct buffer *out);

#endif
