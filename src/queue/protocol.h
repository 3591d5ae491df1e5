// SPDX-License-Identifier: ISC
/*
 * queue/protocol.h - what "queue" says to the others, and they to it, over its
 * SOCK_SEQPACKET socket (ipc/channel.h). Bodies are written with ipc/pack.h.
 *
 * A server (smtpd), "list", or "send" with a bounce:
 *   OPEN      u32 count                        give me numbers for that many messages
 *   OPENED    u64 number...                    at least one; answer to OPEN
 *   REFUSED   u32 errno                        answer to OPEN
 *   SHARE     u64 number                       the message is larger than goes by value:
 *                                              give me its file
 *   SHARED    u64 number, u32 errno            answer to SHARE; 0: with a descriptor of the file,
 *                                              which is empty
 *   DATA      u64 number, str data             a part of the message, more follows
 *   ENVELOPE  u64 number, str text             a part of the control file, more follows
 *   COMMIT    u64 number, str text, str data   the last part of both. Where the file is shared
 *                                              the data stand in it by now, and DATA is empty
 *   COMMITTED (u64 number, u32 errno)...       0: durable at S4
 *   ABANDON   u64 number                       no more interest; the file is closed
 * A client that goes away abandons all it has open. DATA that wait for their COMMIT are at most
 * QUEUE_BY_VALUE_MAX bytes a client: what belongs to one message is sent in one go.
 *
 * The manager ("send", one connection):
 *   MANAGE                                     I am the manager from now on
 *   MANAGED                                    answer to MANAGE: nothing that an earlier manager
 *                                              wanted removed is under way; scan todo/
 *   CLEANED                                    info/, mess/ and bounce/ have no name left whose
 *                                              message is gone; some time after MANAGED
 *   FOUND     (u32 stage, u64 number)...       a scan found these names in todo/
 *   STANDS    (u32 stage, u64 number)...       answer to FOUND: those of them that are messages.
 *                                              Of one that is being committed QUEUED is said
 *                                              when it is, as of any, and nothing when that
 *                                              fails: it must not be begun before
 *   QUEUED    (u32 stage, u64 number, str text, str content)...
 *                                              text: the control file; empty when it is too
 *                                              long. content: the data, where they are short
 *                                              and came by value; else empty. What is empty is
 *                                              to be read from the file
 *   LOAD      u64 us                           for how long in all groups have been at the disk;
 *                                              now and then while messages come
 *   MISSED                                     some were not told: scan todo/
 *   REMOVE    (u32 kind, u32 stage, u64 number)...   see enum queue_remove
 *   REMOVED   u64 number...                    answer to REMOVE: the name is gone; the
 *                                              number may be used again
 */
#ifndef QUEUE_PROTOCOL_H
#define QUEUE_PROTOCOL_H

/* A manager that was started before the daemon was upgraded still hands out descriptors of
 * files that are used again now. It must not be understood: 1 to 32 are not used again. */
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
};

enum queue_remove {
	QUEUE_REMOVE_QUEUED, /* S4, all delivered: everything goes */
	QUEUE_REMOVE_TODO,   /* info/ is durable: todo goes */
	QUEUE_REMOVE_DATA,   /* S2 at the end: mess goes */
};

enum {
	QUEUE_OPEN_MAX = 16,             /* numbers in one OPENED */
	QUEUE_ENVELOPE_PART = 32 * 1024, /* bytes of text in one ENVELOPE or COMMIT */
	QUEUE_ENVELOPE_MAX = 16 << 20,   /* bytes of an envelope in all */
	QUEUE_CLIENT_FILES_MAX = 8192,   /* data files that "queue" holds open for one client */
};

#endif
