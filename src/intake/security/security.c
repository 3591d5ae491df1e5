// SPDX-License-Identifier: ISC
#include "intake/security/security.h"
#include "base/panic.h"
#include "keys/client.h"
#include "log/event.h"
#include "tls/connection.h"
#include "tls/identity.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* A context, by what listeners differ in. There are few, and they live as long as the process: the
 * sessions of a listener that a reload has removed go on. */
struct listener {
	char *authority; /* PEM file, "": none */
	bool asks_clients;
	struct tls_strength strength; /* its own copy */
	struct tls_context *context;  /* NULL: no certificate can be used now */
	struct listener *next;
};

struct intake_tls {
	const struct config *config;
	struct keys *keys;
	struct os_timer *patience; /* runs while the set lacks certificates */
	struct listener *listeners;
	bool has_set; /* the first one has come */
	void (*changed)(void *context);
	void *context;
};

struct intake_security {
	struct config_listen listen;     /* who may connect: a copy */
	const struct listener *listener; /* NULL: no TLS */
	const char *protocol;
	enum config_clear_auth clear_auth;
	bool offers_binding;
	bool is_implicit;
	bool asks_clients;
	const char **names;
	size_t name_count;
	const char **fingerprints;
	size_t fingerprint_count;
};

/* --- contexts --- */

/* Those of the configuration that can be used now, in its order. */
static size_t list_certificates(const struct intake_tls *tls, struct tls_certificate *list)
{
	const struct keys_set *set = keys_set(tls->keys);
	size_t count = 0;

	for (size_t i = 0; i < tls->config->certificate_count; i++) {
		const struct config_certificate *one = &tls->config->certificates[i];
		struct str chain = keys_set_find(set->certificates, set->certificate_count,
						 str_from(one->name));

		if (chain.length > 0 && count < TLS_CERTIFICATES_MAX)
			list[count++] = (struct tls_certificate){
				chain, (const char *const *)one->names, one->name_count};
	}
	return count;
}

static int open_listener_context(const struct intake_tls *tls, const struct listener *listener,
				 struct tls_context **out, struct buffer *reason)
{
	const struct keys_set *set = keys_set(tls->keys);
	struct tls_certificate list[TLS_CERTIFICATES_MAX];
	const struct tls_identity_settings settings = {
		.certificates = list,
		.certificate_count = list_certificates(tls, list),
		.signer = keys_signer(tls->keys),
		.ticket_keys = set->tickets,
		.ticket_key_count = set->ticket_count,
		.client_authorities = keys_set_find(set->authorities, set->authority_count,
						    str_from(listener->authority)),
		.asks_clients = listener->asks_clients,
		.strength = listener->strength,
	};

	*out = NULL;
	return settings.certificate_count > 0 ? tls_identity_open(&settings, out, reason) : 0;
}

/* What cannot be opened leaves the former one in force. */
static void renew_listener_context(const struct intake_tls *tls, struct listener *listener)
{
	struct buffer reason = {0};
	struct tls_context *context;

	if (open_listener_context(tls, listener, &context, &reason) < 0) {
		log_event(EVENT_CERTIFICATE_ERROR, log_str(text, buffer_view(&reason)));
	} else {
		tls_context_free(listener->context);
		listener->context = context;
	}
	buffer_clear(&reason);
}

static void renew_contexts_now(void *context)
{
	struct intake_tls *tls = context;

	for (struct listener *listener = tls->listeners; listener != NULL;
	     listener = listener->next)
		renew_listener_context(tls, listener);
	tls->has_set = true;
	tls->changed(tls->context);
}

static void renew_all(struct intake_tls *tls)
{
	if (keys_set(tls->keys) == NULL)
		return;
	os_timer_stop(tls->patience);
	struct tls_certificate list[TLS_CERTIFICATES_MAX];
	if (list_certificates(tls, list) == tls->config->certificate_count || !tls->has_set)
		renew_contexts_now(tls);
	else
		os_timer_start(tls->patience, KEYS_PATIENCE_US);
}

/* A client that has no better cipher would send in plain text to listen smtp. */
static struct tls_strength listener_strength(const struct config *config,
					     const struct config_listen *listen,
					     struct buffer *ciphers)
{
	const struct config_tls_strength *own = &listen->strength;
	const struct config_tls_strength *named = own->cipher_count > 0 ? own : &config->strength;
	struct tls_strength strength = {.is_1_3 = own->min_version == CONFIG_TLS_1_3};

	for (size_t i = 0; i < named->cipher_count; i++)
		buffer_append_format(ciphers, "%s%s", i > 0 ? ":" : "", named->ciphers[i]);
	if (named->cipher_count == 0 && listen->protocol == CONFIG_SMTP)
		buffer_append_string(ciphers, TLS_CIPHERS_WIDE);
	buffer_append_byte(ciphers, '\0');
	if (ciphers->length > 1)
		strength.ciphers = buffer_data(ciphers);
	return strength;
}

static bool is_as_strong(const struct tls_strength *a, const struct tls_strength *b)
{
	const char *first = a->ciphers != NULL ? a->ciphers : "";
	const char *second = b->ciphers != NULL ? b->ciphers : "";

	return a->is_1_3 == b->is_1_3 && strcmp(first, second) == 0;
}

