// SPDX-License-Identifier: ISC
/* tests/unit/policy/https/https_peer.h - a server of HTTPS on loopback, in a thread of its own,
 * that says what a test wants. */
#ifndef TESTS_UNIT_HTTPS_PEER_H
#define TESTS_UNIT_HTTPS_PEER_H

#include <stdbool.h>
#include <stdint.h>

enum { HTTPS_PEER_PATH_SIZE = 200, HTTPS_PEER_TEXT_SIZE = 4000 };

/* To be set before it begins, and read after it has ended. */
struct https_peer {
	char certificate[HTTPS_PEER_PATH_SIZE]; /* PEM files */
	char key[HTTPS_PEER_PATH_SIZE];
	bool is_old; /* speaks TLS 1.1 at most */
	const char *reply;
	const char *rest; /* likewise, in a write of its own; NULL: none */
	unsigned count;   /* of the connections that it takes, one after the other */
	bool hangs;       /* after the reply, until the client closes the connection */
	/* out: */
	unsigned taken;
	char request[HTTPS_PEER_TEXT_SIZE]; /* the last one */
};

/* Listens on 127.0.0.1: the port. Once in a program. */
uint16_t https_peer_listen(void);
void https_peer_begin(struct https_peer *peer);
/* When it has taken all connections, or nobody has come for five seconds. */
void https_peer_end(void);
void https_peer_close(void);

#endif
