// SPDX-License-Identifier: ISC
#include "deliver/remote/session/engine.h"

struct remote_engine remote_engine_new(const struct smtp_client_settings *settings)
{
	if (settings->protocol == SMTP_CLIENT_QMTP)
		return (struct remote_engine){.qmtp = qmtp_client_new(settings)};
	return (struct remote_engine){.smtp = smtp_client_new(settings)};
}

void remote_engine_free(struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		qmtp_client_free(engine->qmtp);
	else
		smtp_client_free(engine->smtp);
}

enum smtp_client_status remote_engine_status(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_status(engine->qmtp);
	return smtp_client_status(engine->smtp);
}

int64_t remote_engine_timeout_us(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_timeout_us(engine->qmtp);
	return smtp_client_timeout_us(engine->smtp);
}

void remote_engine_begin(struct remote_engine *engine, const struct smtp_client_message *message)
{
	if (engine->qmtp != NULL)
		qmtp_client_begin(engine->qmtp, message);
	else
		smtp_client_begin(engine->smtp, message);
}

void remote_engine_quit(struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		qmtp_client_quit(engine->qmtp);
	else
		smtp_client_quit(engine->smtp);
}

void remote_engine_input(struct remote_engine *engine, struct str input)
{
	if (engine->qmtp != NULL)
		qmtp_client_input(engine->qmtp, input);
	else
		smtp_client_input(engine->smtp, input);
}

void remote_engine_lost(struct remote_engine *engine, const char *reason)
{
	if (engine->qmtp != NULL)
		qmtp_client_lost(engine->qmtp, reason);
	else
		smtp_client_lost(engine->smtp, reason);
}

void remote_engine_timed_out(struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		qmtp_client_timed_out(engine->qmtp);
	else
		smtp_client_timed_out(engine->smtp);
}

void remote_engine_abandon(struct remote_engine *engine, const char *status, const char *reason)
{
	if (engine->qmtp != NULL)
		qmtp_client_abandon(engine->qmtp, status, reason);
	else
		smtp_client_abandon(engine->smtp, status, reason);
}

void remote_engine_secured(struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		qmtp_client_secured(engine->qmtp);
	else
		smtp_client_secured(engine->smtp);
}

void remote_engine_insecure(struct remote_engine *engine, const char *reason)
{
	if (engine->qmtp != NULL)
		qmtp_client_insecure(engine->qmtp, reason);
	else
		smtp_client_insecure(engine->smtp, reason);
}

void remote_engine_data(struct remote_engine *engine, struct str data, bool is_last)
{
	if (engine->qmtp != NULL)
		qmtp_client_data(engine->qmtp, data, is_last);
	else
		smtp_client_data(engine->smtp, data, is_last);
}

struct str remote_engine_output(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_output(engine->qmtp);
	return smtp_client_output(engine->smtp);
}

void remote_engine_sent(struct remote_engine *engine, size_t count)
{
	if (engine->qmtp != NULL)
		qmtp_client_sent(engine->qmtp, count);
	else
		smtp_client_sent(engine->smtp, count);
}

bool remote_engine_is_deciding(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_is_deciding(engine->qmtp);
	return smtp_client_is_deciding(engine->smtp);
}

unsigned remote_engine_reply_count(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_reply_count(engine->qmtp);
	return smtp_client_reply_count(engine->smtp);
}

bool remote_engine_is_unserved(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_is_unserved(engine->qmtp);
	return smtp_client_is_unserved(engine->smtp);
}

bool remote_engine_is_stale(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_is_stale(engine->qmtp);
	return smtp_client_is_stale(engine->smtp);
}

const struct mail_verdict *remote_engine_failure(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_failure(engine->qmtp);
	return smtp_client_failure(engine->smtp);
}

bool remote_engine_is_insecure(const struct remote_engine *engine)
{
	if (engine->qmtp != NULL)
		return qmtp_client_is_insecure(engine->qmtp);
	return smtp_client_is_insecure(engine->smtp);
}

unsigned remote_engine_wanted_form(const struct remote_engine *engine)
{
	return smtp_client_wanted_form(engine->smtp);
}

void remote_engine_form(struct remote_engine *engine, uint64_t size)
{
	smtp_client_form(engine->smtp, size);
}

void remote_engine_refuse_form(struct remote_engine *engine, const char *status, const char *reason)
{
	smtp_client_refuse_form(engine->smtp, status, reason);
}

bool remote_engine_is_tls_refused(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_tls_refused(engine->smtp);
}

bool remote_engine_is_injected(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_injected(engine->smtp);
}

const char *remote_engine_server_name(const struct remote_engine *engine)
{
	return engine->smtp != NULL ? smtp_client_server_name(engine->smtp) : "";
}

bool remote_engine_is_login_refused(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_login_refused(engine->smtp);
}

bool remote_engine_is_before_mail(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_before_mail(engine->smtp);
}

bool remote_engine_take_slower(struct remote_engine *engine, struct smtp_client_slower *slower_out)
{
	return engine->smtp != NULL && smtp_client_take_slower(engine->smtp, slower_out);
}

bool remote_engine_is_used_up(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_used_up(engine->smtp);
}

bool remote_engine_is_beginning(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_beginning(engine->smtp);
}

bool remote_engine_is_broken(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_broken(engine->smtp);
}

bool remote_engine_is_silent(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_silent(engine->smtp);
}

bool remote_engine_is_unanswered(const struct remote_engine *engine)
{
	return engine->smtp != NULL && smtp_client_is_unanswered(engine->smtp);
}
