// SPDX-License-Identifier: ISC
/*
 * ipc/job.h - the protocol between "send" and its helpers over the node's "send" socket. Bodies are
 * written with ipc/pack.h. The tag is the job's.
 *
 *   HELLO    str service, u32 concurrency, str token
 *                                               a helper: "remote", a service's name,
 *                                               or "resolve"; the token is its process's
 *                                               (ipc/token.h)
 * To a delivery helper, and back:
 *   START    u64 number, u64 born, str sender, u64 size, u32 checksum, u32 needs,
 *            u64 deadline, u32 ret,
 *            str envid, str destination, str received, u32 count,
 *            (u32 number, u32 notify, str address, str orcpt, str via)...,
 *            str content
 *            via: the address of the envelope, if that leads to another one; else empty
 *            Content of up to IPC_JOB_CONTENT_MAX bytes comes by value: in START if it fits,
 *            otherwise content is empty there, and CONTENT packets follow. For a larger
 *            message it is empty, and a descriptor of its data file comes with START; with
 *            IPC_JOB_CHECKSUM its data have that checksum.
 *            needs: enum ipc_job_needs
 *   CONTENT  a part of the content of the last START, unencoded: SIZE bytes in all
 *   REPORT   (u32 number, u32 flags, str status, str text, str trigger, TLS)...
 *            as many as are decided; flags: enum ipc_job_flags. TLS, with IPC_JOB_SECURED only:
 *            str version, str cipher, str policy, str verified; then, with IPC_JOB_SOURCED only:
 *            str source
 *   FINISH   like REPORT; the job is over
 *   BUSY     u32 milliseconds, u32 flags, str reason
 *            the job is over; what was not reported was not tried, because its destination has
 *            had enough for so long. Only of remote, and at most IPC_JOB_BUSY_MAX_MS; flags:
 *            enum ipc_job_busy_flags
 *   SAID     str host, u32 port, u32 what, u32 amount, u64 number, u64 born, str to, str status,
 *            str text
 *            a server has said to a recipient of a message what changes how mail goes to it. Only
 *            of remote; what: enum ipc_job_said_what. The tag is not used
 *   DRAIN    (nothing)   to the helper: "send" stops. FINISH at once, without reports, jobs that
 *            can be repeated without a duplicate; the others when they are decided
 *   RETIRE   (nothing)   from the helper: it ends, and drains; it must get no more STARTs
 * To the helper "handover", and back. Its jobs are packages (mail/package.h):
 *   HAND     u64 number, u64 born, u64 size, u32 flags, str group, str name, str text,
 *            u32 count, (u32 number)..., str content
 *            a job, in place of START: the deliveries with these numbers are handed over to a node
 *            of the group, by the package NAME with the control text TEXT. flags: enum
 *            ipc_job_hand_flags. Content comes as with START, and REPORT and FINISH go back.
 *   RUN      u64 epoch, u64 run, (str node)...   answer to HELLO: the serial of this process, and
 *                                                the nodes that may have something
 *   GROUPS   u32 is_draining, (str group)...     the groups for which this node works, whenever
 *                                                they change; is_draining: it works for none any
 *                                                more, and what waits is to go to others
 *   PEER     str node, u32 is_wanted             the node is to be remembered before something goes
 *                                                to it, or forgotten, as it has nothing
 *   PEERED   str node, u32 is_wanted, u32 errno  answer, when that is durable
 *   KEPT     (u64 number, u64 born, u32 is_whole)...   a node has such packages. is_whole: of
 *                                                all deliveries
 *   SETTLED  (u64 number, u64 born, u32 count, (u32 number)...)...
 *                                                of that message these deliveries, or all (count
 *                                                0), are done durably, or nothing is left of it:
 *                                                answer to KEPT if so, and whenever it becomes so
 *   ASKED    str node                            the node has said what it has, or was given up
 *   RELEASE  str trigger                         what waits for it may be tried
 *   ASK_NODES u64 question, str message          each node is to be asked for its status; or, if that
 *                                                is not empty, what it knows of the message with that
 *                                                id
 *   NODE_IS  u64 question, str node, u32 is_answer, str text
 *                                                what a node answers, or why it does not; node is
 *                                                empty when all have been asked: then the text, if
 *                                                there is one, says why that is not all
 * From "handover", and from "noded", which has no jobs, and back:
 *   STATUS   u32 question, str message           what "send" knows of this node's queue is wanted; or,
 *                                                of the message with that id
 *   STATUS_IS u32 question, str text             answer (manager/link/status.h), within a second
 * To resolve, and back (the tag is not used; number is the message, question is chosen by "send").
 * A packet contains as many questions or answers as fit; answers come in any order:
 *   RESOLVE  (u64 number, u32 question, str sender, u32 count, (u32 number, str address)...)...
 *   RESOLVED (u64 number, u32 question, u32 flags, u64 version, u32 count,
 *            (u32 recipient, u32 route, str service, str server, str address, str status,
 *            str text)...)...
 *            flags: enum ipc_job_resolved_flags; status is empty for a target to be tried;
 *            4.x.x for the whole message: ask again later. The targets of one recipient come
 *            together, though perhaps in several packets.
 *   AWAIT    (nothing)   the directory does not answer: report when it does
 *   BACK     (nothing)   answer to AWAIT: it does
 */
