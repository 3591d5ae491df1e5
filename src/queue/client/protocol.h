// SPDX-License-Identifier: ISC
/*
 * queue/client/protocol.h - the messages between "queue" and its clients over its SOCK_SEQPACKET
 * socket (ipc/channel.h). Bodies are written with ipc/pack.h.
 *
 * A server (smtpd, qmtpd), "list", or "send" with a bounce:
 *   OPEN      u32 count                        requests numbers for that many messages
 *   OPEN_RESERVE  u32 count                    the same, for messages that end others ("send",
 *                                              "list"): they may have the last of the space
 *   OPENED    u64 number...                    at least one; answer to OPEN
 *   REFUSED   u32 errno                        answer to OPEN
 *   SHARE     u64 number                       the message is too large to go by value:
 *                                              requests its file
 *   SHARED    u64 number, u32 errno            answer to SHARE; 0: with a descriptor of the file,
 *                                              which is empty
 *   DATA      u64 number, str data             part of the message; more follows
 *   ENVELOPE  u64 number, str text             part of the control file; more follows
 *   COMMIT    (u64 number, str text, str data)...
 *                                              the last part of both, or all of both, of each of
 *                                              the messages that are ready. If the file is shared,
 *                                              the data are in it by now, DATA is empty,
 *                                              and nobody has it open for writing any more
 *   COMMITTED (u64 number, u32 errno)...       0: durable at S4
 *   ABANDON   u64 number                       gives it up; the file is closed
 *   RELEASE   str domain                       a client asks for the mail of a domain (ETRN):
 *                                              passed on to the manager, as it is
 *
 * A client that disconnects abandons all it has open. Before
 * COMMIT a client may send at most QUEUE_BY_VALUE_MAX bytes of DATA, and of ENVELOPE what one
 * message may have: the parts of one message are sent without others between. The other limits are
 * in queue/server/server.h. A client that does not read its answers is not read from.
 *
 * The manager ("send", one connection):
 *   MANAGE    str token                        this connection is the manager's; the token is that
 *                                              of "send" (ipc/token.h)
 *   MANAGED                                    answer to MANAGE: no removal requested by an
 *                                              earlier manager is in progress, and those from
 *                                              todo/ are durable; scan todo/. Nothing else is
 *                                              sent or answered before
 *   CLEANED                                    info/, mess/ and bounce/ have no names of messages
 *                                              that are gone; some time after MANAGED
 *   FOUND     (u32 stage, u64 number)...       a scan found these names in todo/
 *   STANDS    (u32 stage, u64 number)...       answer to FOUND: those that are messages. A message
 *                                              that is being committed is not among them: QUEUED
 *                                              follows when its commit succeeds, nothing if it
 *                                              fails, and it must not be begun before
 *   UNKNOWN                                    answer to FOUND: some of the names could not be
 *                                              looked at because of an error, which "queue" has
 *                                              logged. The manager's scans find them again: it
 *                                              repeats them soon (manager/wait/scan/scan.h)
 *   QUEUED    (u32 stage, u64 number, str text, str content)...
 *                                              text: the control file; empty if it is too
 *                                              long. content: the data, if they are short
 *                                              and came by value; else empty. What is empty
 *                                              must be read from the file
 *   LOAD      u64 us                           total time that groups have spent on disk I/O;
 *                                              sent now and then while messages come
 *   MISSED                                     some messages were not reported: scan todo/
 *   REMOVE    (u32 kind, u32 stage, u64 number)...   see enum queue_remove; with
 *                                              QUEUE_REMOVE_DURABLY in KIND: REMOVED waits for the
 *                                              disk
 *   REMOVED   u64 number...                    answer to REMOVE: the name is gone; the
 *                                              number may be used again. That from todo/ at S5
 *                                              is durable: the one in info/ may go; so is a
 *                                              removal with QUEUE_REMOVE_DURABLY
 *
 * "noded" adds packages that other nodes hand over (mail/package.h), and only its user may send
 * these. SERIAL is u64 epoch, u64 run, u64 connection (client/handed.h), NODE the sender's name:
 *   GREET     str node, SERIAL, str token      a connection of NODE begins; the token is that
 *                                              of "noded" (ipc/token.h). From now on only its
 *                                              packages are committed
 *   KEPT      str node, SERIAL, (str name, str numbers)...
 *                                              before GREETED, perhaps in several: all packages of
 *                                              NODE that are not settled. NUMBERS: of their
 *                                              deliveries, "3-5,9"; empty: a whole message
 *   GREETED   str node, SERIAL, u32 errno, SERIAL
 *                                              answer to GREET. 0: what was not in KEPT is not
 *                                              here, and what this says is durable; the second
 *                                              SERIAL is the same. ESTALE: it is not above the
 *                                              highest, which the second one is. Other errors:
 *                                              nothing is known, to be tried again later
 *   COMMIT_HANDED  (u64 number, str node, SERIAL, str text, str data)...
 *                                              as COMMIT. TEXT: the envelope with its handed record
 *                                              up to "end:", then map and mapped records or none,
 *                                              all without checksums. COMMITTED is 0; EEXIST: the
 *                                              package is here already; ENOSPC, EDQUOT, E2BIG,
 *                                              EBADMSG or EMFILE: it is not here, and no trace of
 *                                              it. ESTALE: SERIAL is not that of the last GREETED.
 *                                              Other errors: it may be here; nothing may be said of
 *                                              it before the next GREET
 *   SETTLE    str node, SERIAL, str name...    NODE does not have these packages any more, and that
 *                                              is durable: their names go. No answer; ignored when
 *                                              SERIAL is not that of the last GREETED
 *   DROP      str node, SERIAL, str name...    the same, and another node has them, too: a message
 *                                              that was not reported to a manager goes with its
 *                                              name
 */
