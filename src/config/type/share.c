// SPDX-License-Identifier: ISC
/* Functions shared by the parsers of several types of settings. */
#include "config/type/type.h"
#include <string.h>
#include <sys/un.h>

const struct config_complaint config_type_fine = {NULL, NULL};

struct config_complaint config_type_complain(const char *message)
{
	return (struct config_complaint){message, NULL};
}

struct config_complaint config_type_keep(const struct config *config, struct str text, void *place)
{
	*(const char **)place = arena_copy(config->arena, text);
	return config_type_fine;
}

void config_type_print_text(const struct config_setting *setting, const void *place,
			    struct buffer *out)
{
	(void)setting;
	buffer_append_string(out, *(const char *const *)place);
}

struct config_complaint config_type_check_socket_path(struct str path)
{
	if (path.length == 0 || path.data[0] != '/')
		return config_type_complain("not an absolute path");
	if (path.length >= sizeof((struct sockaddr_un *)NULL)->sun_path)
		return config_type_complain("path too long for a socket");
	return config_type_fine;
}

struct config_complaint config_type_check_percents(struct str text, const char *letters)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] != '%')
			continue;
		i++;
		if (i == text.length || strchr(letters, text.data[i]) == NULL)
			return config_type_complain("a % that means nothing");
	}
	return config_type_fine;
}

bool config_type_unbracket(struct str *host)
{
	if (host->length <= 2 || host->data[0] != '[' || host->data[host->length - 1] != ']')
		return false;
	*host = str_slice(host->data + 1, host->length - 2);
	return true;
}
