// SPDX-License-Identifier: ISC
/* What the client has sent in its login, which nobody is to see, and its end. */
#include "smtp/client/internal.h"
#include <string.h>

/* Shorter parts of what was sent may stand in a reply by chance. */
enum { REPEATED_MIN = 3 };

bool client_secret_is_repeated(const struct smtp_client *client)
{
	struct str reply = buffer_view(&client->reply.text);
	struct str rest = buffer_view(&client->login.sent);
	struct str part;

	while (rest.length > 0 && str_split(&rest, '\0', &part))
		if (part.length >= REPEATED_MIN &&
		    memmem(reply.data, reply.length, part.data, part.length) != NULL)
			return true;
	return false;
}

void client_secret_forget(struct smtp_client *client)
{
	buffer_clear(&client->login.challenge);
	buffer_clear(&client->login.initial);
	buffer_clear(&client->login.sent);
}
