// SPDX-License-Identifier: ISC
/*
 * decode/protocol.h - the protocol between "mailbox" and "decode", in messages of ipc/channel.h.
 *
 * The tag is the question's. Answers come in the order of the questions. Who breaks a rule is
 * disconnected.
 */
#ifndef DECODE_PROTOCOL_H
#define DECODE_PROTOCOL_H

enum decode_packet {
	DECODE_HELLO = 1, /* str token: first, and once (ipc/token.h) */
	DECODE_ASK,       /* u64 bytes of the content; a descriptor of its file, or else, if there
			   * are any, they come next, */
	DECODE_CONTENT,   /* unencoded, each a part of them; no more than DECODE_BY_VALUE_MAX */
	DECODE_PART,      /* to the client: a part of the answer (decode/wire.h) */
	DECODE_END,       /* likewise: the last part */
};

enum {
	DECODE_BY_VALUE_MAX = 1 << 20,
	DECODE_SECONDS_MAX = 10,       /* of processor time for one message: then "decode" ends */
	DECODE_MEMORY_MAX = 512 << 20, /* bytes that "decode" may have: likewise */
};

#endif
