// SPDX-License-Identifier: ISC
/*
 * smtp/client/internal.h - what the files of the client share.
 */
#ifndef SMTP_CLIENT_INTERNAL_H
#define SMTP_CLIENT_INTERNAL_H

#include "base/arena.h"
#include "smtp/client/capabilities.h"
#include "smtp/client/client.h"
#include "smtp/client/reply.h"
#include "smtp/client/stuffing.h"

/* What the client waits for: a reply, except in CLIENT_TLS, CLIENT_LOGIN, CLIENT_FORM,
 * CLIENT_READY, CLIENT_BODY and CLIENT_CLOSED. */
enum client_state {
	CLIENT_GREETING,
	CLIENT_HELLO,
	CLIENT_HELO,
	CLIENT_STARTTLS,
	CLIENT_TLS,   /* for the driver's handshake */
	CLIENT_LOGIN, /* for the driver's next message of the login */
	CLIENT_AUTH,
	CLIENT_FORM, /* for the driver's conversion */
	CLIENT_READY,
	CLIENT_RESET,
	CLIENT_FORWARD,
	CLIENT_MAIL,
	CLIENT_RECIPIENT,
	CLIENT_DATA,
	CLIENT_BODY,
	CLIENT_FINAL,
	CLIENT_CLOSED
};

struct client_login {
	bool is_wanted;
	bool may_be_plain; /* see struct smtp_client_settings */
	bool is_refused;   /* see smtp_client_is_login_refused() */
	enum smtp_client_login question;
	struct buffer challenge; /* decoded */
	struct buffer initial;   /* in base64: to be sent after an empty challenge */
	bool has_initial;
	struct buffer sent; /* all messages sent: decoded and in base64, a NUL after each */
};

struct smtp_client {
	enum smtp_client_protocol protocol;
	char *hostname;
	char *peer;
	int64_t timeout_us;
	enum smtp_client_tls tls;
	int64_t tls_timeout_us;
	struct smtp_watch watch;
	void *watch_context;
	enum client_state state;
	struct smtp_capabilities capabilities;
	char server_name[SMTP_CLIENT_NAME_SIZE]; /* see smtp_client_server_name() */
	bool is_greeted;
	bool needs_reset;   /* the server is still in a transaction that we have ended */
	bool is_secured;    /* by TLS */
	bool is_proven;     /* a reply has come by TLS */
	bool is_insecure;   /* see smtp_client_is_insecure() */
	bool is_injected;   /* see smtp_client_is_injected() */
	bool is_broken;     /* see smtp_client_is_broken() */
	bool is_silent;     /* see smtp_client_is_silent() */
	bool is_unanswered; /* see smtp_client_is_unanswered() */
	bool is_refused;    /* see smtp_client_is_tls_refused() */
	const struct mail_verdict *failure; /* see smtp_client_failure() */
	bool is_stale;                      /* see smtp_client_is_stale() */
	bool is_unserved;                   /* see smtp_client_is_unserved() */
	bool is_unsent;                     /* nothing of the output has been sent yet */
	bool is_reply_slower;               /* the last reply says that too much comes (slower.h) */
	const struct mail_verdict *slower;  /* of the last such reply in this transaction */
	struct smtp_client_slower said;     /* with it */
	unsigned reply_count;
	unsigned completed; /* number of finished transactions */
	unsigned taken;     /* of messages */

	const struct mail_verdict *refused; /* the first reply at RCPT that was a refusal */
	unsigned refused_code;
	bool is_alike;     /* all others there were the same */
	bool is_too_many;  /* so the last one said */
	bool has_accepted; /* a recipient */
	bool is_taken;     /* the message, for one of them at least */

	struct smtp_client_message message; /* no recipients: no transaction */
	bool is_in_doubt;                   /* the server may have accepted it, or we hold it
					     * back */
	bool is_answered;                   /* the server answered a command of it */
	size_t current;                     /* the recipient being sent or decided */
	struct smtp_stuffing stuffing;
	bool avoids_chunks;
	bool uses_chunks;     /* the current transaction: BDAT */
	unsigned chunk_count; /* whose replies have not come, with the last one */
	struct buffer chunk;  /* the next one's bytes */

	struct client_login login;
	struct smtp_client_reply reply;
	struct buffer output;
	struct arena *verdicts; /* of the current transaction */
};

/* Sends TEXT to the server. */
static inline void client_emit(struct smtp_client *client, const char *text)
{
	if (client->output.length == 0)
		client->is_unsent = true;
	buffer_append_string(&client->output, text);
}

/* transaction.c: the course of a transaction. */
struct mail_verdict *client_new_verdict(struct smtp_client *client);
/* A verdict from the last reply. */
struct mail_verdict *client_reply_verdict(struct smtp_client *client);
void client_decide(struct smtp_client *client, struct smtp_client_recipient *to,
		   const struct mail_verdict *verdict);
