// SPDX-License-Identifier: ISC
/* As whom a user sends: the sender of the envelope, and the authors that the header names. */
#include "mail/text/text.h"
#include "smtp/server/internal.h"

enum { FIELD_SHOWN_MAX = 40 }; /* bytes of a field's name, in any case */

bool smtp_sender_is_held(const struct smtp_server *s)
{
	return s->head.user != NULL && s->service->sender_rule != SMTP_SENDER_ANY;
}

bool smtp_authors_are_held(const struct smtp_server *s)
{
	return smtp_sender_is_held(s) && s->service->sender_rule == SMTP_SENDER_STRICT;
}

static struct str shown_field(struct str name)
{
	return str_slice(name.data, name.length < FIELD_SHOWN_MAX ? name.length : FIELD_SHOWN_MAX);
}

/* Why the authors are not known. */
static void explain_fault(const struct header_authors *found, struct mail_verdict *verdict_out)
{
	static const char *const faults[] = {
		[HEADER_EDIT_SEVERAL] = "occurs more than once",
		[HEADER_EDIT_BAD] = "has something that is not an address: ",
		[HEADER_EDIT_NONE] = "has no address",
		[HEADER_EDIT_LARGE] = "is too long, or has too many addresses",
	};
	struct buffer text CLEANUP(buffer_clear) = {0};

	mail_text_append(&text, found->text, MAIL_TEXT_8BIT);
	mail_verdict_set(verdict_out, "5.6.0", "The field " STR_FORMAT " %s" STR_FORMAT,
			 STR_ARGUMENTS(shown_field(found->field)), faults[found->fault],
			 STR_ARGUMENTS(buffer_view(&text)));
}

static void explain_refusal(struct str field, const struct mail_verdict *reason,
			    struct mail_verdict *verdict_out)
{
	if (reason->class == MAIL_FAIL)
		mail_verdict_set(verdict_out, reason->status, "Field " STR_FORMAT ": %s",
				 STR_ARGUMENTS(shown_field(field)), reason->text);
	else
		*verdict_out = *reason;
}

/* ADDRESS: what is wrong, or whose it is; empty: no particular one. */
static void keep_refused(struct smtp_transaction *t, struct str field, struct str address)
{
	t->refused_field = arena_copy_str(t->envelope->arena, shown_field(field));
	t->refused_address = arena_copy_str(t->envelope->arena, address);
}

bool smtp_authors_judge(struct smtp_server *s, struct mail_verdict *verdict_out)
{
	struct smtp_transaction *t = s->transaction;
	struct header_authors found = header_edit_authors(t->text.edit);
	const struct mail_verdict *verdict;

	verdict_out->class = MAIL_OK;
	if (found.fault != HEADER_EDIT_GOOD) {
		explain_fault(&found, verdict_out);
		keep_refused(t, found.field, found.text);
		return true;
	}
	for (; t->judged_authors < found.count; t->judged_authors++) {
		struct str field = found.fields[t->judged_authors];
		const struct str *author = &found.addresses[t->judged_authors];

		if (!smtp_ask_senders(s, author, 1, &verdict))
			return false;
		if (verdict->class != MAIL_OK) {
			explain_refusal(field, verdict, verdict_out);
			keep_refused(t, field, *author);
			return true;
		}
	}
	return true;
}
