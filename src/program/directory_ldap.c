// SPDX-License-Identifier: ISC
/* directory-ldap - serves the address directory from LDAP. */
#include "directory/store/ldap/ldap.h"
#include "log/event.h"
#include "program/kind/directory.h"

static struct directory_store *made; /* by open(), before there is a state */

static int open_ldap_files(struct child *child)
{
	const struct config_directory *config = &child->config->directory;
	const struct store_ldap_settings settings = {.path = config->path,
						     .urls = config->urls,
						     .url_count = config->url_count,
						     .base = config->base,
						     .bind_dn = config->bind_dn,
						     .password_file = config->password_file,
						     .authority = config->authority,
						     .map = config->map,
						     .map_count = config->map_count,
						     .ttl_us = config->ttl_us};
	struct buffer why CLEANUP(buffer_clear) = {0};
	int error = store_ldap_new(child->loop, &settings, &made, &why);

	if (error < 0)
		log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "open"),
			  log_str(reason, buffer_view(&why)), log_error(error));
	return error;
}

static int open_ldap_store(struct child *child, const struct peer_network *network,
			   struct directory_store **store_out, struct buffer *why)
{
	int error = store_ldap_open(made, why);

	(void)child;
	(void)network;
	if (error < 0)
		made->operations->free(made);
	else
		*store_out = made;
	return error;
}

int main(int argc, char **argv)
{
	static const struct directory_backend backend = {"directory-ldap", open_ldap_files,
							 open_ldap_store};

	return directory_process_main(argc, argv, &backend);
}