/* What may be done with each recipient that VERDICT has decided. */
void client_set_again(struct smtp_client *client, const struct mail_verdict *verdict,
		      enum smtp_client_again again);
/* Sets the verdict of every recipient that has none. */
void client_decide_rest(struct smtp_client *client, const struct mail_verdict *verdict);
/* Makes the first recipient from FROM on that RCPT is sent for, or that has no verdict, the
 * current one; false when there is none. */
bool client_next_asked(struct smtp_client *client, size_t from);
bool client_next_undecided(struct smtp_client *client, size_t from);
/* Starts the transaction with the message given by smtp_client_begin(), in CLIENT_READY. */
void client_start_transaction(struct smtp_client *client);
/* Continues once the message has a form that the server accepts. */
void client_begin_commands(struct smtp_client *client);
/* The session is open for mail. */
void client_be_greeted(struct smtp_client *client);
/* Every recipient is decided; the message is no longer used. */
void client_end_transaction(struct smtp_client *client, enum client_state state);
/* Decides the remaining recipients; CLIENT_CLOSED. */
void client_fail_session(struct smtp_client *client, const struct mail_verdict *verdict);
/* The same after a violation of the protocol. */
void client_break_session(struct smtp_client *client, const char *reason);

/* forward.c */
bool client_forwards(const struct smtp_client *client);
void client_emit_forward(struct smtp_client *client);

/* chunk.c */
/* Sends the bytes of the next chunk, which may be none with the last one. */
void client_send_chunk(struct smtp_client *client, bool is_last);
/* Takes a reply to a chunk that is not the last one; false: it is none. */
bool client_take_chunk_reply(struct smtp_client *client);

/* commands.c: the only place where the state changes; sends the command whose reply the
 * state waits for, unless it was sent in a batch. */
void client_enter(struct smtp_client *client, enum client_state state);
/* Sends everything from RSET or MAIL to DATA at once. */
void client_emit_batch(struct smtp_client *client);
/* What STATE waits for, in words. */
const char *client_state_name(enum client_state state);
/* The command that the expected reply belongs to: "RCPT"; NULL: none. */
const char *client_command_name(const struct smtp_client *client);

/* watch.c: pass to the watch: the output from FROM on, whole commands; a line that stands
 * for one; the complete reply; that the message was sent; why the session ends. */
void client_tell_output(const struct smtp_client *client, size_t from);
void client_tell_line(const struct smtp_client *client, const char *line);
void client_tell_reply(const struct smtp_client *client);
void client_tell_message(const struct smtp_client *client);
void client_tell_end(const struct smtp_client *client, const struct mail_verdict *verdict);

/* parameters.c */
/* Whether it is UTF-8 without control characters, and nothing in it ends the path before its
 * '>'. */
bool client_is_safe_path(struct str address);
/* ADDRESS as it can be sent to the server: with A-labels if only its domain is not ASCII and the
 * server does not offer SMTPUTF8; empty when it cannot be sent. Valid as long as the verdicts. */
struct str client_path(struct smtp_client *client, struct str address);
/* Whether the server is told of the message's deadline. */
bool client_tells_deadline(const struct smtp_client *client);
void client_emit_mail_parameters(struct smtp_client *client);
void client_emit_recipient_parameters(struct smtp_client *client,
				      const struct smtp_client_recipient *to);

/* replies.c */
/* Handles the complete reply. */
void client_on_reply(struct smtp_client *client);

/* refusal.c: what a refusal at RCPT, and that somebody gets too much, says besides of others. */
/* The current recipient was refused by the last reply, with VERDICT. */
void client_note_refused(struct smtp_client *client, const struct mail_verdict *verdict);
/* Whom a refusal at PHASE concerns, as far as the engine knows. */
enum smtp_client_scope client_scope_of(const struct smtp_client *client,
				       enum smtp_client_phase phase);
/* No recipient was accepted: if that is about the session, they may be tried in another one. */
void client_judge_refused(struct smtp_client *client);
/* Notes whether the last reply says that too much comes. */
void client_note_slower(struct smtp_client *client);

/* login.c */
/* Begins the login, in CLIENT_HELLO or CLIENT_HELO. */
void client_start_login(struct smtp_client *client);
/* What the replies to AUTH and its messages mean. */
void client_login_on_challenge(struct smtp_client *client);
void client_login_on_success(struct smtp_client *client);
void client_login_on_refusal(struct smtp_client *client);

/* secret.c */
/* Whether the last reply repeats what was sent in the login, and must not be shown. */
bool client_secret_is_repeated(const struct smtp_client *client);
/* The login is over. */
void client_secret_forget(struct smtp_client *client);

#endif
