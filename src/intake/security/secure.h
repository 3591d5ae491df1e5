// SPDX-License-Identifier: ISC
/*
 * intake/security/secure.h - TLS of one session.
 */
#ifndef INTAKE_SECURITY_SECURE_H
#define INTAKE_SECURITY_SECURE_H

#include "base/str.h"
#include "tls/stream.h"

struct intake_session;
struct intake_security;

struct intake_session_tls {
	const struct intake_security *security; /* the listener's */
	struct tls_stream stream;
	int64_t handshake_until_us; /* monotonic; 0: none is under way */
};

/* Begins a handshake; EARLY was read already. False: it cannot begin, the
 * session ends.
 */
bool intake_secure_begin(struct intake_session *session, struct str early);
/* Logs that a listener which is to have TLS has no certificate for it. */
void intake_secure_log_lacking(const struct intake_session *session);
enum intake_secure { INTAKE_SECURE_WAIT, INTAKE_SECURE_DONE, INTAKE_SECURE_FAILED };
/* Goes on with it. When it is done, the engine knows; when it has failed, the log does. */
enum intake_secure intake_secure_go_on(struct intake_session *session);
/* It took too long: logs that. */
void intake_secure_timeout(struct intake_session *session);
/* Whether TLS can begin now. */
bool intake_secure_is_possible(const struct intake_session *session);

#endif
