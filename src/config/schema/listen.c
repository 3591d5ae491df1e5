// SPDX-License-Identifier: ISC
/* The settings of section listen. */
#include "config/schema/row.h"
#include <string.h>

static const struct config_word stage_words[] = {
	{"submit", MAIL_STAGE_SUBMIT}, {"arrive", MAIL_STAGE_ARRIVE}, {NULL, 0}};
static const struct config_word bare_newline_words[] = {
	{"auto", CONFIG_BARE_NEWLINE_AUTO},
	{"reject", CONFIG_BARE_NEWLINE_REJECT},
	{"normalize", CONFIG_BARE_NEWLINE_NORMALIZE},
	{NULL, 0},
};
static const struct config_word listen_tls_words[] = {
	{"none", CONFIG_LISTEN_TLS_NONE},
	{"starttls", CONFIG_LISTEN_TLS_STARTTLS},
	{"required", CONFIG_LISTEN_TLS_REQUIRED},
	{"implicit", CONFIG_LISTEN_TLS_IMPLICIT},
	{NULL, 0},
};
static const struct config_word auth_words[] = {{"no", CONFIG_LISTEN_AUTH_NO},
						{"offered", CONFIG_LISTEN_AUTH_OFFERED},
						{"required", CONFIG_LISTEN_AUTH_REQUIRED},
						{NULL, 0}};
static const struct config_word clear_auth_words[] = {{"no", CONFIG_CLEAR_AUTH_NO},
						      {"local", CONFIG_CLEAR_AUTH_LOCAL},
						      {"yes", CONFIG_CLEAR_AUTH_YES},
						      {NULL, 0}};
static const struct config_word sender_login_words[] = {
	{"strict", CONFIG_SENDER_LOGIN_STRICT},
	{"envelope", CONFIG_SENDER_LOGIN_ENVELOPE},
	{"off", CONFIG_SENDER_LOGIN_OFF},
	{NULL, 0},
};
const struct config_word config_tls_version_words[] = {
	{"1.2", CONFIG_TLS_1_2}, {"1.3", CONFIG_TLS_1_3}, {NULL, 0}};

/* Everybody's mail goes anywhere at QMQP. */
static void check_clients(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	if (listen->protocol == CONFIG_QMQP) {
		config_complain_if(check, listen->client_count == 0, "must be set",
				   "the networks whose clients may connect");
		return;
	}
	config_complain_if(check, listen->client_count > 0, "means nothing here", "with qmqp");
}

static void check_listen_tls(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	if (config_is_qmtp(listen) && (listen->tls == CONFIG_LISTEN_TLS_STARTTLS ||
				       listen->tls == CONFIG_LISTEN_TLS_REQUIRED))
		config_complain(check, "QMTP and QMQP cannot begin TLS amid a connection",
				"none, implicit");
	config_complain_if(
		check,
		listen->tls != CONFIG_LISTEN_TLS_NONE && check->config->certificate_count == 0,
		"there is no section certificate", "none, or with a section certificate");
}

static void check_tls_ciphers(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	if (listen->strength.cipher_count == 0)
		return;
	config_complain_if(check, listen->strength.min_version == CONFIG_TLS_1_3,
			   "means nothing here", "with TLS 1.2 as the oldest version");
	config_complain_if(check, listen->tls == CONFIG_LISTEN_TLS_NONE, "means nothing here",
			   "with tls");
}

static void check_client_certificates(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	config_complain_if(check,
			   listen->tls == CONFIG_LISTEN_TLS_NONE && listen->client_certificates,
			   "means nothing here", "with tls");
}

static bool has_authority_of_clients(const struct config_listen *listen)
{
	return listen->client_authority != NULL && *listen->client_authority != '\0';
}

static void check_client_authority(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	config_complain_if(check, !listen->client_certificates && has_authority_of_clients(listen),
			   "means nothing here", "with client_certificates = yes");
}

static void check_client_names(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	if (listen->client_name_count == 0)
		return;
	if (!listen->client_certificates)
		config_complain(check, "means nothing here", "with client_certificates = yes");
	else if (!has_authority_of_clients(listen))
		config_complain(check, "means nothing here", "with client_authority");
}

static void check_client_fingerprints(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	config_complain_if(check,
			   !listen->client_certificates && listen->client_fingerprint_count > 0,
			   "means nothing here", "with client_certificates = yes");
}

static void check_listen_auth(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	if (listen->auth == CONFIG_LISTEN_AUTH_NO)
		return;
	if (!config_has_auth(check->config))
		config_complain(check, "nobody knows the users", "no, or with a section auth");
	else if (listen->tls == CONFIG_LISTEN_TLS_NONE &&
		 listen->auth_without_tls == CONFIG_CLEAR_AUTH_NO)
		config_complain(check, "can never be offered",
				"no, or with tls or auth_without_tls");
}

