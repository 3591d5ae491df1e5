// SPDX-License-Identifier: ISC
/*
 * names/protocol.h - what "smtpd" asks "names", as messages of ipc/channel.h.
 */
#ifndef NAMES_PROTOCOL_H
#define NAMES_PROTOCOL_H

enum names_message {
	NAMES_ASK = 1, /* str address: 16 bytes, IPv4 mapped */
	NAMES_ANSWER,  /* str address, u32 is temporary, u32 seconds for which it is so, str name:
			* empty when there is none. In any order, one for each NAMES_ASK */
};

enum {
	NAMES_ADDRESS_SIZE = 16,
	NAMES_OPEN_MAX =
		1000, /* questions of one connection; more are answered at once: temporary */
};

#endif
