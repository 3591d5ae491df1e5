// SPDX-License-Identifier: ISC
#include "directory/store/ldap/bind.h"
#include "base/panic.h"
#include "directory/store/ldap/link/access.h"
#include "directory/store/ldap/map/map.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

struct store_ldap_binder {
	struct link_server *servers;
	size_t server_count;
	struct link_login login;
	struct entry_map *map;
};

/* --- memory that libldap frees may have held a password --- */

/* In front of each piece. */
union size {
	size_t bytes;
	max_align_t aligned;
};

static void *alloc_ber_memory(ber_len_t size, void *context)
{
	union size *piece = malloc(sizeof *piece + size);

	(void)context;
	if (piece == NULL)
		return NULL;
	piece->bytes = size;
	return piece + 1;
}

static void *alloc_zero(ber_len_t count, ber_len_t size, void *context)
{
	void *memory = size > 0 && count > SIZE_MAX / 2 / size
			       ? NULL
			       : alloc_ber_memory(count * size, context);

	if (memory != NULL)
		memset(memory, 0, count * size);
	return memory;
}

static void free_erased(void *memory, void *context)
{
	union size *piece = (union size *)memory - 1;

	(void)context;
	if (memory == NULL)
		return;
	explicit_bzero(memory, piece->bytes);
	free(piece);
}

static void *resize_ber_memory(void *memory, ber_len_t size, void *context)
{
	size_t before = memory == NULL ? 0 : ((union size *)memory - 1)->bytes;
	void *result = alloc_ber_memory(size, context);

	if (result == NULL)
		return NULL;
	if (before > 0)
		memcpy(result, memory, before < size ? before : size);
	free_erased(memory, context);
	return result;
}

static void erase_what_is_freed(void)
{
	static BerMemoryFunctions functions = {alloc_ber_memory, alloc_zero, resize_ber_memory,
					       free_erased};

	(void)ber_set_option(NULL, LBER_OPT_MEMORY_FNS, &functions);
}

/* --- */

void store_ldap_binder_free(struct store_ldap_binder *binder)
{
	if (binder == NULL)
		return;
	access_clear_servers(binder->servers, binder->server_count);
	access_clear_login(&binder->login);
	entry_map_free(binder->map);
	free(binder);
}

int store_ldap_binder_new(const struct store_ldap_settings *settings,
			  struct store_ldap_binder **binder_out, struct buffer *why)
{
	struct store_ldap_binder *binder = memory_alloc_zero(1, sizeof(*binder));
	int error;

	erase_what_is_freed();
	error = access_take_servers(settings, &binder->servers, &binder->server_count, why);
	if (error == 0)
		error = access_take_login(settings, &binder->login, why);
	if (error == 0)
		error = entry_map_new(settings->map, settings->map_count, &binder->map, why);
	if (error < 0)
		store_ldap_binder_free(binder);
	else
		*binder_out = binder;
	return error;
}

/* RFC 4515 section 3. */
static void append_filter_value(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '*' || c == '(' || c == ')' || c == '\\' || c < ' ' || c >= 0x7f)
			buffer_append_format(out, "\\%02x", c);
		else
			buffer_append_byte(out, (char)c);
	}
}

/* With a NUL. False: no attribute has the name. */
static bool append_filter(const struct store_ldap_binder *binder, struct str user,
			  struct buffer *out)
{
	const struct str *names;
	size_t count = entry_map_names(binder->map, CONFIG_MAP_USER_KEY, &names);

	buffer_append_string(out, "(|");
	for (size_t i = 0; i < count; i++) {
		buffer_append_format(out, "(" STR_FORMAT "=", STR_ARGUMENTS(names[i]));
		append_filter_value(out, user);
		buffer_append_byte(out, ')');
	}
	buffer_append_string(out, ")");
	buffer_append_byte(out, '\0');
	return count > 0;
}

