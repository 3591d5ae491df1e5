// SPDX-License-Identifier: ISC
/*
 * queue/control/control.h - the control file's text.
 *
 * One record a line, "name: value", only ever appended to; in format 2 with checksums
 * (queue/control/checksum.h). The envelope comes first and ends with "end:". A last line without a
 * newline counts as not written, and so does an envelope without its end line. Before more is
 * appended to such a line it is ended with QUEUE_CONTROL_CANCEL, whose control character keeps it
 * from being a record. Unknown record names are skipped. Control characters cannot occur in a
 * value: they are refused when written and when read.
 *
 *   stagepost 2
 *   id: 457-63f1a2b3c4d5e
 *   stage: arrive
 *   born: 2026-11-20T08:33:11.482913Z
 *   from: <lisa@example.com> ret=hdrs envid=QQ314159
 *   received: smtp 192.0.2.7:53112 name=mail.example.com helo=mail.example.com
 *   handed: a1/457-63f1a2b3c4d5e.3
 *   origin: a0/8121-63f1a2b3c4d5e
 *   via: 2
 *   size: 18233
 *   to: 1 <scuba@mail.example.net> notify=failure orcpt=rfc822;scuba@mail.example.net
 *   to: 2 <sales@mail.example.net>
 *   end:
 *   sum: 2a5b90c1 d2762109
 *   map: 1 local mailbox <scuba@mail.example.net> #31170f19
 *   map: 2 remote 3 <ann@example.org> #3c499c7f
 *   map: 2 none 4 <gone@mail.example.net> #81710c25
 *   map: 2 local lmtp server=10.0.0.7:24 5 <tom@mail.example.net> #73a3c1bc
 *   mapped: directory=42 count=4 #49111f4e
 *   fail: 4 2026-11-20T08:33:11Z 5.1.1 no such address #7d728130
 *   done: 1 2026-11-20T08:33:11Z 2.0.0 stored #43103023
 *   wait: 3 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z trigger=host.x.test 4.4.1 no #20ea3069
 *   synced: 467 #aab5e4e7
 *   synced: 489 #f216c94a
 *   delayed: 3 2026-11-20T12:33:12Z #d61f303a
 *   requeue: 3 #d350f785
 *   quiet: 5 #19fcd2d3
 *   relayed: 6 #31eefaf7
 *   done: 5 2026-11-20T13:10:12Z 2.0.0 mx.example.org said: 250 ok #e0ee526f
 *   said: 1 trigger=host.mx.example.org 4.4.1 mx.example.org: connection refused #40b1ac91
 *   wait: 6 2026-11-20T13:10:12Z until=2026-11-20T14:02:40Z tried=9 said=1 #0cbfe71a
 *   wait: 7 2026-11-20T13:10:12Z until=2026-11-20T14:01:07Z tried=9 said=1 #86837b1f
 *
 * "from: <SENDER>" may have the words ret, envid, binarymime, smtputf8, requiretls, priority=NUMBER
 * (-9 to 9, not 0), release=TIME (in whole seconds): before then no delivery is attempted, and
 * by=TIME;WORDS (mail/deadline.h): by then it is to be delivered.
 *
 * "handed: NODE/PACKAGE": another node handed this package over (mail/package.h); with it come
 * "origin: NODE/ID", where the message was queued first, and "via: NUMBER", the hops between nodes
 * since. A message that was queued here has none of the three.
 *
 * "map: RECIPIENT PLACE [NUMBER] <ADDRESS>": a delivery; without NUMBER, its number is that of the
 * recipient. PLACE is "local SERVICE", "local SERVICE server=HOST:PORT" where the directory named a
 * server, "remote", or "none" for a delivery that was decided without an attempt. The last done,
 * wait or fail record of a delivery is its state. A block of map records is valid once it is
 * followed by a mapped record with the right count; a later block is ignored. The status "-" means
 * no status. "delayed": the delay was reported to the sender. "quiet": its success is reported by
 * another system, not from here. "relayed": that it was sent on is reported. "requeue": the
 * recipient of an undecided delivery must be mapped again; the new map is written with the whole
 * file. If that delivery waits with a status of class 5, a postmaster has no mailbox there: the
 * recipient is mapped as this node's postmaster.
 *
 * "said: NUMBER [trigger=NAME] STATUS TEXT": the status and text that several outcomes share,
 * written once. An outcome that ends with "said=NUMBER" refers to the last such record before it;
 * if that record cannot be read, the outcome counts as not written. The numbers ascend in the file
 * and are never reused, so that a hole in the file cannot give an outcome another one's text.
 * "tried=N": this is the Nth wait record, however many come before it; tried=0: it was not tried,
 * and has no status.
 *
 * Size limits. A control file is rewritten with only the current state when it has become twice as
 * long as that state needs (queue_control_outgrown()). The longest such text is 175 MiB: an
 * envelope of QUEUE_ENVELOPE_MAX (16 MiB); 100,000 deliveries (MAPPING_DELIVERIES_MAX) whose map
 * records have 543 bytes (service 32, server 136, address 320, checksum 10), wait records 793
 * (trigger 200, status 11, text 479), delayed records 51 and requeue records 30; 100,000 refused
 * recipients with 90 bytes each besides their addresses, which are those of the envelope. One
 * attempt of all deliveries appends at most their wait records, 76 MiB. So no control file that we
 * write grows beyond QUEUE_CONTROL_MAX.
 *
 * A power failure may leave holes in what was being appended: after "end:", a record that cannot be
 * read counts as not written. In format 2 one that was durable is damage: its delivery is in the
 * state before it, or is mapped again (mend.c), and whoever reads the file says so.
 *
 * "synced: BYTES": so many bytes after the sum record were durable when this was written. What is
 * appended and then synced begins with such a record (its own sync has not been yet, and records
 * that may be lost may stand before it: so BYTES may be less than its place). What gets its name
 * only when it is durable ends with one: a file that is written whole, and the records with which a
 * message goes to S5. At S4 that proves nothing (queue_control_parse_queued()). The map of a
 * message at S5 was durable, too. A file without any synced record is an earlier writer's, who
 * synced each append but for said and wait records: there what stands before a later record of
 * another kind counts as durable, and the first append that is to be synced rewrites the file.
 */
