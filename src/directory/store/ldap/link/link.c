// SPDX-License-Identifier: ISC
#include "directory/store/ldap/link/link.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/link/deadline.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static const char SYSTEM_AUTHORITIES[] = "/etc/ssl/certs/ca-certificates.crt";
static const char NO_TLS[] = "x-no-tls";
static const char START_TLS[] = "StartTLS";

/* --- URLs --- */

static bool is_this_machine(const char *host)
{
	return host == NULL || strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
	       strcmp(host, "::1") == 0;
}

static bool has_extension(const LDAPURLDesc *url, const char *name)
{
	for (char **word = url->lud_exts; word != NULL && *word != NULL; word++)
		if (strcasecmp(*word, name) == 0)
			return true;
	return false;
}

static const char *complaint_about_url(const LDAPURLDesc *url)
{
	if (url->lud_dn != NULL && url->lud_dn[0] != '\0')
		return "where to search is said by the setting base, not by the URL";
	if (url->lud_attrs != NULL || (url->lud_filter != NULL && url->lud_filter[0] != '\0'))
		return "what is searched is said by the setting map, not by the URL";
	for (char **word = url->lud_exts; word != NULL && *word != NULL; word++)
		if (strcasecmp(*word, NO_TLS) != 0 && strcasecmp(*word, START_TLS) != 0)
			return "the extensions of a URL are StartTLS and x-no-tls";
	if (strcasecmp(url->lud_scheme, "ldap") != 0 && strcasecmp(url->lud_scheme, "ldaps") != 0 &&
	    strcasecmp(url->lud_scheme, "ldapi") != 0)
		return "the scheme is ldap, ldaps or ldapi";
	return NULL;
}

static bool is_ldaps(const LDAPURLDesc *url)
{
	return strcasecmp(url->lud_scheme, "ldaps") == 0;
}

/* For ldaps, only the part before TLS: our layer is added in between. */
static char *print_uri(const LDAPURLDesc *url)
{
	LDAPURLDesc plain = {.lud_scheme = is_ldaps(url) ? "ldap" : url->lud_scheme,
			     .lud_host = url->lud_host,
			     .lud_port = is_ldaps(url) && url->lud_port == 0 ? LDAPS_PORT
									     : url->lud_port,
			     .lud_scope = LDAP_SCOPE_DEFAULT};
	char *uri = ldap_url_desc2str(&plain);
	char *copy;

	if (uri == NULL)
		panic("out of memory");
	copy = memory_copy_string(uri);
	ldap_memfree(uri);
	return copy;
}

static bool needs_start(const LDAPURLDesc *url)
{
	return strcasecmp(url->lud_scheme, "ldap") == 0 &&
	       (has_extension(url, START_TLS) ||
		(!is_this_machine(url->lud_host) && !has_extension(url, NO_TLS)));
}

int link_server_parse(const char *url, struct link_server *server_out, struct buffer *why)
{
	LDAPURLDesc *parsed = NULL;
	const char *wrong;

	if (ldap_url_parse(url, &parsed) != LDAP_URL_SUCCESS) {
		buffer_append_format(why, "\"%s\" is not ldap://HOST, ldaps://HOST or ldapi://",
				     url);
		return -EINVAL;
	}
	wrong = complaint_about_url(parsed);
	if (wrong != NULL) {
		buffer_append_format(why, "\"%s\": %s", url, wrong);
		ldap_free_urldesc(parsed);
		return -EINVAL;
	}
	*server_out = (struct link_server){.url = memory_copy_string(url),
					   .uri = print_uri(parsed),
					   .is_tls = is_ldaps(parsed),
					   .starts_tls = needs_start(parsed)};
	ldap_free_urldesc(parsed);
	return 0;
}

void link_server_clear(struct link_server *server)
{
	free(server->url);
	free(server->uri);
	*server = (struct link_server){0};
}

bool link_server_needs_tls(const struct link_server *server)
{
	return server->starts_tls || server->is_tls;
}

/* --- connections --- */

int link_prepare_tls(const char *authority, struct buffer *why)
{
	const char *file = authority != NULL ? authority : SYSTEM_AUTHORITIES;
	const int demand = LDAP_OPT_X_TLS_DEMAND;
	const int oldest = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2;
	const int client = 0;

	if (ldap_set_option(NULL, LDAP_OPT_X_TLS_CACERTFILE, file) == LDAP_OPT_SUCCESS &&
	    ldap_set_option(NULL, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand) == LDAP_OPT_SUCCESS &&
	    ldap_set_option(NULL, LDAP_OPT_X_TLS_PROTOCOL_MIN, &oldest) == LDAP_OPT_SUCCESS &&
	    ldap_set_option(NULL, LDAP_OPT_X_TLS_NEWCTX, &client) == LDAP_OPT_SUCCESS)
		return 0;
	buffer_append_format(why, "%s: cannot be used to check the servers' certificates", file);
	return -EINVAL;
}

