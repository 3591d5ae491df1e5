// SPDX-License-Identifier: ISC
/* What is asked about clients and addresses: their names, and whether they may have mail. */
#include "base/panic.h"
#include "intake/internal.h"

/* The trace header contains the name: a message begins when the name is known, or the lookup
 * took too long (dns/names/client.h). */
static void on_name_known(void *context, const char *name, bool is_temporary)
{
	struct intake_session *session = context;

	(void)is_temporary;
	if (*name != '\0') {
		session->name = memory_copy_string(name);
		session->engine->set_peer_name(session, session->name);
	}
	if (session->named != NULL)
		session->named(session);
	else if (session->is_unnamed) {
		session->is_unnamed = false;
		session->engine->open(session);
	}
}

void intake_lookup_name(struct intake_session *session)
{
	if (session->is_name_asked || session->is_claimed || session->is_stranger ||
	    session->intake->names == NULL || intake_session_is_local(session))
		return;
	session->is_name_asked = true;
	names_ask(session->intake->names, &session->mapped, &session->name_request);
}

bool intake_lookup_awaits_name(struct intake_session *session)
{
	const struct names *names = session->intake->names;

	session->is_unnamed = names != NULL && names_request_is_open(&session->name_request) &&
			      !names_are_slow(names);
	if (session->is_unnamed)
		session->question.is_asking = true;
	return session->is_unnamed;
}

static void answer_recipient(struct intake_session *session, const struct mail_verdict *verdict)
{
	session->question.is_asking = false;
	session->engine->answer(session, verdict);
	session->reason = NULL;
	if (!session->is_pumping)
		session->pump(session);
}

static void on_postmaster_judged(void *context, const struct mail_verdict *verdict, bool is_away)
{
	(void)is_away;
	answer_recipient(context, verdict);
}

/* --- recipients who must be users of this machine --- */

static void ask_owner(struct intake_session *session);

static void on_account(void *context, enum intake_account account, uid_t uid)
{
	struct intake_session *session = context;
	bool is_found = account == INTAKE_ACCOUNT_FOUND;
	struct mail_verdict verdict;

	if (account == INTAKE_ACCOUNT_NONE ||
	    (is_found && !config_has_mail_user(session->intake->config, uid))) {
		ask_owner(session);
		return;
	}
	if (is_found)
		mail_verdict_set(&verdict, "2.1.5", "Recipient ok");
	else
		mail_verdict_set(&verdict, "4.3.0", "The address cannot be looked up now");
	answer_recipient(session, &verdict);
}

/* The next one. */
static void ask_owner(struct intake_session *session)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct mail_verdict verdict;
	struct str first;

	if (session->question.owners.length == 0) {
		session->reason =
			"the service delivers as users, and this machine has none of that name "
			"between uid_min and uid_max";
		mail_verdict_set(&verdict, "5.1.1", "No such user here");
		answer_recipient(session, &verdict);
		return;
	}
	first = str_from(buffer_data(&session->question.owners));
	buffer_append_str(&name, first);
	buffer_consume(&session->question.owners, first.length + 1);
	session->question.account.found = on_account;
	session->question.account.context = session;
	intake_accounts_find(session->intake->accounts, buffer_view(&name),
			     &session->question.account);
}

/* The directory has answered, perhaps at once. */
static void on_recipient_known(void *context, const struct directory_result *result)
{
	struct intake_session *session = context;
	const struct directory_target *list = directory_result_closed_list(result);
	bool needs_owner;
	struct mail_verdict verdict;

	session->reason =
		directory_judge_recipient(result, intake_session_may_relay(session), &verdict);
	if (verdict.class == MAIL_OK)
		directory_judge_sender(result, session->intake->config, session->question.sender,
				       &verdict);
	buffer_reset(&session->question.owners);
	needs_owner =
		verdict.class == MAIL_OK && session->intake->accounts != NULL &&
		directory_result_owners(result, session->intake->config,
					session->question.address_asked, &session->question.owners);
	if (verdict.class == MAIL_OK && list != NULL)
		directory_post_ask(session->intake->directory, list, session->question.sender,
				   on_postmaster_judged, session, &session->question.post);
	else if (needs_owner)
		ask_owner(session);
	else
		answer_recipient(session, &verdict);
}

void intake_lookup_recipient(struct intake_session *session, struct str address, struct str sender)
{
	session->question.is_asking = true;
	session->question.sender = sender;
	session->question.address_asked = address;
	directory_lookup(session->intake->directory, address, on_recipient_known, session,
			 &session->question.recipient);
}

void intake_lookup_cancel(struct intake_session *session)
{
	directory_request_cancel(&session->question.recipient);
	directory_post_cancel(&session->question.post);
	intake_accounts_cancel(&session->question.account);
	buffer_clear(&session->question.owners);
	names_request_cancel(&session->name_request);
}

void intake_lookup_init(struct intake_session *session)
{
	session->name_request = (struct names_request){.done = on_name_known, .context = session};
}