#ifndef QUEUE_CONTROL_CONTROL_H
#define QUEUE_CONTROL_CONTROL_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/envelope.h"
#include "mail/verdict.h"

enum {
	QUEUE_CONTROL_MAX = 256 << 20, /* bytes of a control file that we read; see above */
	QUEUE_CONTROL_KEPT = 1 << 20,  /* bytes below which a control file is not rewritten */
	QUEUE_SERVICE_MAX = 32,        /* bytes of a service name */
	QUEUE_SYNCED_MAX =
		sizeof "synced: 268435456 #00000000\n" - 1, /* bytes of a synced record */
};

/* The end of a line that was cut: CAN, and a newline. With the newline alone "said: 28 4.2.0 try"
 * or "done: 4 TIME said=2" would be a record, of a number or for a text that nobody has written. */
#define QUEUE_CONTROL_CANCEL "\030\n"

enum queue_route { QUEUE_ROUTE_LOCAL, QUEUE_ROUTE_REMOTE, QUEUE_ROUTE_NONE };

enum queue_outcome { QUEUE_PENDING, QUEUE_DONE, QUEUE_WAIT, QUEUE_FAIL };

struct queue_delivery {
	uint32_t number;    /* unique in the message */
	uint32_t recipient; /* of the envelope */
	enum queue_route route;
	struct str service; /* QUEUE_ROUTE_LOCAL */
	struct str server;  /* QUEUE_ROUTE_LOCAL: named by the directory (mail/server.h) */
	struct str address;
	enum queue_outcome outcome;
	uint32_t attempts;  /* wait records, including those from before a rewrite */
	int64_t changed_us; /* time of the last record; 0: none */
	int64_t until_us;   /* QUEUE_WAIT: try again then */
	struct str trigger; /* QUEUE_WAIT: or when this one is released; may be empty */
	struct str status;  /* from the last record; may be empty */
	struct str text;
	bool is_quiet;      /* QUEUE_DONE: its success is not reported from here */
	bool is_announced;  /* QUEUE_DONE: that it was sent on is reported (RFC 2852) */
	bool is_requeued;   /* undecided: its recipient must be mapped again */
	int64_t delayed_us; /* when its delay was reported; 0: never */
};

