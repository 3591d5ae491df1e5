// SPDX-License-Identifier: ISC
#include "command/sendmail/session.h"
#include "command/sendmail/mail.h"
#include "os/stream/stream.h"
#include "queue/inject/message.h"
#include "smtp/server/server.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { READ_SIZE = 65536, LINE_MAX_BYTES = 4096 };

/* How the program ends its lines, as its first one shows. */
enum ending {
	ENDING_UNKNOWN,
	ENDING_CRLF, /* as the protocol says: an LF alone is what it is in any other session */
	ENDING_FEED, /* with LF, as all other text of this system: each is a line end */
};

struct session {
	const struct command_mail *mail;
	const struct config *config;
	const struct os_process_caller *caller;
	struct inject_link *link;
	struct smtp_server *server;
	struct inject_message *message; /* NULL: none is open */
	struct buffer kept;             /* read, but not consumed yet */
	enum ending ending;
	char last; /* byte read */
};

static void explain_session_error(struct mail_verdict *verdict, int error)
{
	if (error == -ENOSPC || error == -EDQUOT)
		mail_verdict_set(verdict, "4.3.1", "Insufficient system storage");
	else if (error == -EFBIG)
		mail_verdict_set(verdict, "5.3.4", "The message is over the size limit");
	else if (error == -EACCES || error == -EPERM)
		mail_verdict_set(verdict, "5.7.0", "This user may not use the queue");
	else
		mail_verdict_set(verdict, "4.3.0", "The queue cannot take the message now");
}

static void give_up_session_message(struct session *session)
{
	inject_message_abandon(session->message);
	session->message = NULL;
}

/* Errors are the caller's to read on standard error, too, as by other modes. */
static void answer_session_open(struct session *session)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct mail_verdict verdict;
	int error = inject_message_open_untraced(session->config, session->caller, session->link,
						 &session->message, &reason);

	if (error == 0) {
		smtp_server_answer_open(session->server, inject_message_id(session->message));
		return;
	}
	(void)command_mail_refused(session->mail, session->config, session->caller, error, &reason);
	explain_session_error(&verdict, error);
	smtp_server_answer(session->server, &verdict);
}

static int write_session_body(struct session *session)
{
	struct buffer *body = smtp_server_body(session->server);
	int error = inject_message_write(session->message, buffer_view(body));

	buffer_consume(body, body->length);
	return error;
}

static void answer_session_commit(struct session *session, const struct smtp_question *question)
{
	struct mail_envelope envelope = *question->envelope;
	int error = write_session_body(session);
	struct mail_verdict verdict;
	char id[MAIL_ID_SIZE];

	if (error == 0)
		error = inject_message_commit(session->message, MAIL_STAGE_SUBMIT, &envelope);
	else
		inject_message_abandon(session->message);
	session->message = NULL;
	if (error == 0) {
		mail_id_format(envelope.id, id);
		mail_verdict_set(&verdict, "2.0.0", "queued as %s", id);
		command_mail_accepted(session->mail, session->config, session->caller, &envelope);
	} else {
		(void)command_mail_refused(session->mail, session->config, session->caller, error,
					   NULL);
		explain_session_error(&verdict, error);
	}
	smtp_server_answer(session->server, &verdict);
}

/* A user's own programs may name any recipient, as by "sendmail": what is wrong bounces to him. */
static void answer_session_question(struct session *session, const struct smtp_question *question)
{
	struct mail_verdict verdict;

	switch (question->type) {
	case SMTP_QUESTION_OPEN:
		answer_session_open(session);
		break;
	case SMTP_QUESTION_COMMIT:
		answer_session_commit(session, question);
		break;
	default:
		mail_verdict_set(&verdict, "2.0.0", "Ok");
		smtp_server_answer(session->server, &verdict);
	}
}