#ifndef QUEUE_CLIENT_PROTOCOL_H
#define QUEUE_CLIENT_PROTOCOL_H

/* A manager started before an upgrade of the daemon still hands out descriptors of files that
 * are now reused. It must not be understood, so the codes 1 to 32 stay unused. */
enum queue_protocol {
	QUEUE_PROTOCOL_OPEN = 33,
	QUEUE_PROTOCOL_OPENED,
	QUEUE_PROTOCOL_REFUSED,
	QUEUE_PROTOCOL_SHARE,
	QUEUE_PROTOCOL_SHARED,
	QUEUE_PROTOCOL_DATA,
	QUEUE_PROTOCOL_ENVELOPE,
	QUEUE_PROTOCOL_COMMIT,
	QUEUE_PROTOCOL_COMMITTED,
	QUEUE_PROTOCOL_ABANDON,
	QUEUE_PROTOCOL_MANAGE,
	QUEUE_PROTOCOL_QUEUED,
	QUEUE_PROTOCOL_MISSED,
	QUEUE_PROTOCOL_REMOVE,
	QUEUE_PROTOCOL_MANAGED,
	QUEUE_PROTOCOL_REMOVED,
	QUEUE_PROTOCOL_CLEANED,
	QUEUE_PROTOCOL_LOAD,
	QUEUE_PROTOCOL_FOUND,
	QUEUE_PROTOCOL_STANDS,
	QUEUE_PROTOCOL_RELEASE,
	QUEUE_PROTOCOL_UNKNOWN,
	QUEUE_PROTOCOL_OPEN_RESERVE,
	QUEUE_PROTOCOL_GREET,
	QUEUE_PROTOCOL_KEPT,
	QUEUE_PROTOCOL_GREETED,
	QUEUE_PROTOCOL_COMMIT_HANDED,
	QUEUE_PROTOCOL_SETTLE,
	QUEUE_PROTOCOL_DROP,
};

enum queue_remove {
	QUEUE_REMOVE_QUEUED,          /* S4, all delivered: everything goes */
	QUEUE_REMOVE_TODO,            /* info/ is durable: todo goes */
	QUEUE_REMOVE_DATA,            /* S2 at the end: mess goes */
	QUEUE_REMOVE_DURABLY = 0x100, /* with one of these */
};

enum {
	QUEUE_OPEN_MAX = 16,             /* numbers in one OPENED */
	QUEUE_ENVELOPE_PART = 32 * 1024, /* bytes of text in one ENVELOPE or COMMIT */
	QUEUE_ENVELOPE_MAX = 16 << 20,   /* bytes of an envelope in all */
	QUEUE_DOMAIN_MAX = 255,          /* bytes of a domain to RELEASE */
};

#endif
