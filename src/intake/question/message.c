// SPDX-License-Identifier: ISC
/* A message at the queue: how old it may be, what the log and the client learn of it. */
#include "intake/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <utlist.h>

void intake_message_verdict(struct mail_verdict *verdict, int error)
{
	if (error == -ENOSPC || error == -EDQUOT)
		mail_verdict_set(verdict, "4.3.1", "Insufficient system storage");
	else if (error == -EUSERS)
		mail_verdict_set(verdict, "4.3.1",
				 "You have too many unfinished messages, send them one by one");
	else if (error == -ETIMEDOUT)
		mail_verdict_set(verdict, "4.4.2", "The message took longer than a day");
	else if (error == -E2BIG)
		mail_verdict_set(verdict, "5.3.4", "The envelope is over the size limit");
	else
		mail_verdict_set(verdict, "4.3.0", "The queue cannot take the message now");
}

/* A process that writes a message gives up after a day (qmail internals, section 3): an older
 * unfinished file may be taken for litter. */
static const int64_t MESSAGE_US = DAY_US;

bool intake_message_is_late(int64_t began_us)
{
	return os_clock_monotonic_us() - began_us > MESSAGE_US;
}

void intake_message_log_error(const struct intake_session *session, const struct mail_id *id,
			      const char *operation, int error)
{
	if (error == -EUSERS) /* as an event of its own: limit/share.c */
		return;
	if (id != NULL)
		log_event(EVENT_QUEUE_ERROR, log_id(*id), INTAKE_LOG_CLIENT(session),
			  log_string(operation, operation), log_error(error));
	else /* a client may try to begin one as often as it likes */
		log_event_rated(EVENT_QUEUE_ERROR, INTAKE_LOG_CLIENT(session),
				log_string(operation, operation), log_error(error));
}

static void log_accepted(const struct intake_session *session, struct mail_id id,
			 const struct mail_envelope *envelope, struct str message_id)
{
	static const struct smtp_claim nothing;
	const struct intake_engine *engine = session->engine;
	const struct tls_connection *tls = session->tls.stream.tls;
	const struct smtp_claim *forwarded =
		engine->forwarded != NULL ? engine->forwarded(session) : NULL;

	if (forwarded == NULL)
		forwarded = &nothing;
	log_event(EVENT_MESSAGE_ACCEPTED, log_id(id), INTAKE_LOG_CLIENT(session),
		  log_str(helo, engine->helo(session)), log_from(envelope->sender),
		  log_number(recipients, (int64_t)envelope->recipient_count),
		  log_number(size, (int64_t)envelope->size), log_str(message_id, message_id),
		  log_string(name, session->name != NULL ? session->name : ""),
		  log_str(user, intake_session_user(session)),
		  log_string(tls, tls != NULL ? tls_connection_version(tls) : ""),
		  log_string(cipher, tls != NULL ? tls_connection_cipher(tls) : ""),
		  log_string(forwarded_for, forwarded->address),
		  log_string(ident, forwarded->ident));
}

void intake_message_accepted(struct intake_session *session, struct mail_id id,
			     const struct mail_envelope *envelope, struct str message_id)
{
	log_accepted(session, id, envelope, message_id);
	intake_rate_note(session, CONFIG_RATE_BYTES, envelope->size);
	/* the client has sent a message, so it is the last to lose its place */
	intake_pace_reset(&session->idle);
	DL_DELETE2(session->intake->sessions, session, previous, next);
	DL_APPEND2(session->intake->sessions, session, previous, next);
}

bool intake_message_write(struct intake_session *session, struct queue_client_message *message,
			  const struct mail_id *id, struct buffer *body, int *error_out)
{
	if (!queue_client_is_shared(message)) {
		queue_client_share(message);
		return false;
	}
	*error_out = intake_share_check(session, message, id, body->length);
	if (*error_out == 0)
		*error_out = queue_client_write(message, buffer_view(body));
	buffer_consume(body, body->length);
	intake_share_follow(session);
	return true;
}
