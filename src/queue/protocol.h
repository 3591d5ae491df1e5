// SPDX-License-Identifier: ISC
/*
 * queue/protocol.h - what "queue" says to the others, and they to it, over its
 * SOCK_SEQPACKET socket (ipc/channel.h). Bodies are written with ipc/pack.h.
 *
 * A server (smtpd) or "send" with a bounce:
 *   OPEN      u32 count                        give me that many data files
 *   OPENED    u64 number... and a descriptor   at least one; answer to OPEN
 *             for each
 *   REFUSED   u32 errno                        answer to OPEN
 *   ENVELOPE  u64 number, str text             a part of the control file, more follows
 *   COMMIT    u64 number, str text             the last part: the data is written
 *   COMMITTED (u64 number, u32 errno)...       0: durable at S4
 *   ABANDON   u64 number                       no more interest; the file is closed
 * A client that goes away abandons all it has open.
 *
 * The manager ("send", one connection):
 *   MANAGE                                     I am the manager from now on
 *   MANAGED                                    answer to MANAGE: nothing that an earlier manager
 *                                              wanted removed is under way; scan todo/
 *   CLEANED                                    info/, mess/ and bounce/ have no name left whose
 *                                              message is gone; some time after MANAGED
 *   QUEUED    (u32 stage, u64 number, str text)...   text: the control file; empty
 *                                              when it is too long: read it
 *   MISSED                                     some were not told: scan todo/
 *   REMOVE    (u32 kind, u32 stage, u64 number)...   see enum queue_remove
 *   REMOVED   u64 number...                    answer to REMOVE: the name is gone; the
 *                                              number may be used again
 */
#ifndef QUEUE_PROTOCOL_H
#define QUEUE_PROTOCOL_H

enum queue_protocol {
	QUEUE_PROTOCOL_OPEN = 1,
	QUEUE_PROTOCOL_OPENED,
	QUEUE_PROTOCOL_REFUSED,
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
};

enum queue_remove {
	QUEUE_REMOVE_QUEUED, /* S4, all delivered: everything goes */
	QUEUE_REMOVE_TODO,   /* info/ is durable: todo goes */
	QUEUE_REMOVE_DATA,   /* S2 at the end: mess goes */
};

enum {
	QUEUE_OPEN_MAX = 16,             /* data files in one OPENED */
	QUEUE_ENVELOPE_PART = 32 * 1024, /* bytes of text in one ENVELOPE or COMMIT */
	QUEUE_ENVELOPE_MAX = 16 << 20,   /* bytes of an envelope in all */
	QUEUE_CLIENT_FILES_MAX = 8192,   /* data files one client may hold */
};

#endif