void link_describe(LDAP *ld, int code, struct buffer *why)
{
	char *said = NULL;

	buffer_append_format(why, "%s (%d)", ldap_err2string(code), code);
	if (ld != NULL)
		(void)ldap_get_option(ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &said);
	if (said != NULL && said[0] != '\0')
		buffer_append_format(why, ": %.200s", said);
	ldap_memfree(said);
}

/* libldap would allocate whatever length a server announces. */
static void bound_messages(LDAP *ld)
{
	ber_len_t most = LINK_MESSAGE_MAX;
	Sockbuf *stream = NULL;

	if (ldap_get_option(ld, LDAP_OPT_SOCKBUF, &stream) == LDAP_OPT_SUCCESS && stream != NULL)
		(void)ber_sockbuf_ctrl(stream, LBER_SB_OPT_SET_MAX_INCOMING, &most);
}

static void set_ldap_options(LDAP *ld)
{
	const struct timeval patience = {.tv_sec = LINK_PATIENCE_S};
	const int version = LDAP_VERSION3;
	const unsigned unsent_ms = LINK_PATIENCE_S * 1000;

	(void)ldap_set_option(ld, LDAP_OPT_PROTOCOL_VERSION, &version);
	(void)ldap_set_option(ld, LDAP_OPT_NETWORK_TIMEOUT, &patience);
	(void)ldap_set_option(ld, LDAP_OPT_TIMEOUT, &patience);
	(void)ldap_set_option(ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF);
	(void)ldap_set_option(ld, LDAP_OPT_TCP_USER_TIMEOUT, &unsent_ms);
	bound_messages(ld);
}

static int error_of_ldap_result(LDAP *ld, int kind)
{
	int code = LDAP_SUCCESS;

	(void)ldap_get_option(ld, LDAP_OPT_RESULT_CODE, &code);
	return kind == 0 || code == LDAP_SUCCESS ? LDAP_TIMEOUT : code;
}

void link_allow(LDAP *ld, int seconds)
{
	deadline_set(ld, os_clock_monotonic_us() + seconds * SECOND_US);
}

/* Waits for the result of operation NUMBER, whose code becomes LD's error. Returns the first entry
 * before it to the caller, if he wants one; a few other messages may precede it. Reads message by
 * message, as libldap would buffer all of them. */
static int wait_for_result(LDAP *ld, int number, LDAPMessage **entry_out)
{
	int64_t until_us = os_clock_monotonic_us() + LINK_PATIENCE_S * SECOND_US;

	deadline_set(ld, until_us);
	for (int count = 0; count < LINK_MESSAGES_MAX; count++) {
		int64_t left_us = until_us - os_clock_monotonic_us();
		struct timeval left = {.tv_sec = left_us / SECOND_US,
				       .tv_usec = left_us % SECOND_US};
		LDAPMessage *message = NULL;
		int code = LDAP_SUCCESS;
		int kind =
			left_us <= 0 ? 0 : ldap_result(ld, number, LDAP_MSG_ONE, &left, &message);

		if (kind <= 0)
			return error_of_ldap_result(ld, kind);
		if (kind == LDAP_RES_SEARCH_ENTRY && entry_out != NULL && *entry_out == NULL) {
			*entry_out = message;
		} else if (kind == LDAP_RES_SEARCH_ENTRY || kind == LDAP_RES_SEARCH_REFERENCE ||
			   kind == LDAP_RES_INTERMEDIATE) {
			(void)ldap_msgfree(message);
		} else {
			return ldap_parse_result(ld, message, &code, NULL, NULL, NULL, NULL, 1) ==
					       LDAP_SUCCESS
				       ? code
				       : error_of_ldap_result(ld, -1);
		}
	}
	return LDAP_SIZELIMIT_EXCEEDED;
}

static int start_tls(LDAP *ld)
{
	int number;
	int code = ldap_start_tls(ld, NULL, NULL, &number);

	if (code == LDAP_SUCCESS)
		code = wait_for_result(ld, number, NULL);
	return code;
}

static int install_tls(LDAP *ld)
{
	link_allow(ld, LINK_PATIENCE_S);
	return ldap_install_tls(ld);
}

static int bind_as(LDAP *ld, const struct link_login *login)
{
	const char *password = login->password != NULL ? login->password : "";
	struct berval secret = {.bv_len = strlen(password), .bv_val = (char *)password};
	int number;
	int code = ldap_sasl_bind(ld, login->bind_dn != NULL ? login->bind_dn : "",
				  LDAP_SASL_SIMPLE, &secret, NULL, NULL, &number);

	return code == LDAP_SUCCESS ? wait_for_result(ld, number, NULL) : code;
}

