// SPDX-License-Identifier: ISC
#include "smtp_client_misfits.h"
#include "test.h"
#include <string.h>

/* All that anybody can see of a client. */
static void note_client(const struct smtp_client_misfits *misfits, struct buffer *out)
{
	const struct smtp_client *client = misfits->client;
	const struct mail_verdict *failure = smtp_client_failure(client);

	buffer_append_format(
		out, "%d %lld %u %u %d%d%d%d%d%d%d%d%d%d%d%d %s\n" STR_FORMAT "\n" STR_FORMAT "\n",
		(int)smtp_client_status(client), (long long)smtp_client_timeout_us(client),
		smtp_client_reply_count(client), smtp_client_wanted_form(client),
		smtp_client_is_before_mail(client), smtp_client_is_deciding(client),
		smtp_client_is_used_up(client), smtp_client_is_unserved(client),
		smtp_client_is_stale(client), smtp_client_is_insecure(client),
		smtp_client_is_broken(client), smtp_client_is_beginning(client),
		smtp_client_is_silent(client), smtp_client_is_unanswered(client),
		smtp_client_is_injected(client), smtp_client_is_login_refused(client),
		failure != NULL ? failure->text : "", STR_ARGUMENTS(smtp_client_output(client)),
		STR_ARGUMENTS(buffer_view(misfits->watched)));
	for (size_t i = 0; i < misfits->recipient_count; i++)
		buffer_append_format(
			out, "%s %d%d%d%d\n",
			misfits->recipients[i].verdict != NULL
				? misfits->recipients[i].verdict->text
				: "-",
			(int)misfits->recipients[i].again, misfits->recipients[i].is_accepted,
			misfits->recipients[i].is_passed_on, misfits->recipients[i].is_timed);
}

static void call_login_in_vain(struct smtp_client *client)
{
	struct str text;
	bool is_asked = smtp_client_status(client) == SMTP_CLIENT_WANTS_LOGIN;
	enum smtp_client_login question =
		is_asked ? smtp_client_login(client, &text) : SMTP_CLIENT_LOGIN_BEGIN;

	if (!is_asked || question != SMTP_CLIENT_LOGIN_BEGIN)
		smtp_client_login_begin(client, "PLAIN", NULL);
	if (!is_asked || question != SMTP_CLIENT_LOGIN_SUCCESS)
		smtp_client_login_accept(client);
	if (is_asked)
		return;
	smtp_client_login_respond(client, STR("x"));
	smtp_client_login_cancel(client, "nobody asked");
}

static void call_closed_in_vain(struct smtp_client *client)
{
	smtp_client_lost(client, "again");
	smtp_client_timed_out(client);
	smtp_client_input(client, STR("250 x\r\n"));
}

void smtp_client_misfits_try(const struct smtp_client_misfits *misfits)
{
	struct smtp_client *client = misfits->client;
	enum smtp_client_status status = smtp_client_status(client);
	struct buffer before CLEANUP(buffer_clear) = {0};
	struct buffer after CLEANUP(buffer_clear) = {0};

	note_client(misfits, &before);
	if (status != SMTP_CLIENT_READY)
		smtp_client_quit(client);
	if (status != SMTP_CLIENT_WANTS_TLS)
		smtp_client_secured(client);
	if (status != SMTP_CLIENT_WANTS_FORM) {
		smtp_client_form(client, 7);
		smtp_client_refuse_form(client, "5.6.3", "nobody asked");
	}
	if (status != SMTP_CLIENT_WANTS_DATA)
		smtp_client_data(client, STR("x"), true);
	if (status == SMTP_CLIENT_CLOSED)
		call_closed_in_vain(client);
	call_login_in_vain(client);
	note_client(misfits, &after);
	if (!str_equal(buffer_view(&before), buffer_view(&after)))
		fail_msg("%s\n--- before\n" STR_FORMAT "--- after\n" STR_FORMAT, misfits->name,
			 STR_ARGUMENTS(buffer_view(&before)), STR_ARGUMENTS(buffer_view(&after)));
}
