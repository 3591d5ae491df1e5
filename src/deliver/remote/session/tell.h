// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/tell.h - passes the lines of a session with a server to whoever watches
 * that server or the recipients' domain (transcript/transcript.h).
 */
#ifndef DELIVER_REMOTE_SESSION_TELL_H
#define DELIVER_REMOTE_SESSION_TELL_H

#include "dns/search.h"
#include "smtp/watch.h"

struct remote_tell;

/* PEER: as shown to people. Copies both. */
struct remote_tell *remote_tell_new(const char *peer, const struct dns_server *server);
void remote_tell_free(struct remote_tell *tell);
/* The session is used for mail to ADDRESS. */
void remote_tell_destination(struct remote_tell *tell, struct str address);
void remote_tell_line(struct remote_tell *tell, enum smtp_said by, struct str line);

#endif