#ifndef IPC_JOB_H
#define IPC_JOB_H

#include "ipc/channel.h"
#include "ipc/pack.h"
#include "mail/envelope.h"

enum ipc_job {
	IPC_JOB_HELLO = 1,
	IPC_JOB_START,
	IPC_JOB_REPORT,
	IPC_JOB_FINISH,
	IPC_JOB_RESOLVE,
	IPC_JOB_RESOLVED,
	IPC_JOB_AWAIT,
	IPC_JOB_BACK,
	IPC_JOB_DRAIN,
	IPC_JOB_RETIRE,
	IPC_JOB_CONTENT,
	IPC_JOB_SAID,
	IPC_JOB_BUSY,
	IPC_JOB_HAND,
	IPC_JOB_RUN,
	IPC_JOB_GROUPS,
	IPC_JOB_PEER,
	IPC_JOB_PEERED,
	IPC_JOB_KEPT,
	IPC_JOB_SETTLED,
	IPC_JOB_ASKED,
	IPC_JOB_RELEASE,
	IPC_JOB_ASK_NODES,
	IPC_JOB_NODE_IS,
	IPC_JOB_STATUS,
	IPC_JOB_STATUS_IS,
};

enum {
	IPC_JOB_RECIPIENTS_MAX = 100,    /* in one START or RESOLVE */
	IPC_JOB_CONTENT_MAX = 64 * 1024, /* bytes of content that come by value */
	IPC_JOB_BUSY_MAX_MS = 3600000,   /* so that a helper cannot keep mail for ever */
	IPC_JOB_HEAD_MAX = 2048,         /* bytes of a START without its recipients */
	IPC_JOB_RECIPIENT_OVERHEAD = 20, /* bytes of a recipient without its texts */
	IPC_JOB_RESOLVE_OVERHEAD = 20,   /* bytes of a message in a RESOLVE without its recipients
					  * and texts */
	IPC_JOB_RESOLVED_OVERHEAD = 28,  /* bytes of a message in a RESOLVED without its targets */
};

enum { IPC_JOB_RECEIVED_MAX = 900 }; /* bytes; a longer one is not told */

enum { IPC_JOB_STATUS_MAX = 24 * 1024 }; /* bytes of the text of STATUS_IS */
/* The service of "noded" in HELLO: none of a configuration can have this name. */
#define IPC_JOB_STATUS_SERVICE "noded.status"

enum ipc_job_needs {
	IPC_JOB_UTF8 = 1 << 0,        /* SMTPUTF8 was asked for */
	IPC_JOB_REQUIRE_TLS = 1 << 1, /* REQUIRETLS was */
	IPC_JOB_DEADLINE = 1 << 2,    /* there is one (RFC 2852): the time in START, by-mode N */
	IPC_JOB_RETURN = 1 << 3,      /* by-mode R */
	IPC_JOB_TRACE = 1 << 4,       /* by-trace */
	IPC_JOB_TOLD = 1 << 5,        /* that it has passed was reported */
	IPC_JOB_BINARY = 1 << 6,      /* BINARYMIME was said */
	IPC_JOB_TURN = 1 << 7,        /* it has waited for a place in a class of hosts */
	IPC_JOB_PRIORITY = 8,         /* above so many bits: the priority, as a signed byte */
	IPC_JOB_CHECKSUM = 1 << 16,   /* the data in the file have a checksum */
};

enum ipc_job_hand_flags {
	IPC_JOB_HAND_NEW = 1 << 0, /* no node can have any of it */
	IPC_JOB_HAND_FLAGS = IPC_JOB_HAND_NEW,
};

enum ipc_job_flags {
	IPC_JOB_PASSED_ON = 1 << 0, /* the next host has been asked to report the success */
	IPC_JOB_SECURED = 1 << 1,   /* by TLS */
	IPC_JOB_TIMED = 1 << 2,     /* the next host has been told of the deadline */
	IPC_JOB_SOURCED = 1 << 3,   /* from a source */
	IPC_JOB_FLAGS = IPC_JOB_PASSED_ON | IPC_JOB_SECURED | IPC_JOB_TIMED | IPC_JOB_SOURCED,
};

enum ipc_job_resolved_flags {
	IPC_JOB_RESOLVED_MORE = 1 << 0, /* more of this answer follows */
	IPC_JOB_RESOLVED_AWAY = 1 << 1, /* 4.x.x because the directory does not answer */
	IPC_JOB_RESOLVED_FLAGS = IPC_JOB_RESOLVED_MORE | IPC_JOB_RESOLVED_AWAY,
};

