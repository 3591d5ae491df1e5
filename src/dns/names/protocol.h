// SPDX-License-Identifier: ISC
/*
 * dns/names/protocol.h - the protocol between "smtpd" or "qmtpd" and "names", in messages of
 * ipc/channel.h.
 */
#ifndef DNS_NAMES_PROTOCOL_H
#define DNS_NAMES_PROTOCOL_H

enum names_message {
	NAMES_ASK = 1, /* str address: 16 bytes, IPv4 mapped. The tag is repeated in the answer */
	NAMES_ANSWER,  /* str address, u32 is temporary, u32 seconds of validity, str name: empty
			* when there is none. In any order, one for each NAMES_ASK */
};

enum {
	NAMES_ADDRESS_SIZE = 16,
	NAMES_OPEN_MAX = 1000, /* open questions of one connection; further ones get a temporary
				* failure at once */
};

#endif