/* libldap does not say what is wrong with a certificate. */
static void describe_failure(const struct link_server *server, LDAP *ld, const char *tried,
			     int code, struct buffer *why)
{
	char *said = NULL;

	buffer_append_format(why, "%s: ", tried);
	if (ld != NULL)
		(void)ldap_get_option(ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &said);
	if (said != NULL && said[0] != '\0' && link_server_needs_tls(server) &&
	    (code == LDAP_SERVER_DOWN || code == LDAP_CONNECT_ERROR))
		buffer_append_format(why,
				     "%s (%d): TLS failed; is its certificate for this host, and "
				     "signed by the authority?",
				     ldap_err2string(code), code);
	else
		link_describe(ld, code, why);
	ldap_memfree(said);
}

int link_open(const struct link_server *server, const struct link_login *login, LDAP **ld_out,
	      struct buffer *why)
{
	const char *tried = "connect";
	size_t said = why->length;
	LDAP *ld = NULL;
	int code = ldap_initialize(&ld, server->uri);

	if (code == LDAP_SUCCESS) {
		set_ldap_options(ld);
		code = ldap_connect(ld);
	}
	if (code == LDAP_SUCCESS)
		code = deadline_add(ld);
	if (code == LDAP_SUCCESS)
		link_allow(ld, LINK_PATIENCE_S);
	if (code == LDAP_SUCCESS && server->starts_tls) {
		tried = "StartTLS";
		code = start_tls(ld);
	}
	if (code == LDAP_SUCCESS && link_server_needs_tls(server)) {
		tried = "TLS";
		code = install_tls(ld);
	}
	if (code == LDAP_SUCCESS) {
		tried = login->bind_dn != NULL ? login->bind_dn : "anonymous";
		buffer_append_string(why, "bind as ");
		code = bind_as(ld, login);
	}
	if (code == LDAP_SUCCESS) {
		buffer_truncate(why, said);
		*ld_out = ld;
		return 0;
	}
	describe_failure(server, ld, tried, code, why);
	link_close(ld);
	return code;
}

void link_close(LDAP *ld)
{
	if (ld != NULL)
		(void)ldap_unbind_ext(ld, NULL, NULL);
}

/* --- contextCSN --- */

int link_ask_csns(LDAP *ld, const char *context)
{
	char *attributes[] = {"contextCSN", NULL};
	int number;
	int code = ldap_search_ext(ld, context, LDAP_SCOPE_BASE, "(objectClass=*)", attributes, 0,
				   NULL, NULL, NULL, 0, &number);

	return code == LDAP_SUCCESS ? number : -1;
}

void link_add_csns(LDAP *ld, LDAPMessage *message, struct csn_set *set)
{
	struct berval **values = ldap_get_values_len(ld, message, "contextCSN");

	for (struct berval **value = values; value != NULL && *value != NULL; value++)
		csn_set_add(set, str_slice((*value)->bv_val, (*value)->bv_len));
	ldap_value_free_len(values);
}

/* The first entry found, or NULL, in *ENTRY_OUT, which the caller frees, also after an error. */
static int read_entry_of_name(LDAP *ld, const char *name, const char *attribute,
			      LDAPMessage **entry_out)
{
	char *attributes[] = {(char *)attribute, NULL};
	int number;
	int code = ldap_search_ext(ld, name, LDAP_SCOPE_BASE, "(objectClass=*)", attributes, 0,
				   NULL, NULL, NULL, 0, &number);

	return code == LDAP_SUCCESS ? wait_for_result(ld, number, entry_out) : code;
}

int link_read_csns(LDAP *ld, const char *context, struct csn_set *set)
{
	LDAPMessage *found = NULL;
	int code = read_entry_of_name(ld, context, "contextCSN", &found);

	if (code == LDAP_SUCCESS && found != NULL)
		link_add_csns(ld, found, set);
	(void)ldap_msgfree(found);
	return code == LDAP_NO_SUCH_OBJECT || code == LDAP_INSUFFICIENT_ACCESS ? LDAP_SUCCESS
									       : code;
}

/* Whether BASE is the entry NAME, or is below it. */
static bool is_above(struct str name, const char *base)
{
	struct buffer above = {0};
	struct buffer below = {0};
	struct str rest;
	bool is_so = dn_normalize(name, &above) == 0 && dn_normalize(str_from(base), &below) == 0;

	if (is_so) {
		rest = str_skip(buffer_view(&below), above.length);
		is_so = str_starts_with(buffer_view(&below), buffer_view(&above)) &&
			(rest.length == 0 || rest.data[0] == ',');
	}
	buffer_clear(&above);
	buffer_clear(&below);
	return is_so;
}

char *link_find_context(LDAP *ld, const char *base)
{
	struct berval **values = NULL;
	LDAPMessage *found = NULL;
	char *context = NULL;

	if (read_entry_of_name(ld, "", "namingContexts", &found) == LDAP_SUCCESS && found != NULL)
		values = ldap_get_values_len(ld, found, "namingContexts");
	for (struct berval **value = values; value != NULL && *value != NULL; value++)
		if (context == NULL &&
		    is_above(str_slice((*value)->bv_val, (*value)->bv_len), base))
			context = strndup((*value)->bv_val, (*value)->bv_len);
	ldap_value_free_len(values);
	(void)ldap_msgfree(found);
	return context;
}