/* Sends START, or HAND, with BODY, which is everything except the content, and CONTENT by value, at most
 * IPC_JOB_CONTENT_MAX bytes. Changes BODY. */
void ipc_job_send_start(struct ipc_channel *channel, enum ipc_job type, uint32_t tag,
			struct buffer *body, struct str content);

/*
 * Helpers are not trusted: they read what strangers send. What is read here is complete, and its
 * texts are single lines that can go into logs and files; the caller must check that numbers,
 * routes, addresses and services exist. False: malformed. Strings are views of the body.
 */
struct ipc_job_hello {
	struct str service;
	uint32_t concurrency;
	struct str token;
};

/* Parses all of BODY. */
MUST_CHECK bool ipc_job_read_hello(struct str body, struct ipc_job_hello *hello_out);
void ipc_job_add_hello(struct buffer *out, const struct ipc_job_hello *hello);

/* What protected a connection. */
struct ipc_job_tls {
	struct str version;  /* "TLSv1.3" */
	struct str cipher;   /* "TLS_AES_256_GCM_SHA384" */
	struct str policy;   /* "may"; "dane" */
	struct str verified; /* "no", "dane-ee" */
};

struct ipc_job_report {
	uint32_t number;        /* of the delivery */
	uint32_t flags;         /* enum ipc_job_flags */
	struct str status;      /* "2.0.0" */
	struct str text;        /* shorter than MAIL_TEXT_SIZE, like all texts here */
	struct str trigger;     /* empty: none */
	struct ipc_job_tls tls; /* with IPC_JOB_SECURED; else empty */
	struct str source;      /* "NAME[ADDRESS]", with IPC_JOB_SOURCED; else empty */
};

/* Takes the next report from BODY, which is not empty. */
MUST_CHECK bool ipc_job_take_report(struct unpack *body, struct ipc_job_report *report_out);
void ipc_job_add_report(struct buffer *out, const struct ipc_job_report *report);

enum ipc_job_busy_flags {
	IPC_JOB_BUSY_PLACE = 1 << 0, /* or until another job for the destination ends */
	IPC_JOB_BUSY_LAST = 1 << 1,  /* that was said of this job: others are tried before it */
	IPC_JOB_BUSY_FLAGS = IPC_JOB_BUSY_PLACE | IPC_JOB_BUSY_LAST,
};

struct ipc_job_busy {
	uint32_t wait_ms;
	uint32_t flags;    /* enum ipc_job_busy_flags */
	struct str reason; /* for people */
};

/* Parses all of BODY. */
MUST_CHECK bool ipc_job_read_busy(struct str body, struct ipc_job_busy *busy_out);
void ipc_job_add_busy(struct buffer *out, const struct ipc_job_busy *busy);

enum ipc_job_said_what {
	IPC_JOB_SAID_SLOWER,      /* it gets too much: a message in AMOUNT ms */
	IPC_JOB_SAID_CONNECTIONS, /* so many at once */
	IPC_JOB_SAID_MESSAGES,    /* it takes so many in a session */
	IPC_JOB_SAID_RECIPIENTS,  /* and in a transaction */
	IPC_JOB_SAID_RENEWED,     /* it is asked again in a new session, after so many messages */
	IPC_JOB_SAID_KINDS,
};

struct ipc_job_said {
	struct str host; /* or its address */
	uint32_t port;
	uint32_t what; /* enum ipc_job_said_what */
	uint32_t amount;
	struct mail_id id;
	struct str to; /* a recipient */
	struct str status;
	struct str text;
};

/* Parses all of BODY. */
MUST_CHECK bool ipc_job_read_said(struct str body, struct ipc_job_said *said_out);
void ipc_job_add_said(struct buffer *out, const struct ipc_job_said *said);

struct ipc_job_resolved { /* the part before its targets */
	uint64_t number;
	uint32_t question;
	uint32_t flags; /* enum ipc_job_resolved_flags */
	uint64_t version;
	uint32_t count;
};

MUST_CHECK bool ipc_job_take_resolved(struct unpack *body, struct ipc_job_resolved *resolved_out);
void ipc_job_add_resolved(struct buffer *out, const struct ipc_job_resolved *resolved);

struct ipc_job_target {
	uint32_t recipient; /* of the envelope */
	uint32_t route;     /* enum queue_route */
	struct str service;
	struct str server; /* named by the directory (mail/server.h); empty: none */
	struct str address;
	struct str status; /* empty: to be tried */
	struct str text;
};

MUST_CHECK bool ipc_job_take_target(struct unpack *body, struct ipc_job_target *target_out);
void ipc_job_add_target(struct buffer *out, const struct ipc_job_target *target);

#endif
