// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/engine.h - the engine of a session with a server: SMTP's and LMTP's
 * (smtp/client/client.h), or QMTP's (qmtp/client.h). Each call is that engine's call of the same
 * name.
 */
#ifndef DELIVER_REMOTE_SESSION_ENGINE_H
#define DELIVER_REMOTE_SESSION_ENGINE_H

#include "qmtp/client.h"
#include "smtp/client/client.h"

struct remote_engine {
	struct smtp_client *smtp; /* one of them */
	struct qmtp_client *qmtp;
};

struct remote_engine remote_engine_new(const struct smtp_client_settings *settings);
void remote_engine_free(struct remote_engine *engine);
enum smtp_client_status remote_engine_status(const struct remote_engine *engine);
int64_t remote_engine_timeout_us(const struct remote_engine *engine);
void remote_engine_begin(struct remote_engine *engine, const struct smtp_client_message *message);
void remote_engine_quit(struct remote_engine *engine);
void remote_engine_input(struct remote_engine *engine, struct str input);
void remote_engine_lost(struct remote_engine *engine, const char *reason);
void remote_engine_timed_out(struct remote_engine *engine);
void remote_engine_abandon(struct remote_engine *engine, const char *status, const char *reason);
void remote_engine_secured(struct remote_engine *engine);
void remote_engine_insecure(struct remote_engine *engine, const char *reason);
void remote_engine_data(struct remote_engine *engine, struct str data, bool is_last);
struct str remote_engine_output(const struct remote_engine *engine);
void remote_engine_sent(struct remote_engine *engine, size_t count);
bool remote_engine_is_deciding(const struct remote_engine *engine);
unsigned remote_engine_reply_count(const struct remote_engine *engine);
bool remote_engine_is_unserved(const struct remote_engine *engine);
bool remote_engine_is_stale(const struct remote_engine *engine);
const struct mail_verdict *remote_engine_failure(const struct remote_engine *engine);
bool remote_engine_is_insecure(const struct remote_engine *engine);
/* What only SMTP has: a message in another form, STARTTLS that may be refused, logins, and a limit
 * of messages. */
unsigned remote_engine_wanted_form(const struct remote_engine *engine);
void remote_engine_form(struct remote_engine *engine, uint64_t size);
void remote_engine_refuse_form(struct remote_engine *engine, const char *status,
			       const char *reason);
bool remote_engine_is_tls_refused(const struct remote_engine *engine);
/* By QMTP the server says nothing before it has the message. */
bool remote_engine_is_beginning(const struct remote_engine *engine);
bool remote_engine_is_broken(const struct remote_engine *engine);
bool remote_engine_is_silent(const struct remote_engine *engine);
bool remote_engine_is_unanswered(const struct remote_engine *engine);
bool remote_engine_is_injected(const struct remote_engine *engine);
/* As smtp_client_server_name(); "" by QMTP. */
const char *remote_engine_server_name(const struct remote_engine *engine);
bool remote_engine_is_login_refused(const struct remote_engine *engine);
/* As smtp_client_is_before_mail(); false by QMTP, where no server says that it gets too much. */
bool remote_engine_is_before_mail(const struct remote_engine *engine);
/* As smtp_client_take_slower(); false by QMTP. */
bool remote_engine_take_slower(struct remote_engine *engine, struct smtp_client_slower *slower_out);
bool remote_engine_is_used_up(const struct remote_engine *engine);

#endif
