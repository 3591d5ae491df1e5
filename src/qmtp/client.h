// SPDX-License-Identifier: ISC
/*
 * qmtp/client.h - the client's side of QMTP (https://cr.yp.to/proto/qmtp.txt), as an engine without
 * I/O. Its calls are those of smtp/client/client.h, with the same contracts and the same values;
 * what the protocol does not know is missing:
 *
 *   the server says nothing first, so the client is READY at once; or WANTS_TLS, if the settings
 *     want TLS: the handshake comes before everything (QMTPS)
 *   the message is sent as it is, with CRLF lines: no server wants it in another form
 *   an extension cannot be offered: what the sender requested by DSN is not passed on, addresses in
 *     UTF-8 are sent as they are, and a message that requires TLS on the whole way is refused
 *     (5.7.30) without asking
 *
 * The server decides once it has the last byte of the package, with an answer for each recipient:
 * if the session ends before that byte was sent, nothing was accepted.
 */
#ifndef QMTP_CLIENT_H
#define QMTP_CLIENT_H

#include "smtp/client/client.h"

enum { QMTP_CLIENT_ANSWER_MAX = 4096 }; /* bytes; a longer one breaks the session */

struct qmtp_client;

struct qmtp_client *qmtp_client_new(const struct smtp_client_settings *settings);
void qmtp_client_free(struct qmtp_client *client);

enum smtp_client_status qmtp_client_status(const struct qmtp_client *client);
int64_t qmtp_client_timeout_us(const struct qmtp_client *client);

/* The size in MESSAGE must be that of the data that follow. */
void qmtp_client_begin(struct qmtp_client *client, const struct smtp_client_message *message);
/* When the client is READY: it is CLOSED, and has nothing to say. */
void qmtp_client_quit(struct qmtp_client *client);

void qmtp_client_input(struct qmtp_client *client, struct str input);
void qmtp_client_lost(struct qmtp_client *client, const char *reason);
void qmtp_client_timed_out(struct qmtp_client *client);
void qmtp_client_abandon(struct qmtp_client *client, const char *status, const char *reason);

void qmtp_client_secured(struct qmtp_client *client);
void qmtp_client_insecure(struct qmtp_client *client, const char *reason);

void qmtp_client_data(struct qmtp_client *client, struct str data, bool is_last);

struct str qmtp_client_output(const struct qmtp_client *client);
void qmtp_client_sent(struct qmtp_client *client, size_t count);

bool qmtp_client_is_deciding(const struct qmtp_client *client);
unsigned qmtp_client_reply_count(const struct qmtp_client *client);
bool qmtp_client_is_unserved(const struct qmtp_client *client);
bool qmtp_client_is_stale(const struct qmtp_client *client);
const struct mail_verdict *qmtp_client_failure(const struct qmtp_client *client);
bool qmtp_client_is_insecure(const struct qmtp_client *client);

#endif