/* A part of a message's files. */
enum queue_part {
	QUEUE_PART_DATA,
	QUEUE_PART_ENVELOPE,
	QUEUE_PART_RECORD,  /* of the control file */
	QUEUE_PART_TRAILER, /* the last line, which says where the envelope begins */
	QUEUE_PART_ID,      /* it is another message's, or that of another place */
};

/* A part that a disk has changed. */
struct queue_difference {
	enum queue_part part;
	unsigned line; /* of the control file's text; RECORD, and ENVELOPE if it has no checksum; 0:
			* not one line */
	uint64_t at;   /* the byte of the file where the part begins */
	uint64_t length;
	bool has_expected; /* false: its checksum cannot be read */
	bool has_found;    /* false: not all of it is there */
	uint32_t expected;
	uint32_t found;
};

enum { QUEUE_DIFFERENCES_MAX = 100 }; /* records of a file that are kept */

struct queue_control {
	struct mail_envelope *envelope; /* owned; its arena owns all of this */
	struct queue_delivery *deliveries;
	size_t delivery_count;
	bool is_mapped; /* the file has a complete block of map records */
	bool is_mended; /* or some that cannot be read: mend.c has put others in their place */
	uint64_t directory_version;
	unsigned format;   /* 2, or 1 of an earlier version */
	struct str head;   /* the envelope's text, up to "end:"; in format 2 with its sum record */
	bool has_checksum; /* false in format 1, and before the message is written */
	uint32_t data_checksum;
	unsigned damaged; /* records after the envelope that a disk has changed: their deliveries
			   * are in the state before them */
	struct queue_difference *differences; /* the first of these, in the arena */
	size_t difference_count;
	uint32_t said;      /* the highest number of a said record; 0: no such record */
	bool has_mark;      /* a synced record; false: an earlier writer's, or of format 1 */
	uint64_t synced;    /* bytes after the head that were durable; updated likewise */
	uint64_t size;      /* of its file, at least; updated by queue_update_account() */
	uint64_t needed;    /* size of its file if rewritten, as last computed */
	bool must_be_whole; /* it has lines that cannot be read; its map has changed; or rewriting
			     * it failed: only a rewrite makes its name durable */
};

/* Letters, digits, '-' and '_' (not first '-' or '_'): 1 to QUEUE_SERVICE_MAX bytes. */
bool queue_service_is_valid(struct str name);

/* Appends the envelope, "stagepost 1" to "end:". -EINVAL when a value has a control character,
 * an address is not acceptable, there is no recipient or the recipients' numbers do not ascend;
 * then OUT is unchanged. */
MUST_CHECK int queue_control_write_envelope(struct buffer *out,
					    const struct mail_envelope *envelope);
/* Whether queue_control_write_map() accepts it. */
bool queue_delivery_is_writable(const struct queue_delivery *delivery);
/* Appends map records and the mapped record. */
MUST_CHECK int queue_control_write_map(struct buffer *out, const struct queue_delivery *deliveries,
				       size_t count, uint64_t directory_version);
/* Appends the done, wait or fail record that is the delivery's state, after the
 * quiet or relayed record of one that is done so; nothing for QUEUE_PENDING. */
MUST_CHECK int queue_control_write_outcome(struct buffer *out,
					   const struct queue_delivery *delivery);

/* The same for COUNT deliveries of CONTROL, by their indexes (NULL: the first COUNT). Text that
 * several share is written once; this advances control->said, even if the output is discarded.
 * ARE_FIRST: they stand in a file without earlier outcomes, and say how often each was tried. */
