// SPDX-License-Identifier: ISC
/*
 * What a refusal means. Servers older than RFC 5530, and some of today, answer NO and a sentence:
 * those of Cyrus, Courier, Dovecot, Exchange, hMailServer and Zimbra are below. A refusal that is
 * not understood is a reason to wait.
 */
#include "filing/mailstore/imap/internal.h"
#include <stdio.h>
#include <strings.h>

struct meaning {
	const char *sign;  /* a code, or words */
	const char *other; /* further words; NULL: none */
	const char *status;
	bool is_refused; /* it concerns the folder */
};

/* RFC 5530, 9051 (TOOBIG, OVERQUOTA), 4469; TRYCREATE comes here if a mailbox that was made is
 * not there. */
static const struct meaning codes[] = {
	{"OVERQUOTA", NULL, "4.2.2", false},   {"TOOBIG", NULL, "5.2.3", false},
	{"NOPERM", NULL, "5.7.1", true},       {"CANNOT", NULL, "5.1.3", true},
	{"NONEXISTENT", NULL, "4.2.1", true},  {"TRYCREATE", NULL, "4.2.1", true},
	{"UNAVAILABLE", NULL, "4.3.0", false}, {"INUSE", NULL, "4.3.0", false},
	{"SERVERBUG", NULL, "4.3.0", false},   {"EXPIRED", NULL, "4.3.0", false},
	{"LIMIT", NULL, "4.3.0", false},       {"CORRUPTION", NULL, "4.3.0", true},
};

/* Of NO without such a code; the first row that fits. Both words have to be there, without case.
 * That a permission is missing may be an operator's mistake, which the message survives. */
static const struct meaning refusal_words[] = {
	{"quota", "exceed", "4.2.2", false}, /* Courier, Dovecot, hMailServer, Zimbra */
	{"over", "quota", "4.2.2", false},   /* Cyrus */
	{"quota", "full", "4.2.2", false},
	{"quota", "reached", "4.2.2", false},
	{"mailbox", "full", "4.2.2", false},
	{"storage limit", NULL, "4.2.2", false},
	{"message", "too large", "5.2.3", false},
	{"message", "too big", "5.2.3", false},
	{"message size", "exceed", "5.2.3", false}, /* Cyrus, Zimbra, hMailServer */
	{"maximum message size", NULL, "5.2.3", false},
	{"invalid header", NULL, "5.6.0", false}, /* Cyrus: five sentences */
	{"message contains", "nul", "5.6.0", false},
	{"message contains", "bare newline", "5.6.0", false},
	{"message contains", "non-ascii", "5.6.0", false},
	{"header/body separator", NULL, "5.6.0", false},
	{"permission denied", NULL, "4.7.0", true}, /* Cyrus */
	{"access denied", NULL, "4.7.0", true},
	{"not permitted", NULL, "4.7.0", true},
	{"not allowed", NULL, "4.7.0", true},
	{"read-only", NULL, "4.7.0", true},
	{"invalid mailbox name", NULL, "4.2.1", true}, /* Cyrus, Courier */
	{"invalid folder", NULL, "4.2.1", true},
};

void imap_refusal_take(const struct imap_answer *answer, bool is_of_create,
		       struct imap_refusal *out)
{
	*out = (struct imap_refusal){.is_of_create = is_of_create,
				     .is_no = answer->status == IMAP_NO};
	snprintf(out->code, sizeof out->code, STR_FORMAT, STR_ARGUMENTS(answer->code));
	snprintf(out->text, sizeof out->text, STR_FORMAT, STR_ARGUMENTS(answer->text));
}

static const struct meaning *find_response_code(const char *code)
{
	for (size_t i = 0; i < COUNT_OF(codes); i++)
		if (strcasecmp(codes[i].sign, code) == 0)
			return &codes[i];
	return NULL;
}

/* Without case. */
static bool has_part_nocase(const char *text, const char *part)
{
	struct str wanted = str_from(part);
	struct str rest = str_from(text);

	for (; rest.length >= wanted.length; rest = str_skip(rest, 1))
		if (str_equal_nocase(str_slice(rest.data, wanted.length), wanted))
			return true;
	return false;
}

static const struct meaning *find_words(const char *text)
{
	for (size_t i = 0; i < COUNT_OF(refusal_words); i++)
		if (has_part_nocase(text, refusal_words[i].sign) &&
		    (refusal_words[i].other == NULL ||
		     has_part_nocase(text, refusal_words[i].other)))
			return &refusal_words[i];
	return NULL;
}

/* ---- the quota ---- */

struct quota {
	uint64_t size; /* of the message */
	bool is_over;
};

/* "QUOTA "user.ann" (STORAGE 10 512 MESSAGE 7 7)": used and limit, in KiB */
static void take_imap_quota(void *context, const struct imap_response *response)
{
	struct quota *quota = context;
	ptrdiff_t open = str_find_last(response->text, '(');
	struct str text = response->text;

	if (!imap_is(imap_word(&text), "QUOTA") || open < 0)
		return;
	text = str_skip(response->text, (size_t)open + 1);
	while (text.length > 0 && *text.data != ')') {
		struct str name = imap_word(&text);
		uint64_t used;
		uint64_t limit;

		if (!str_to_u64(imap_word(&text), &used) || !str_to_u64(imap_word(&text), &limit))
			return;
		if (imap_is(name, "STORAGE"))
			quota->is_over |= used >= limit || quota->size / 1024 >= limit - used;
		if (imap_is(name, "MESSAGE"))
			quota->is_over |= used >= limit;
	}
}

/* Whether SIZE bytes more are beyond the quota: 1, 0 or -errno. */
static int is_over_quota(struct imap_connection *connection, uint64_t size, struct str name)
{
	struct buffer command CLEANUP(buffer_clear) = {0};
	struct quota quota = {.size = size};
	struct imap_answer answer;
	int result;

	buffer_append_format(&command, "GETQUOTAROOT " STR_FORMAT, STR_ARGUMENTS(name));
	buffer_append_byte(&command, '\0');
	result = imap_command(connection, buffer_data(&command), 0, take_imap_quota, &quota,
			      &answer);
	return result == 0 ? quota.is_over : result;
}

/* ---- all together ---- */

/* A mailbox that cannot be made is refused, unless that is a matter of time. */
static bool is_refused_create(const struct imap_refusal *refusal, const struct meaning *code)
{
	return refusal->is_of_create && refusal->is_no && (code == NULL || code->is_refused);
}

int imap_refusal_judge(struct imap_connection *connection, const struct imap_refusal *refusal,
		       struct mailstore_append *append, uint64_t size, struct str name)
{
	static const struct meaning unknown = {"", NULL, "4.3.0", false};
	static const struct meaning over = {"", NULL, "4.2.2", false};
	const struct meaning *code = refusal->is_no ? find_response_code(refusal->code) : &unknown;
	const struct meaning *meaning = code;
	const char *status;

	if (meaning == NULL && !refusal->is_of_create && connection->has_quota) {
		int is_over = is_over_quota(connection, size, name);

		if (is_over < 0)
			return is_over;
		meaning = is_over ? &over : NULL;
	}
	if (meaning == NULL)
		meaning = find_words(refusal->text);
	if (meaning == NULL)
		meaning = &unknown;
	status = meaning->status;
	if (append->refuses_over_quota && strcmp(status, "4.2.2") == 0)
		status = "5.2.2";
	append->is_refused = meaning->is_refused || is_refused_create(refusal, code);
	mail_verdict_set(&append->verdict, status, "The IMAP server answered: %s", refusal->text);
	return 0;
}