static const struct listener *find_tls_listener(struct intake_tls *tls, const char *authority,
						bool asks_clients,
						const struct tls_strength *strength)
{
	struct listener *listener;

	LL_FOREACH(tls->listeners, listener)
	if (listener->asks_clients == asks_clients && strcmp(listener->authority, authority) == 0 &&
	    is_as_strong(&listener->strength, strength))
		return listener;
	listener = memory_alloc_zero(1, sizeof *listener);
	listener->authority = memory_copy_string(authority);
	listener->asks_clients = asks_clients;
	listener->strength.is_1_3 = strength->is_1_3;
	if (strength->ciphers != NULL)
		listener->strength.ciphers = memory_copy_string(strength->ciphers);
	LL_PREPEND(tls->listeners, listener);
	if (keys_set(tls->keys) != NULL)
		renew_listener_context(tls, listener);
	return listener;
}

/* --- certificates --- */

static void on_certificates_changed(void *context)
{
	renew_all(context);
}

struct intake_tls *intake_tls_new(struct os_loop *loop, const char *path,
				  const struct config *config, void (*changed)(void *context),
				  void *context)
{
	struct intake_tls *tls = memory_alloc_zero(1, sizeof *tls);

	tls->config = config;
	tls->changed = changed;
	tls->context = context;
	tls->patience = os_timer_new(loop, renew_contexts_now, tls);
	tls->keys = keys_new(loop, path, on_certificates_changed, tls);
	return tls;
}

void intake_tls_configure(struct intake_tls *tls, const struct config *config)
{
	tls->config = config;
	renew_all(tls);
}

/* --- listeners --- */

static const char **copy_client_texts(const char *const *texts, size_t count)
{
	const char **copies = memory_alloc_zero(count + 1, sizeof *copies);

	for (size_t i = 0; i < count; i++)
		copies[i] = memory_copy_string(texts[i]);
	return copies;
}

static void copy_clients(struct intake_security *security, const struct config_listen *listen)
{
	struct config_network *clients =
		memory_alloc_zero(listen->client_count + 1, sizeof *clients);

	for (size_t i = 0; i < listen->client_count; i++)
		clients[i] = listen->clients[i];
	security->listen = (struct config_listen){.protocol = listen->protocol,
						  .clients = clients,
						  .client_count = listen->client_count};
}

struct intake_security *intake_security_new(struct intake_tls *tls,
					    const struct config_listen *listen)
{
	struct intake_security *security = memory_alloc_zero(1, sizeof *security);
	struct buffer ciphers = {0};
	struct tls_strength strength;

	security->protocol = config_protocol_name(listen->protocol);
	security->clear_auth = listen->auth_without_tls;
	security->offers_binding = listen->auth_binding;
	copy_clients(security, listen);
	if (tls == NULL || listen->tls == CONFIG_LISTEN_TLS_NONE)
		return security;
	security->is_implicit = listen->tls == CONFIG_LISTEN_TLS_IMPLICIT;
	security->asks_clients = listen->client_certificates;
	security->names = copy_client_texts(listen->client_names, listen->client_name_count);
	security->name_count = listen->client_name_count;
	security->fingerprints =
		copy_client_texts(listen->client_fingerprints, listen->client_fingerprint_count);
	security->fingerprint_count = listen->client_fingerprint_count;
	strength = listener_strength(tls->config, listen, &ciphers);
	if (tls->config->certificate_count > 0) /* a reload may have taken them away */
		security->listener = find_tls_listener(tls, listen->client_authority,
						       listen->client_certificates, &strength);
	buffer_clear(&ciphers);
	return security;
}

const struct tls_context *intake_security_context(const struct intake_security *security)
{
	return security->listener != NULL ? security->listener->context : NULL;
}

bool intake_security_lacks_tls(const struct intake_security *security)
{
	return security->listener != NULL && security->listener->context == NULL;
}

bool intake_security_is_implicit(const struct intake_security *security)
{
	return security->is_implicit;
}

bool intake_security_offers_binding(const struct intake_security *security)
{
	return security->offers_binding;
}

bool intake_security_allows_clear_auth(const struct intake_security *security, bool is_local)
{
	return security->clear_auth == CONFIG_CLEAR_AUTH_YES ||
	       (security->clear_auth == CONFIG_CLEAR_AUTH_LOCAL && is_local);
}

const char *intake_security_protocol(const struct intake_security *security)
{
	return security->protocol;
}

/* --- clients --- */

/* A UNIX socket has permissions of its own, and its clients no address. */
bool intake_security_admits(const struct intake_security *security, const struct in6_addr *address)
{
	return IN6_IS_ADDR_UNSPECIFIED(address) || config_admits(&security->listen, address);
}

bool intake_security_trusts_all(const struct intake_security *security)
{
	return security->listen.protocol == CONFIG_QMQP;
}

static bool has_listed_name(const struct intake_security *security,
			    const struct tls_connection *connection)
{
	if (!tls_connection_is_verified(connection))
		return false;
	for (size_t i = 0; i < security->name_count; i++)
		if (strcmp(security->names[i], "*") == 0 ||
		    tls_connection_has_name(connection, security->names[i]))
			return true;
	return false;
}

static bool has_listed_fingerprint(const struct intake_security *security,
				   const struct tls_connection *connection)
{
	char certificate[TLS_FINGERPRINT_SIZE];
	char key[TLS_FINGERPRINT_SIZE];

	if (security->fingerprint_count == 0 ||
	    !tls_connection_fingerprints(connection, certificate, key))
		return false;
	for (size_t i = 0; i < security->fingerprint_count; i++)
		if (strcmp(security->fingerprints[i], certificate) == 0 ||
		    strcmp(security->fingerprints[i], key) == 0)
			return true;
	return false;
}

bool intake_security_may_relay(const struct intake_security *security,
			       const struct tls_connection *connection)
{
	return security->asks_clients && (has_listed_name(security, connection) ||
					  has_listed_fingerprint(security, connection));
}
