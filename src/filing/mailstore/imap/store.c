// SPDX-License-Identifier: ISC
/* Logins of users, and the connections that are kept for them. */
#include "base/text/quote.h"
#include "filing/mailstore/imap/internal.h"
#include "mail/template.h"
#include "os/clock.h"
#include <errno.h>

/* ---- logins ---- */

/* The login for USER, with a NUL; false: there can be none. */
static bool expand_login(const char *login, struct str user, struct buffer *out)
{
	struct mail_parts parts = mail_parts_of(user);
	struct buffer local CLEANUP(buffer_clear) = {0};
	struct mail_template_values values = {.address = user, .domain = parts.domain};

	mail_local_unquote(parts.local, &local);
	values.user = buffer_view(&local);
	if (mail_template_fill(MAIL_TEMPLATE_LOGIN, login, &values, out) < 0)
		return false;
	buffer_append_byte(out, '\0');
	return true;
}

/* ---- connections ---- */

/* Takes the connection that is kept for LOGIN out of the store; NULL: none. */
static struct imap_connection *take_kept(struct imap_store *store, const char *login)
{
	for (size_t i = 0; i < IMAP_CONNECTIONS; i++) {
		struct imap_connection *connection = store->connections[i];

		if (connection == NULL || strcmp(connection->login, login) != 0)
			continue;
		store->connections[i] = NULL;
		return connection;
	}
	return NULL;
}

/* Keeps CONNECTION in place of the one that was used the longest time ago. */
static void keep_imap_connection(struct imap_store *store, struct imap_connection *connection)
{
	size_t oldest = 0;

	connection->used_us = os_clock_monotonic_us();
	for (size_t i = 0; i < IMAP_CONNECTIONS && store->connections[oldest] != NULL; i++)
		if (store->connections[i] == NULL ||
		    store->connections[i]->used_us < store->connections[oldest]->used_us)
			oldest = i;
	imap_connection_close(store->connections[oldest]);
	store->connections[oldest] = connection;
}

static void end_use(struct imap_store *store, struct imap_connection *connection, int result)
{
	if (result < 0)
		mailstore_error_set(&store->store, "IMAP server %s: %s", store->settings.host,
				    connection->problem);
	if (connection->is_broken)
		imap_connection_close(connection);
	else
		keep_imap_connection(store, connection);
}

int imap_store_with(struct imap_store *store, struct str user, imap_store_run *run, void *context)
{
	struct buffer login CLEANUP(buffer_clear) = {0};
	struct imap_connection *connection;
	int result;

	if (!expand_login(store->settings.login, user, &login)) {
		mailstore_error_set(&store->store, "Not a valid user name");
		return -EINVAL;
	}
	connection = take_kept(store, buffer_data(&login));
	if (connection != NULL) {
		result = run(connection, context);
		if (result != -ENOTCONN) {
			end_use(store, connection, result);
			return result;
		}
		imap_connection_close(connection);
	}
	result = imap_connection_open(&store->settings, buffer_data(&login), &connection);
	if (result == 0)
		result = imap_command_ask(connection);
	/* a login that is refused may be one user's */
	store->store.is_away = result < 0 && result != -EACCES;
	if (result == 0)
		result = run(connection, context);
	end_use(store, connection, result);
	return result;
}

static int do_nothing(struct imap_connection *connection, void *context)
{
	(void)connection;
	(void)context;
	return 0;
}

void imap_store_judge(struct imap_store *store, struct str user, int result)
{
	bool was_lost = result == -ENOTCONN || result == -ECONNABORTED || result == -ETIMEDOUT;

	/* of this user none is kept now */
	if (was_lost && !store->store.is_away)
		(void)!imap_store_with(store, user, do_nothing, NULL);
}

int imap_store_refuse(struct imap_connection *connection, int error, const char *what,
		      const struct imap_answer *answer)
{
	bool was_broken = connection->is_broken;

	(void)imap_connection_break(connection, error, "%s%s" STR_FORMAT, what,
				    answer->text.length > 0 ? ": " : "",
				    STR_ARGUMENTS(answer->text));
	connection->is_broken = was_broken;
	return error;
}

/* Appends what the server wants before NAME, unless that has it already, as folders may be written
 * so ("INBOX.Sent"). */
static void add_prefix(const struct imap_connection *connection, struct str name,
		       struct buffer *out)
{
	struct str prefix = str_from(connection->settings->prefix);
	struct str given = str_from(connection->prefix);

	if (prefix.length > 0)
		buffer_append_str(out, prefix);
	else if (name.length <= given.length ||
		 !str_equal_nocase(str_slice(name.data, given.length), given))
		buffer_append_str(out, given);
	buffer_append_str(out, name);
}

int imap_store_name(struct imap_connection *connection, const struct mailstore_location *location,
		    struct buffer *out)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct buffer whole CLEANUP(buffer_clear) = {0};
	int result = 0;

	if (mailstore_folder_is_inbox(location->folder)) {
		buffer_append_string(&whole, "INBOX");
	} else {
		/* without levels any '/' is one too many */
		result = connection->separator == '\0' && str_find(location->folder, '/') >= 0
				 ? -EINVAL
				 : mailstore_folder_append(location->folder, connection->separator,
							   &name);
		add_prefix(connection, buffer_view(&name), &whole);
	}
	if (result < 0)
		return imap_store_refuse(connection, result, "not a valid folder name",
					 &(struct imap_answer){.text = location->folder});
	quote_append(out, buffer_view(&whole));
	return 0;
}
