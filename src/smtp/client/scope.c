// SPDX-License-Identifier: ISC
#include "smtp/client/scope.h"
#include "base/attributes.h"
#include <stddef.h>

#define AT(place) (1U << SMTP_CLIENT_AT_##place)

static const unsigned COMMANDS = AT(MAIL) | AT(RECIPIENT) | AT(DATA);

static bool is_anything(const struct smtp_client_refusal *refusal)
{
	(void)refusal;
	return true;
}

static bool is_of_transaction(const struct smtp_client_refusal *refusal)
{
	return refusal->phase == SMTP_CLIENT_AT_RECIPIENT && refusal->is_too_many &&
	       refusal->has_accepted;
}

/* At DATA those who are refused are the accepted ones. */
static bool is_of_session(const struct smtp_client_refusal *refusal)
{
	return refusal->has_taken && refusal->is_alike &&
	       (refusal->phase != SMTP_CLIENT_AT_RECIPIENT || !refusal->has_accepted);
}

static bool is_last(const struct smtp_client_refusal *refusal)
{
	return refusal->is_last;
}

static bool is_only(const struct smtp_client_refusal *refusal)
{
	return refusal->is_only;
}

static bool is_of_others(const struct smtp_client_refusal *refusal)
{
	return refusal->is_of_others &&
	       (refusal->phase != SMTP_CLIENT_AT_RECIPIENT || !refusal->has_accepted);
}

/* The table of the header. */
static const struct {
	unsigned places;
	bool (*applies)(const struct smtp_client_refusal *refusal);
	enum smtp_client_scope scope;
} scope_rows[] = {
	{AT(OPENING), is_anything, SMTP_CLIENT_OF_HOST},
	{COMMANDS, is_of_transaction, SMTP_CLIENT_OF_TRANSACTION},
	{COMMANDS, is_of_session, SMTP_CLIENT_OF_SESSION},
	{AT(MAIL), is_only, SMTP_CLIENT_OF_SENDER},
	{AT(MAIL), is_last, SMTP_CLIENT_OF_HOST},
	{COMMANDS | AT(END), is_of_others, SMTP_CLIENT_OF_HOST},
	{AT(MAIL), is_anything, SMTP_CLIENT_OF_SENDER},
	{AT(RECIPIENT), is_anything, SMTP_CLIENT_OF_RECIPIENT},
	{AT(DATA) | AT(END), is_anything, SMTP_CLIENT_OF_MESSAGE},
};

enum smtp_client_scope smtp_client_scope_of(const struct smtp_client_refusal *refusal)
{
	size_t row = 0;

	while ((scope_rows[row].places & 1U << refusal->phase) == 0 ||
	       !scope_rows[row].applies(refusal))
		row++;
	return scope_rows[row].scope;
}
