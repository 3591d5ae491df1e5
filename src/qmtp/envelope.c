// SPDX-License-Identifier: ISC
/* Sender and recipients of a package. */
#include "mail/verp.h"
#include "qmtp/internal.h"
#include "smtp/server/complete.h"

static unsigned flags_of_qmtp_address(const struct qmtp_server *s)
{
	return MAIL_ADDRESS_UTF8 | MAIL_ADDRESS_NO_DOMAIN |
	       (s->service->rules.strict_addresses ? MAIL_ADDRESS_STRICT : MAIL_ADDRESS_ROOT);
}

static bool may_qmtp_address_be_short(const struct qmtp_server *s)
{
	return !s->service->rules.strict_addresses && s->head.peer.is_ours;
}

static void tell_envelope_address(const struct qmtp_server *s, const char *what)
{
	const struct smtp_watch *watch = &s->service->watch;
	struct buffer line CLEANUP(buffer_clear) = {0};

	if (!smtp_watch_is_on(watch))
		return;
	buffer_append_format(&line, "(%s) " STR_FORMAT, what,
			     STR_ARGUMENTS(buffer_view(&s->address)));
	watch->line(s->head.peer.context, SMTP_SAID_BY_CLIENT, buffer_view(&line));
}

/* A client of ours leaves it to us to give each recipient a sender of its own. A double bounce of
 * another host is none of ours, but has to be as safe from becoming a triple one. */
static bool take_envelope_sender(struct qmtp_server *s, struct str text, struct str *sender_out)
{
	struct mail_address parsed;

	*sender_out = text;
	if (mail_sender_is_null(text) ||
	    ((qmtp_is_qmqp(s) || s->head.peer.is_ours) && mail_verp_is(text)))
		return true;
	if (mail_address_parse(text, flags_of_qmtp_address(s), &parsed) < 0 ||
	    !smtp_complete_sender(s->service, may_qmtp_address_be_short(s), &s->completed, &parsed))
		return false;
	*sender_out = parsed.text;
	return true;
}

void qmtp_envelope_sender(struct qmtp_server *s, bool is_cut)
{
	struct mail_envelope *envelope = qmtp_package_current(s)->envelope;
	struct str sender;

	tell_envelope_address(s, "from");
	if (is_cut || !take_envelope_sender(s, buffer_view(&s->address), &sender)) {
		qmtp_package_current(s)->is_bad_sender = true;
		return;
	}
	envelope->sender = arena_copy_str(envelope->arena, sender);
	envelope->utf8 = !str_is_ascii(sender);
}

static void add_accepted_recipient(struct qmtp_package *p, struct str address)
{
	static const uint16_t none = 0;

	p->accepted_count++;
	buffer_append(&p->lengths, &none, sizeof none);
	if (smtp_recipients_have(&p->recipients, p->envelope, address))
		return;
	mail_envelope_add(p->envelope, address);
	p->envelope_size += address.length + sizeof *p->envelope->recipients;
	smtp_recipients_added(&p->recipients, p->envelope);
	p->envelope->utf8 |= !str_is_ascii(address);
}

static void ask_about_recipient(struct qmtp_server *s, const struct mail_address *address)
{
	s->question = (struct qmtp_question){
		.type = SMTP_QUESTION_RECIPIENT,
		.slot = qmtp_package_slot(s),
		.address = *address,
		.envelope = qmtp_package_current(s)->envelope,
	};
	s->is_asking = true;
}

static const struct mail_verdict *find_fault(const struct qmtp_server *s,
					     const struct qmtp_package *p)
{
	static const struct mail_verdict many = {MAIL_WAIT, "4.5.3", "Too many recipients"};
	static const struct mail_verdict sender = {MAIL_FAIL, "5.1.7", "Bad sender address"};

	if (p->recipient_count > s->service->limits.recipients)
		return &many;
	return p->is_bad_sender ? &sender : NULL;
}

/* The views of what is asked point into s->address or s->completed, which stay as they are until
 * the answer. */
void qmtp_envelope_recipient(struct qmtp_server *s, bool is_cut)
{
	static const struct mail_verdict wrong = {MAIL_FAIL, "5.1.3", "Bad recipient address"};
	struct qmtp_package *p = qmtp_package_current(s);
	const struct mail_verdict *fault;
	struct mail_address address;

	tell_envelope_address(s, "to");
	p->recipient_count++;
	fault = find_fault(s, p);
	if (p->recipient_count > s->service->limits.recipients + QMTP_SERVER_RECIPIENTS_EXCESS)
		qmtp_server_end(s);
	else if (fault != NULL)
		qmtp_answer_recipient(s, fault);
	else if (is_cut ||
		 mail_address_parse(buffer_view(&s->address), flags_of_qmtp_address(s), &address) <
			 0 ||
		 !smtp_complete_recipient(s->service, s->head.peer.context,
					  may_qmtp_address_be_short(s), &s->completed, &address))
		qmtp_answer_recipient(s, &wrong);
	else if (p->has_refusal)
		add_accepted_recipient(p,
				       address.text); /* of the message, which needs no question */
	else if (!qmtp_is_qmqp(s) && smtp_text_loops(&p->text, s->service->site_key, address.text))
		qmtp_answer_recipient(s, &smtp_text_loop);
	else
		ask_about_recipient(s, &address);
}

void qmtp_envelope_answer(struct qmtp_server *s, const struct mail_verdict *verdict)
{
	if (verdict->class == MAIL_OK)
		add_accepted_recipient(qmtp_package_current(s), s->question.address.text);
	else
		qmtp_answer_recipient(s, verdict);
}