/* The name of the user's entry, which the caller frees; NULL: none, or several. */
static int find_entry(const struct store_ldap_binder *binder, LDAP *ld, struct str user,
		      char **dn_out)
{
	struct timeval patience = {.tv_sec = LINK_PATIENCE_S};
	struct buffer filter CLEANUP(buffer_clear) = {0};
	char *nothing[] = {(char *)LDAP_NO_ATTRS, NULL};
	LDAPMessage *found = NULL;
	int code;

	*dn_out = NULL;
	if (!append_filter(binder, user, &filter))
		return LDAP_SUCCESS;
	link_allow(ld, LINK_PATIENCE_S);
	code = ldap_search_ext_s(ld, binder->login.base, LDAP_SCOPE_SUBTREE, buffer_data(&filter),
				 nothing, 1, NULL, NULL, &patience, 2, &found);
	if (code == LDAP_SUCCESS && ldap_count_entries(ld, found) == 1)
		*dn_out = ldap_get_dn(ld, ldap_first_entry(ld, found));
	(void)ldap_msgfree(found);
	return code == LDAP_SIZELIMIT_EXCEEDED || code == LDAP_NO_SUCH_OBJECT ? LDAP_SUCCESS : code;
}

static int try_password(LDAP *ld, const char *dn, struct str password)
{
	struct berval secret = {.bv_len = password.length, .bv_val = (char *)password.data};

	link_allow(ld, LINK_PATIENCE_S);
	return ldap_sasl_bind_s(ld, dn, LDAP_SASL_SIMPLE, &secret, NULL, NULL, NULL);
}

/* Whether CODE says that the password is not the user's, or that he may not log in. */
static bool is_refusal_code(int code)
{
	return code == LDAP_INVALID_CREDENTIALS || code == LDAP_INAPPROPRIATE_AUTH ||
	       code == LDAP_NO_SUCH_OBJECT || code == LDAP_INSUFFICIENT_ACCESS ||
	       code == LDAP_CONSTRAINT_VIOLATION || code == LDAP_UNWILLING_TO_PERFORM;
}

static enum store_ldap_bound ask_server_to_bind(const struct store_ldap_binder *binder,
						const struct link_server *server, struct str user,
						struct str password, struct buffer *why)
{
	enum store_ldap_bound bound = STORE_LDAP_NO_ANSWER;
	LDAP *ld = NULL;
	char *dn = NULL;
	int code = link_open(server, &binder->login, &ld, why);

	if (code != LDAP_SUCCESS)
		return STORE_LDAP_NO_ANSWER;
	code = find_entry(binder, ld, user, &dn);
	if (code == LDAP_SUCCESS && dn == NULL)
		bound = STORE_LDAP_WRONG;
	else if (code == LDAP_SUCCESS)
		code = try_password(ld, dn, password);
	if (dn != NULL && code == LDAP_SUCCESS)
		bound = STORE_LDAP_RIGHT;
	else if (dn != NULL && is_refusal_code(code))
		bound = STORE_LDAP_WRONG;
	if (bound == STORE_LDAP_NO_ANSWER)
		link_describe(ld, code, why);
	ldap_memfree(dn);
	link_close(ld);
	return bound;
}

/* An empty password is an anonymous bind, which succeeds (RFC 4513 section 5.1.2). */
enum store_ldap_bound store_ldap_bind(const struct store_ldap_binder *binder, struct str user,
				      struct str password, struct buffer *why)
{
	enum store_ldap_bound bound = STORE_LDAP_NO_ANSWER;

	if (password.length == 0)
		return STORE_LDAP_WRONG;
	for (size_t i = 0; i < binder->server_count && bound == STORE_LDAP_NO_ANSWER; i++) {
		buffer_append_format(why, "%s%s: ", why->length > 0 ? "; " : "",
				     binder->servers[i].url);
		bound = ask_server_to_bind(binder, &binder->servers[i], user, password, why);
	}
	return bound;
}
