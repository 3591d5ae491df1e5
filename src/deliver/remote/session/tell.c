// SPDX-License-Identifier: ISC
#include "deliver/remote/session/tell.h"
#include "base/panic.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include "transcript/transcript.h"
#include <stdlib.h>

struct remote_tell {
	char *peer;
	char *host;
	bool has_address;
	struct in6_addr address;
	struct mail_domain destination;
	uint64_t session;
};

struct remote_tell *remote_tell_new(const char *peer, const struct dns_server *server)
{
	struct remote_tell *tell = memory_alloc_zero(1, sizeof *tell);

	tell->peer = memory_copy_string(peer);
	tell->host = memory_copy_string(server->host);
	tell->has_address = server->address.any.sa_family != AF_UNIX;
	tell->address = os_socket_address_mapped(&server->address);
	return tell;
}

void remote_tell_free(struct remote_tell *tell)
{
	free(tell->peer);
	free(tell->host);
	free(tell);
}

void remote_tell_destination(struct remote_tell *tell, struct str address)
{
	(void)mail_domain_form(mail_parts_of(address).domain, &tell->destination);
}

void remote_tell_line(struct remote_tell *tell, enum smtp_said by, struct str line)
{
	static const enum transcript_side sides[] = {
		[SMTP_SAID_BY_CLIENT] = TRANSCRIPT_CLIENT,
		[SMTP_SAID_BY_SERVER] = TRANSCRIPT_SERVER,
		[SMTP_SAID_NOTHING] = TRANSCRIPT_NOTE,
	};
	const struct transcript_peer peer = {
		.shown = tell->peer,
		.address = tell->has_address ? &tell->address : NULL,
		.names = {mail_domain_view(&tell->destination), str_from(tell->host)},
	};

	transcript_line(&tell->session, &peer, sides[by], line);
}