/* A setting that needs AUTH. */
static void check_with_auth(const struct config_row_check *check, bool is_changed)
{
	const struct config_listen *listen = check->base;

	config_complain_if(check, listen->auth == CONFIG_LISTEN_AUTH_NO && is_changed,
			   "means nothing here", "with auth");
}

static void check_auth_without_tls(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	check_with_auth(check, listen->auth_without_tls != CONFIG_CLEAR_AUTH_NO);
}

static void check_auth_binding(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	check_with_auth(check, listen->auth_binding != (listen->protocol != CONFIG_SUBMISSION));
}

static void check_sender_login(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	check_with_auth(check, listen->sender_login != CONFIG_SENDER_LOGIN_STRICT);
}

static void check_received_user(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	check_with_auth(check, listen->received_user);
}

static void check_received_client(const struct config_row_check *check)
{
	const struct config_listen *listen = check->base;

	check_with_auth(check, !listen->received_client);
}

const struct config_setting config_schema_listen[] = {
	SETTING(LISTEN, "address", endpoints, LIST(config_listen, addresses, address_count),
		OF_MACHINE,
		MEANING("The addresses and ports; an IPv6 address accepts no IPv4 clients.")),
	SETTING(LISTEN, "clients", networks, LIST(config_listen, clients, client_count),
		INITIAL(""), CHECK(check_clients),
		MEANING("qmqp only, where it must be set: the networks whose clients may connect; "
			"other connections are closed. Their mail may go anywhere. Clients of a "
			"UNIX socket need no entry.")),
	SETTING(LISTEN, "stage", word, AT(config_listen, stage), WORDS(stage_words),
		COMPUTED("submit for submission, arrive for the others"),
		MEANING("The stage at which mail from here enters the queue.")),
	SETTING(LISTEN, "proxy", boolean, AT(config_listen, proxy), INITIAL("no"),
		MEANING("Whether the connections come from a proxy that names its client in a "
			"PROXY header of at most 2048 bytes, version 1 or 2 (HAProxy's "
			"send-proxy). A client that it does not name (UNKNOWN, LOCAL, a UNIX "
			"socket), like a health check, has no rights by an address. See "
			"proxy_from.")),
	SETTING(LISTEN, "bare_newline", word, AT(config_listen, bare_newline), INITIAL("auto"),
		WORDS(bare_newline_words),
		MEANING("What happens to a message with a bare CR or LF, which other servers may "
			"take for a line end, so that a second message can be smuggled inside "
			"one. reject refuses it. normalize makes an LF a line end, and a CR a "
			"space, or nothing before a line end. auto is normalize for submission "
			"and for clients in relay_from, whose programs often write such lines, "
			"and reject for all others. Only CR LF, a dot and CR LF end a message in "
			"any case.")),

	SETTING(LISTEN, "tls", word, AT(config_listen, tls), WORDS(listen_tls_words),
		COMPUTED("starttls if there is a section certificate, else none; none for qmtp and "
			 "qmqp"),
		CHECK(check_listen_tls),
		MEANING("none: plain text only. starttls: the client may begin TLS (RFC 3207). "
			"required: the same, and mail is not accepted without it. implicit: TLS "
			"begins with the connection, as on port 465 (RFC 8314). qmtp and qmqp "
			"support only none and implicit.")),
	SETTING(LISTEN, "tls_min_version", word, AT(config_listen, strength.min_version),
		COMPUTED("that of setting tls_min_version outside of sections"),
		WORDS(config_tls_version_words),
		MEANING("The oldest version of TLS that is accepted from clients.")),
	SETTING(LISTEN, "tls_ciphers", ciphers,
		LIST(config_listen, strength.ciphers, strength.cipher_count), INITIAL(""),
		CHECK(check_tls_ciphers),
		MEANING("The ciphers of TLS 1.2 that are accepted from clients, the best first; "
			"empty: see tls_ciphers outside of sections.")),
	SETTING(LISTEN, "client_certificates", boolean, AT(config_listen, client_certificates),
		INITIAL("no"), CHECK(check_client_certificates),
		MEANING("Whether clients are asked for a certificate in TLS. Clients without a "
			"valid one are served all the same.")),
	SETTING(LISTEN, "client_authority", optional_path, AT(config_listen, client_authority),
		INITIAL(""), RANGE(0, 4000), CHECK(check_client_authority),
		MEANING("The file, in PEM form, of the authorities that sign certificates of "
			"clients. Needs client_certificates. With auth, a client with a "
			"certificate of one of them may log in by EXTERNAL, as the user named by "
			"the certificate's e-mail address, or else by its first name.")),
	SETTING(LISTEN, "client_names", tls_names,
		LIST(config_listen, client_names, client_name_count), INITIAL(""),
		CHECK(check_client_names),
		MEANING("Clients with a certificate of client_authority that has one of these "
			"names (subjectAltName, or else common name) may relay; \"*\" is any "
			"name.")),
	SETTING(LISTEN, "client_fingerprints", fingerprints,
		LIST(config_listen, client_fingerprints, client_fingerprint_count), INITIAL(""),
		CHECK(check_client_fingerprints),
		MEANING("Clients whose certificate, or its public key, has one of these SHA-256 "
			"fingerprints may relay, whoever has signed it.")),

	SETTING(LISTEN, "auth", word, AT(config_listen, auth), WORDS(auth_words),
		COMPUTED("required for submission if there is a section directory or auth, and tls "
			 "or auth_without_tls; else no"),
		CHECK(check_listen_auth),
		MEANING("Whether clients authenticate by AUTH (RFC 4954), as users of section "
			"auth. Authenticated clients may relay. required: a client that is not in "
			"relay_from, and has no certificate of client_names or "
			"client_fingerprints, must do so before it sends mail.")),
	SETTING(LISTEN, "auth_without_tls", word, AT(config_listen, auth_without_tls),
		INITIAL("no"), WORDS(clear_auth_words), CHECK(check_auth_without_tls),
		MEANING("Whether AUTH is offered without TLS, too, so that passwords can be read "
			"on the way: no; local: to clients on this machine, by loopback or a UNIX "
			"socket; yes: to all.")),
	SETTING(LISTEN, "auth_binding", boolean, AT(config_listen, auth_binding),
		COMPUTED("no for submission, else yes"), CHECK(check_auth_binding),
		MEANING("Whether the mechanisms with -PLUS are offered, which bind the login to "
			"the TLS connection (tls-exporter, tls-server-end-point), so that nobody "
			"in between can use it. Many mail programs take them as soon as they are "
			"offered and then fail, because their TLS library gives them another "
			"binding or none: Debian's mutt, among others. Servers cannot tell. Turn "
			"it on where all clients are known to be able to, as Stagepost is.")),
	SETTING(LISTEN, "sender_login", word, AT(config_listen, sender_login), INITIAL("strict"),
		WORDS(sender_login_words), CHECK(check_sender_login),
		MEANING("Which senders an authenticated user may use. strict: in MAIL FROM and in "
			"the fields From, Sender, Resent-From and Resent-Sender only his own "
			"addresses: those of his mailboxes, aliases and forwards that lead to him, "
			"and those that send_as of his record grants; a message has one field "
			"From, and all of its addresses must be his, so mail of others can be "
			"forwarded, but not resent. Each address counts that other software may "
			"find in such a field, also in a name without quotes; then the field is "
			"written so that there is only one to find. envelope: the same, but these "
			"fields are not "
			"looked at. off: any. The empty sender is allowed, because receipts have "
			"it (RFC 8098).")),
	SETTING(LISTEN, "received_user", boolean, AT(config_listen, received_user), INITIAL("no"),
		CHECK(check_received_user),
		MEANING("Whether the field Received has the name of the authenticated user, which "
			"all who get the message can read.")),
	SETTING(LISTEN, "received_client", boolean, AT(config_listen, received_client),
		INITIAL("yes"), CHECK(check_received_client),
		MEANING("no: the field Received of an authenticated user's message does not say "
			"from where it came, neither address nor name, which all who get the "
			"message could read. The log has both in any case.")),
	SETTING(LISTEN, "submission", boolean, AT(config_listen, submission),
		COMPUTED("yes for submission, else no"),
		MEANING("Whether messages come from users' programs, and are completed (RFC 6409 "
			"section 8): Date, From and Message-ID are added where they lack, "
			"addresses without a domain get default_domain, Bcc is removed. Of other "
			"messages, also those of relay_from, the header stays as it is: who uses "
			"SMTP there removes Bcc himself.")),
	SETTING(LISTEN, "repair", boolean, AT(config_listen, repair), COMPUTED("as submission"),
		MEANING("Whether what other servers would refuse is corrected: lines of more than "
			"998 bytes are broken, before a space if there is one; header fields with "
			"8-bit characters are encoded (RFC 2047), as are the names of files in "
			"Content-Disposition and Content-Type (RFC 2231), unless the client uses "
			"SMTPUTF8. "
			"If the message was signed (DKIM-Signature, or multipart/signed), the "
			"signature is not valid any more, and that is logged (signature_broken): a "
			"program that signs should send short lines. See also bare_newline.")),
};

const size_t config_schema_listen_count = COUNT_OF(config_schema_listen);
