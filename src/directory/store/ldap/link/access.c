// SPDX-License-Identifier: ISC
#include "directory/store/ldap/link/access.h"
#include "base/panic.h"
#include "directory/store/ldap/dn.h"
#include "os/file/secret.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_ldap_password(const char *path, char **password_out, struct buffer *why)
{
	struct buffer secret = {0};
	int error = os_secret_read(path, &secret);

	if (error == -ENODATA || error == -EFBIG)
		buffer_append_format(why, "password_file %s: its first line is %s", path,
				     error == -ENODATA ? "empty" : "too long");
	else if (error < 0)
		buffer_append_format(why, "password_file %s: %s", path, strerror(-error));
	buffer_append_byte(&secret, '\0');
	if (error == 0)
		*password_out = memory_copy_string(buffer_data(&secret));
	buffer_clear(&secret);
	return error;
}

static char *copy_setting(const char *text)
{
	return text == NULL || text[0] == '\0' ? NULL : memory_copy_string(text);
}

int access_take_servers(const struct store_ldap_settings *given, struct link_server **servers_out,
			size_t *count_out, struct buffer *why)
{
	const char *authority =
		given->authority != NULL && given->authority[0] != '\0' ? given->authority : NULL;
	struct link_server *servers = memory_alloc_zero(given->url_count, sizeof(*servers));
	bool needs_tls = false;
	int error = 0;

	*servers_out = servers;
	*count_out = 0;
	for (size_t i = 0; i < given->url_count && error == 0; i++) {
		error = link_server_parse(given->urls[i], &servers[i], why);
		if (error < 0)
			break;
		++*count_out;
		needs_tls = needs_tls || link_server_needs_tls(&servers[i]);
	}
	if (error == 0 && needs_tls)
		error = link_prepare_tls(authority, why);
	return error;
}

int access_take_login(const struct store_ldap_settings *given, struct link_login *login,
		      struct buffer *why)
{
	struct buffer form = {0};
	int error = dn_normalize(str_from(given->base), &form);

	buffer_clear(&form);
	if (error < 0) {
		buffer_append_format(why, "base \"%s\" is not the name of an entry", given->base);
		return error;
	}
	login->base = memory_copy_string(given->base);
	login->bind_dn = copy_setting(given->bind_dn);
	if (login->bind_dn == NULL)
		return 0;
	if (given->password_file == NULL || given->password_file[0] == '\0') {
		buffer_append_string(why, "bind_dn needs a password_file");
		return -EINVAL;
	}
	return read_ldap_password(given->password_file, (char **)&login->password, why);
}

void access_clear_servers(struct link_server *servers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		link_server_clear(&servers[i]);
	free(servers);
}

void access_clear_login(struct link_login *login)
{
	if (login->password != NULL)
		explicit_bzero((char *)login->password, strlen(login->password));
	free((char *)login->password);
	free((char *)login->base);
	free((char *)login->bind_dn);
	*login = (struct link_login){0};
}