static void spool_session_body(struct session *session)
{
	struct mail_verdict verdict;
	int error;

	if (session->message != NULL && !smtp_server_message_is_open(session->server))
		give_up_session_message(session);
	if (session->message == NULL || smtp_server_question(session->server) != NULL ||
	    smtp_server_body(session->server)->length < SMTP_SERVER_BODY_MAX)
		return;
	error = write_session_body(session);
	if (error == 0)
		return;
	give_up_session_message(session);
	explain_session_error(&verdict, error);
	smtp_server_data_failed(session->server, &verdict);
}

/* Whether all replies are written. */
static bool flush_session_replies(struct session *session)
{
	struct buffer *output = smtp_server_output(session->server);

	while (output->length > 0) {
		ssize_t count = os_stream_write(1, buffer_data(output), output->length);

		if (count <= 0)
			return false;
		buffer_consume(output, (size_t)count);
	}
	return true;
}

/* Does what can be done with what was read. False: the session is over. */
static bool process_session_input(struct session *session)
{
	for (;;) {
		const struct smtp_question *question;

		spool_session_body(session);
		question = smtp_server_question(session->server);
		if (question != NULL) {
			answer_session_question(session, question);
			continue;
		}
		if (!flush_session_replies(session) || smtp_server_is_closed(session->server))
			return false;
		if (session->kept.length == 0)
			return true;
		buffer_consume(&session->kept,
			       smtp_server_input(session->server, buffer_data(&session->kept),
						 session->kept.length));
	}
}

/* A program whose lines end with LF gets no answer to its first one otherwise. That one whose lines
 * end with CRLF has an LF in a message is no reason to believe that it ends a line there: what it
 * sends may come from somebody else. */
static void take_session_byte(struct session *session, char byte)
{
	bool is_feed = byte == '\n' && session->last != '\r';

	if (byte == '\n' && session->ending == ENDING_UNKNOWN)
		session->ending = is_feed ? ENDING_FEED : ENDING_CRLF;
	if (is_feed && session->ending == ENDING_FEED)
		buffer_append_byte(&session->kept, '\r');
	buffer_append_byte(&session->kept, byte);
	session->last = byte;
}

static void take_input(struct session *session, struct str bytes)
{
	if (session->ending == ENDING_CRLF) {
		buffer_append_str(&session->kept, bytes);
		return;
	}
	for (size_t i = 0; i < bytes.length; i++)
		take_session_byte(session, bytes.data[i]);
}

static void run_smtp_session(struct session *session)
{
	static char block[READ_SIZE];
	ssize_t count;

	smtp_server_start(session->server);
	while (process_session_input(session)) {
		do
			count = os_stream_read(0, block, sizeof block);
		while (count == -EINTR);
		if (count <= 0)
			break;
		take_input(session, str_slice(block, (size_t)count));
	}
}

/* Programs write lines as they are on this system. */
static struct smtp_service service_of(const struct config *config)
{
	return (struct smtp_service){
		.protocol = SMTP_PROTOCOL_SUBMISSION,
		.stage = MAIL_STAGE_SUBMIT,
		.hostname = config->hostname,
		.local_domain = config_users_domain(config),
		.rules = {.bare_newline = SMTP_BARE_NEWLINE_NORMALIZE,
			  .removes_nul = config->nul == CONFIG_NUL_REMOVE},
		.limits = {.message_size = config->maxsize,
			   .recipients = config->maxrecipients,
			   .errors = config->maxerrors,
			   .commands = config->maxcommands,
			   .hops = config->maxhops,
			   .line = LINE_MAX_BYTES,
			   .command_timeout = config->smtp_timeout,
			   .data_timeout = config->smtp_data_timeout},
	};
}

int sendmail_session_run(const struct command_mail *mail, const struct config *config,
			 const struct os_process_caller *caller, struct inject_link *link)
{
	struct smtp_service service = service_of(config);
	struct smtp_peer peer = {.address = "", .name = "", .is_ours = true};
	struct session session = {.mail = mail,
				  .config = config,
				  .caller = caller,
				  .link = link,
				  .server = smtp_server_new(&service, peer)};

	run_smtp_session(&session);
	give_up_session_message(&session);
	smtp_server_free(session.server);
	buffer_clear(&session.kept);
	return INJECT_OK;
}