MUST_CHECK int queue_control_write_outcomes(struct buffer *out, struct queue_control *control,
					    const uint32_t *indexes, size_t count, bool are_first);

/* Appends what another node is told of CONTROL's deliveries besides the map, so that it goes on
 * where this one was: attempts of those that wait, and which delays were reported. Each
 * delivery is undecided. The same about control->said. */
MUST_CHECK int queue_control_write_tried(struct buffer *out, struct queue_control *control);

/* Appends the delayed record of a delivery whose delayed_us is set. */
MUST_CHECK int queue_control_write_delayed(struct buffer *out,
					   const struct queue_delivery *delivery);

/* Appends a synced record with its checksum: DURABLE bytes after the head are durable, or will be
 * before the file has its name. */
void queue_control_write_synced(struct buffer *out, uint64_t durable, int64_t born_us);
/* Gives the records after the HEAD bytes at the beginning of TEXT, a file that gets its name only
 * when all of it is durable, their checksums, and ends it with a synced record. */
void queue_control_end_whole(struct buffer *text, size_t head, int64_t born_us);

/* Appends the requeue record of a delivery. */
MUST_CHECK int queue_control_write_requeued(struct buffer *out,
					    const struct queue_delivery *delivery);

/* Whether the control file of a mapped message at S5, which would grow by MORE bytes, must be
 * rewritten: because it would be longer than QUEUE_CONTROL_KEPT and twice what it needs (so that
 * all rewriting together costs at most twice what is appended); or longer than
 * QUEUE_CONTROL_MAX; or because rewriting it failed before. If so, the whole text is appended to
 * WHOLE: the envelope, the map and the current state of each delivery, also of those whose last
 * outcome was not recorded before. */
MUST_CHECK bool queue_control_outgrown(struct queue_control *control, size_t more,
				       struct buffer *whole);

/* Reads a control file's TEXT. 0 and *CONTROL_OUT (freed by the caller); -ENODATA when the
 * envelope is not complete (a torn write or an empty file); -EBADMSG when it is malformed:
 * *LINE_OUT (may be NULL) is the line; -EPROTO when its format is not 1. */
MUST_CHECK int queue_control_parse(struct str text, struct queue_control **control_out,
				   unsigned *line_out);
/* The same for a message at S4: of the records with which it is to go to S5 nothing was durable for
 * certain, so only its envelope, and the map of a package, can be damaged. */
MUST_CHECK int queue_control_parse_queued(struct str text, struct queue_control **control_out,
					  unsigned *line_out);
void queue_control_free(struct queue_control *control);

/* The bytes of the envelope at the beginning of TEXT, up to "end:" and its newline; 0: it has no
 * end.
 */
size_t queue_control_envelope_length(struct str text);
/* Takes from TEXT, HEAD bytes of envelope and sum record and the records of a message that was born
 * at BORN_US, the lines that cannot be read. */
void queue_control_keep_readable(struct buffer *text, size_t head, int64_t born_us);

/* The id that TEXT says, the beginning of a control file of any format, whole or not. */
bool queue_control_read_id(struct str text, struct mail_id *id_out);

/* Whether data with the checksum CHECKSUM (base/checksum.h) are those that were queued. In format 1
 * nothing is known: true. */
bool queue_control_has_data(const struct queue_control *control, uint32_t checksum);
/* From now on data with CHECKSUM are the message's, although a disk has changed them. The file must
 * be written anew. */
void queue_control_take_data(struct queue_control *control, uint32_t checksum);

/* The control file of a message at S5 is damaged, and no map is in it: every recipient is to be
 * mapped again. */
void queue_control_map_again(struct queue_control *control);

/* Whether no delivery is QUEUE_PENDING or QUEUE_WAIT. False while not mapped. */
bool queue_control_is_finished(const struct queue_control *control);
/* Whether the sender knows that the message's deadline has passed. */
bool queue_control_is_deadline_told(const struct queue_control *control);

#endif
