// SPDX-License-Identifier: ISC
/*
 * keys/protocol.h - the protocol between the process "keys", which has the private keys, and those
 * that speak TLS, in messages of ipc/channel.h.
 *
 * When a process connects, and whenever it changes, "keys" sends what is public: KEYS_SET_PART as
 * often as needed, then KEYS_SET_END. The parts together are one text (keys/set.h), which has the
 * keys of session tickets only for those that accept sessions.
 */
#ifndef KEYS_PROTOCOL_H
#define KEYS_PROTOCOL_H

enum keys_message {
	KEYS_SET_PART = 1, /* bytes */
	KEYS_SET_END,      /* nothing: the set is complete and replaces the one before */
	KEYS_SIGN,         /* str key (TLS_KEY_ID_SIZE bytes), u32 scheme, u32 hash, str data: see
			    * struct tls_signing_request; the tag identifies the request */
	KEYS_SIGNED,       /* str signature, empty: none is made. One for each KEYS_SIGN, with its
			    * tag, in any order */
	KEYS_ASK_PASSWORD, /* str relay, u32 port, str user: from "remote" only */
	KEYS_PASSWORD,     /* str password, str problem; one of them is empty. One for each
			    * KEYS_ASK_PASSWORD, with its tag */
};

#endif
