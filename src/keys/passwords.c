// SPDX-License-Identifier: ISC
#include "keys/passwords.h"
#include "keys/read.h"
#include <errno.h>

enum { FILE_SIZE_MAX = 1 << 20, PORT_USUAL = 25 };

struct wanted {
	struct str relay;
	uint16_t port;
	struct str user;
};

static bool is_route(const struct config_route *route, const struct wanted *wanted)
{
	return *route->user != '\0' && route->port == wanted->port &&
	       str_equal(str_from(route->relay), wanted->relay) &&
	       str_equal(str_from(route->user), wanted->user);
}

/* "[192.0.2.1]" may also be written without the brackets. */
static bool is_relay(struct str text, struct str relay)
{
	if (str_equal_nocase(text, relay))
		return true;
	return relay.length > 2 && relay.data[0] == '[' &&
	       str_equal_nocase(text, str_slice(relay.data + 1, relay.length - 2));
}

/* RELAY|USER|PASSWORD or RELAY;PORT|USER|PASSWORD */
static bool is_wanted_password_line(struct str line, const struct wanted *wanted,
				    struct str *password_out)
{
	uint64_t port = PORT_USUAL;
	struct str server;
	struct str relay;
	struct str user;

	if (line.length == 0 || line.data[0] == '#' || !str_split(&line, '|', &server) ||
	    !str_split(&line, '|', &user) || line.data == NULL)
		return false;
	if (!str_split(&server, ';', &relay) || (server.data != NULL && !str_to_u64(server, &port)))
		return false;
	*password_out = line;
	return port == wanted->port && is_relay(relay, wanted->relay) &&
	       str_equal(user, wanted->user);
}

static int find_line(struct str text, const struct wanted *wanted, struct buffer *password,
		     struct buffer *reason)
{
	struct str line;
	struct str found;

	while (text.length > 0 && str_split(&text, '\n', &line)) {
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		if (!is_wanted_password_line(line, wanted, &found))
			continue;
		if (found.length > 0 && found.length <= CONFIG_PASSWORD_MAX &&
		    str_find(found, '\0') < 0) {
			buffer_append_str(password, found);
			return 0;
		}
		buffer_append_format(reason, "the password is empty or longer than %d bytes",
				     CONFIG_PASSWORD_MAX);
		return -EINVAL;
	}
	buffer_append_string(reason, "it has no line for this relay, port and user");
	return -ENOENT;
}

static int find_in_file(const char *path, const struct wanted *wanted, struct buffer *password,
			struct buffer *reason)
{
	struct buffer text = {0};
	int error = keys_read_secret(path, FILE_SIZE_MAX, &text, reason);

	if (error == 0)
		error = find_line(buffer_view(&text), wanted, password, reason);
	buffer_clear(&text);
	return error;
}

int keys_password_find(const struct config *config, struct str relay, uint16_t port,
		       struct str user, struct buffer *password, struct buffer *reason)
{
	const struct wanted wanted = {relay, port, user};
	const struct config_route *route;
	bool is_known = false;

	for (size_t i = 0; (route = config_login_route(config, i)) != NULL; i++) {
		if (!is_route(route, &wanted))
			continue;
		is_known = true;
		if (*route->password == '\0')
			continue;
		buffer_append_string(password, route->password);
		return 0;
	}
	if (is_known && *config->relay_passwords != '\0')
		return find_in_file(config->relay_passwords, &wanted, password, reason);
	buffer_append_string(reason,
			     is_known ? "relay_passwords is not set" : "no route has this user");
	return -ENOENT;
}
