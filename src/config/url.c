// SPDX-License-Identifier: ISC
/* The parts of an HTTPS URL. */
#include "config/config.h"
#include "mail/host.h"

bool config_url_split(struct str url, struct str *host_out, uint16_t *port_out,
		      struct str *path_out)
{
	struct str rest = str_skip(url, 8);
	ptrdiff_t slash = str_find(rest, '/');
	struct str host;
	struct str port;
	uint64_t number = 443;

	if (!str_starts_with(url, STR("https://")) || slash <= 0)
		return false;
	*path_out = str_skip(rest, (size_t)slash);
	for (size_t i = 0; i < path_out->length; i++)
		if (path_out->data[i] <= ' ' || path_out->data[i] > '~' || path_out->data[i] == '#')
			return false;
	port = str_slice(rest.data, (size_t)slash);
	(void)str_split(&port, ':', &host);
	if (port.data != NULL && (!str_to_u64(port, &number) || number < 1 || number > 65535))
		return false;
	*host_out = host;
	*port_out = (uint16_t)number;
	return mail_host_is_name(host);
}
