// SPDX-License-Identifier: ISC
/* What is known of a connection of tls_internal.h. */
#include "base/panic.h"
#include "os/loop.h"
#include "tls/peer_chain.h"
#include "tls_internal.h"
#include <string.h>
#include <strings.h>

unsigned tls_connection_wants(const struct tls_connection *connection, bool has_output)
{
	if (connection->is_shaken)
		return OS_WATCH_READ | (has_output ? OS_WATCH_WRITE : 0);
	return connection->out_size > 0 ? OS_WATCH_WRITE : OS_WATCH_READ;
}

int tls_connection_socket(const struct tls_connection *connection)
{
	return connection->socket;
}

const char *tls_connection_reason(const struct tls_connection *connection)
{
	return connection->reason;
}

const char *const *tls_connection_names(const struct tls_connection *connection, size_t *count_out)
{
	*count_out = connection->names[0] != NULL;
	return connection->names[0] != NULL ? connection->names : NULL;
}

bool tls_connection_has_name(const struct tls_connection *connection, const char *name)
{
	return connection->names[0] != NULL && strcasecmp(connection->names[0], name) == 0;
}

/* Nobody authenticates in a world. */
const char *tls_connection_email(const struct tls_connection *connection)
{
	(void)connection;
	return NULL;
}

size_t tls_connection_exporter(const struct tls_connection *connection,
			       unsigned char out[TLS_BINDING_MAX])
{
	(void)connection;
	(void)out;
	return 0;
}

size_t tls_connection_end_point(const struct tls_connection *connection,
				unsigned char out[TLS_BINDING_MAX])
{
	(void)connection;
	(void)out;
	return 0;
}

const char *tls_connection_version(const struct tls_connection *connection)
{
	(void)connection;
	return "TLSv1.3";
}

const char *tls_connection_cipher(const struct tls_connection *connection)
{
	(void)connection;
	return "none";
}

bool tls_connection_has_protocol(const struct tls_connection *connection)
{
	return connection->has_protocol;
}

/* Nobody signs here. */
bool tls_connection_lacks_signature(const struct tls_connection *connection)
{
	(void)connection;
	return false;
}

unsigned tls_connection_write_wants(const struct tls_connection *connection)
{
	return tls_connection_wants(connection, true) & OS_WATCH_WRITE;
}

bool tls_connection_has_pending(const struct tls_connection *connection)
{
	return connection->is_shaken && connection->in_size > HEAD &&
	       tls_connection_content_size(connection) > connection->in_read;
}

void tls_connection_preload(struct tls_connection *connection, struct str bytes)
{
	(void)connection;
	if (bytes.length > 0)
		panic("no proxy speaks TLS in the world");
}

/* Nobody signs elsewhere. */
void tls_connection_on_resume(struct tls_connection *connection, void (*resume)(void *context),
			      void *context)
{
	(void)connection;
	(void)resume;
	(void)context;
}

bool tls_connection_is_verified(const struct tls_connection *connection)
{
	return connection->names[0] != NULL;
}

bool tls_connection_fingerprints(const struct tls_connection *connection,
				 char certificate_out[TLS_FINGERPRINT_SIZE],
				 char key_out[TLS_FINGERPRINT_SIZE])
{
	(void)connection;
	(void)certificate_out;
	(void)key_out;
	return false;
}

enum tls_flaw tls_connection_flaw(const struct tls_connection *connection)
{
	(void)connection;
	return TLS_FLAW_NONE;
}

enum tls_verified tls_connection_verified(const struct tls_connection *connection)
{
	return connection->authority != NULL ? TLS_VERIFIED_AUTHORITY : TLS_VERIFIED_NOT;
}

const char *tls_verified_name(enum tls_verified verified)
{
	return verified == TLS_VERIFIED_AUTHORITY ? "authority" : "no";
}

bool tls_connection_is_resumed(const struct tls_connection *connection)
{
	(void)connection;
	return false;
}

size_t tls_peer_chain_read(const struct tls_connection *connection, struct arena *arena,
			   const struct tls_peer_certificate **list_out)
{
	(void)connection;
	(void)arena;
	*list_out = NULL;
	return 0;
}
