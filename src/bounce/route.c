// SPDX-License-Identifier: ISC
/* The recipient of a report, and whether it is wanted (RFC 3461). */
#include "bounce/report.h"
#include "mail/verp.h"

enum bounce_decision bounce_route(struct str original_sender, const struct config *config,
				  struct str *sender_out, struct str *recipient_out)
{
	if (str_equal(original_sender, STR(BOUNCE_SENDER_DOUBLE)))
		return BOUNCE_DROP;
	if (original_sender.length > 0) {
		*sender_out = STR("");
		*recipient_out = mail_verp_whole(original_sender);
		return BOUNCE_SEND;
	}
	if (config->doublebounceto[0] == '\0')
		return BOUNCE_DROP;
	*sender_out = STR(BOUNCE_SENDER_DOUBLE);
	*recipient_out = str_from(config->doublebounceto);
	return BOUNCE_SEND;
}

bool bounce_is_wanted(unsigned notify)
{
	return notify == 0 || (notify & MAIL_NOTIFY_FAILURE) != 0;
}

bool bounce_is_success_wanted(unsigned notify)
{
	return (notify & MAIL_NOTIFY_SUCCESS) != 0;
}

bool bounce_is_delay_wanted(unsigned notify, bool by_default)
{
	return notify == 0 ? by_default : (notify & MAIL_NOTIFY_DELAY) != 0;
}
