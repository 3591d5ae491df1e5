// SPDX-License-Identifier: ISC
/*
 * filing/decode/protocol.h - the protocol between "mailbox" and "decode", in messages of
 * ipc/channel.h.
 *
 * The tag is the question's. Answers come in the order of the questions. Who breaks a rule is
 * disconnected. There are two processes, each with a socket of its own, so that one message keeps
 * one of them busy at most.
 */
#ifndef FILING_DECODE_PROTOCOL_H
#define FILING_DECODE_PROTOCOL_H

enum decode_packet {
	DECODE_HELLO = 1, /* str token: first, and once (ipc/token.h) */
	DECODE_ASK,       /* u64 bytes of the content; a descriptor of its file, or else, if there
			   * are any, they come next, */
	DECODE_CONTENT,   /* unencoded, each a part of them; no more than DECODE_BY_VALUE_MAX */
	DECODE_PART,      /* to the client: a part of the answer (filing/decode/wire.h) */
	DECODE_END,       /* likewise: the last part */
	DECODE_LAST,      /* the last part of the last answer: this process ends, as it has taken
			   * too long over this message, and not over the next ones */
};

enum {
	DECODE_BY_VALUE_MAX = 1 << 20,
	DECODE_SECONDS_MAX = 1,        /* of processor time for one message: then "decode" ends; */
	DECODE_SECOND_SIZE = 32 << 20, /* a second more for so many bytes */
	DECODE_MEMORY_MAX = 512 << 20, /* bytes that "decode" may have: likewise */
	DECODE_PROCESSES = 2,
};

/* In the run directory, of each process. */
#define DECODE_SOCKETS              \
	{                           \
		"decode", "decode2" \
	}

#endif
