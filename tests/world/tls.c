// SPDX-License-Identifier: ISC
/*
 * src/tls/ of the world: records and a handshake as of TLS, without cryptography. A certificate
 * says "certificate NAME AUTHORITY" in its PEM block, an authority "authority AUTHORITY".
 *
 * A record is its type, two bytes with the length, and so many bytes. Each side begins with a
 * HELLO: its name, who signed that, and its protocol. As with TLS 1.3 a client is done when it has
 * the server's, and learns later what the server thinks of its own.
 */
#include "base/panic.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/socket.h"
#include "tls/client.h"
#include "tls/connection.h"
#include "tls/identity.h"
#include "tls/mutual.h"
#include "tls/peer_chain.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	NAME_SIZE = 64,
	HEAD = 3,
	RECORD_MAX = 16384,
	HELLO = 'h',
	DATA = 'd',
	REFUSAL = 'r',
	END = 'e'
};

struct tls_context {
	enum tls_side side;
	char name[NAME_SIZE];      /* ours; "": none */
	char signed_by[NAME_SIZE]; /* who vouches for it */
	char authority[NAME_SIZE]; /* "": peers are not verified */
	char protocol[NAME_SIZE];
};

struct tls_connection {
	struct tls_context context; /* as it was when it began */
	int socket;
	char wanted[NAME_SIZE]; /* the name of the peer; "": any */
	char peer[NAME_SIZE];
	const char *names[1];  /* the same, once it is verified */
	const char *authority; /* of a client's own request; NULL: the context's */
	bool has_protocol;
	bool is_shaken; /* the peer's HELLO has come, and is good */
	bool has_ended; /* END has come */
	int error;
	const char *reason;
	/* to be sent */
	char out[HEAD + RECORD_MAX];
	size_t out_size;
	size_t out_sent;
	size_t promised; /* bytes in OUT that the next write reports */
	/* received: of one record */
	char in[HEAD + RECORD_MAX];
	size_t in_size;
	size_t in_read; /* of its content */
};

/* --- contexts --- */

/* The words after KIND in TEXT; their number. */
static int find_words(struct str text, const char *kind, char first[NAME_SIZE],
		      char second[NAME_SIZE])
{
	char line[8 * NAME_SIZE];
	const char *found;

	snprintf(line, sizeof line, STR_FORMAT, STR_ARGUMENTS(text));
	found = strstr(line, kind);
	return found != NULL ? sscanf(found + strlen(kind), " %63s %63s", first, second) : 0;
}

/* As find_words(), of the file at PATH: 0 or -errno. */
static int read_words(const char *path, const char *kind, char first[NAME_SIZE],
		      char second[NAME_SIZE], struct buffer *reason)
{
	char text[4 * NAME_SIZE] = "";
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	ssize_t size = file < 0 ? file : os_file_read(file, text, sizeof text - 1, 0);

	os_file_close(file);
	if (size < 0) {
		buffer_append_format(reason, "%s: %s", path, strerror((int)-size));
		return (int)size;
	}
	if (find_words(str_slice(text, (size_t)size), kind, first, second) > 0)
		return 0;
	buffer_append_format(reason, "%s: no %s", path, kind);
	return -EINVAL;
}

static int open_context(enum tls_side side, struct str chain, struct tls_context **context_out,
			struct buffer *reason)
{
	struct tls_context *context = memory_alloc_zero(1, sizeof *context);

	context->side = side;
	if (find_words(chain, "certificate ", context->name, context->signed_by) < 1) {
		buffer_append_string(reason, "certificate 1: no certificate");
		free(context);
		return -EINVAL;
	}
	*context_out = context;
	return 0;
}

int tls_mutual_open(enum tls_side side, const struct tls_mutual_settings *settings,
		    struct tls_context **context_out, struct buffer *reason)
{
	char unused[NAME_SIZE];
	int error = open_context(side, settings->chain, context_out, reason);

	if (error < 0)
		return error;
	snprintf((*context_out)->protocol, NAME_SIZE, "%s", settings->protocol);
	(void)find_words(settings->authorities, "authority ", (*context_out)->authority, unused);
	return 0;
}

/* Its first certificate is the only one. */
int tls_identity_open(const struct tls_identity_settings *settings,
		      struct tls_context **context_out, struct buffer *reason)
{
	return open_context(TLS_SERVER, settings->certificates[0].chain, context_out, reason);
}

void tls_context_free(struct tls_context *context)
{
	free(context);
}

/* --- records --- */

static int fail(struct tls_connection *connection, int error, const char *reason)
{
	connection->error = error;
	connection->reason = reason;
	return error;
}

/* 0: all of OUT is sent. */
static int flush(struct tls_connection *connection)
{
	while (connection->out_sent < connection->out_size) {
		ssize_t count =
			os_socket_write(connection->socket, connection->out + connection->out_sent,
					connection->out_size - connection->out_sent);

		if (count == -EAGAIN)
			return -EAGAIN;
		if (count < 0)
			return fail(connection, (int)count, strerror((int)-count));
		connection->out_sent += (size_t)count;
	}
	connection->out_size = 0;
	connection->out_sent = 0;
	return 0;
}

/* OUT is empty. */
static void put_record(struct tls_connection *connection, char type, const void *data, size_t size)
{
	connection->out[0] = type;
	connection->out[1] = (char)(size >> 8);
	connection->out[2] = (char)(size & 0xff);
	memcpy(connection->out + HEAD, data, size);
	connection->out_size = HEAD + size;
}

static size_t content_size(const struct tls_connection *connection)
{
	return (size_t)(unsigned char)connection->in[1] << 8 | (unsigned char)connection->in[2];
}

/* 0: IN has a record. */
static int fill(struct tls_connection *connection)
{
	for (;;) {
		size_t wanted = HEAD;
		ssize_t count;

		if (connection->in_size >= HEAD)
			wanted += content_size(connection);
		if (wanted > sizeof connection->in)
			return fail(connection, -EPROTO, "a record is too long");
		if (connection->in_size == wanted && wanted >= HEAD &&
		    (connection->in_size > HEAD || content_size(connection) == 0))
			return 0;
		count = os_socket_read(connection->socket, connection->in + connection->in_size,
				       wanted - connection->in_size);
		if (count == -EAGAIN)
			return -EAGAIN;
		if (count == 0)
			return fail(connection, -ECONNRESET, "the peer has closed the connection");
		if (count < 0)
			return fail(connection, (int)count, strerror((int)-count));
		connection->in_size += (size_t)count;
	}
}

static void take_record(struct tls_connection *connection)
{
	connection->in_size = 0;
	connection->in_read = 0;
}

/* --- the handshake --- */

struct tls_connection *tls_connection_new(const struct tls_context *context, int socket,
					  const char *name)
{
	struct tls_connection *connection = memory_alloc_zero(1, sizeof *connection);
	char hello[4 * NAME_SIZE];
	int size = snprintf(hello, sizeof hello, "%s %s %s",
			    *context->name != '\0' ? context->name : "-",
			    *context->signed_by != '\0' ? context->signed_by : "-",
			    *context->protocol != '\0' ? context->protocol : "-");

	connection->context = *context;
	connection->socket = socket;
	connection->reason = "";
	snprintf(connection->wanted, NAME_SIZE, "%s", name != NULL ? name : "");
	put_record(connection, HELLO, hello, (size_t)size);
	return connection;
}

/* One that is not sent at once is not sent. */
static void send_last(struct tls_connection *connection, char type)
{
	if (flush(connection) < 0)
		return;
	put_record(connection, type, "", 0);
	(void)flush(connection);
}

void tls_connection_free(struct tls_connection *connection)
{
	if (connection == NULL)
		return;
	if (connection->error == 0)
		send_last(connection, END);
	os_socket_close(connection->socket);
	free(connection);
}

/* The world's clients verify by authorities, or not at all. */
static bool is_verified(const struct tls_connection *connection, const char *signed_by)
{
	const char *authority = connection->context.authority;

	if (connection->authority != NULL)
		authority = connection->authority;
	return *authority == '\0' || strcmp(signed_by, authority) == 0;
}

static int check_hello(struct tls_connection *connection)
{
	const struct tls_context *context = &connection->context;
	char text[4 * NAME_SIZE];
	char signed_by[NAME_SIZE] = "";
	char protocol[NAME_SIZE] = "";

	snprintf(text, sizeof text, "%.*s", (int)content_size(connection), connection->in + HEAD);
	if (connection->in[0] != HELLO ||
	    sscanf(text, "%63s %63s %63s", connection->peer, signed_by, protocol) != 3)
		return fail(connection, -EPROTO, "no TLS");
	connection->has_protocol = strcmp(protocol, context->protocol) == 0;
	if (!is_verified(connection, signed_by)) {
		send_last(connection, REFUSAL);
		return fail(connection, -EACCES, "unable to get local issuer certificate");
	}
	if (*connection->wanted != '\0' && strcasecmp(connection->wanted, connection->peer) != 0) {
		send_last(connection, REFUSAL);
		return fail(connection, -EACCES, "hostname mismatch");
	}
	connection->is_shaken = true;
	if (*context->authority != '\0')
		connection->names[0] = connection->peer;
	take_record(connection);
	return 0;
}

int tls_connection_handshake(struct tls_connection *connection)
{
	int error;

	if (connection->error < 0)
		return connection->error;
	error = flush(connection);
	if (error < 0 || connection->is_shaken)
		return error;
	error = fill(connection);
	return error < 0 ? error : check_hello(connection);
}

/* --- data --- */

/* 1: IN has data; 0: the peer has ended. */
static int next_data(struct tls_connection *connection)
{
	int error =
		connection->is_shaken ? connection->error : tls_connection_handshake(connection);

	while (error == 0 && !connection->has_ended) {
		error = fill(connection);
		if (error < 0)
			return error;
		if (connection->in[0] == REFUSAL)
			return fail(connection, -EACCES, "the peer rejects our certificate");
		if (connection->in[0] == END)
			connection->has_ended = true;
		else if (connection->in[0] != DATA)
			return fail(connection, -EPROTO, "an unknown record");
		else if (connection->in_read < content_size(connection))
			return 1;
		else
			take_record(connection);
	}
	return error;
}

int tls_connection_peek(struct tls_connection *connection)
{
	return next_data(connection);
}

ssize_t tls_connection_read(struct tls_connection *connection, void *data, size_t size)
{
	int result = next_data(connection);
	size_t left;

	if (result <= 0)
		return result;
	left = content_size(connection) - connection->in_read;
	if (size > left)
		size = left;
	memcpy(data, connection->in + HEAD + connection->in_read, size);
	connection->in_read += size;
	return (ssize_t)size;
}

/* As OpenSSL: what is in a record is reported once all of it is sent. */
ssize_t tls_connection_write(struct tls_connection *connection, const void *data, size_t size)
{
	int error = tls_connection_handshake(connection);
	size_t count;

	if (error < 0)
		return error;
	if (connection->promised == 0 && size > 0) {
		connection->promised = size < RECORD_MAX ? size : RECORD_MAX;
		put_record(connection, DATA, data, connection->promised);
		error = flush(connection);
	}
	if (error < 0)
		return error;
	count = connection->promised;
	connection->promised = 0;
	return (ssize_t)count;
}

ssize_t tls_connection_write_part(struct tls_connection *connection, const void *data, size_t size)
{
	return tls_connection_write(connection, data, size);
}

int tls_connection_close_notify(struct tls_connection *connection)
{
	int error = tls_connection_handshake(connection);

	if (error < 0)
		return error;
	put_record(connection, END, "", 0);
	return flush(connection);
}

/* --- what is known of it --- */

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
	       content_size(connection) > connection->in_read;
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

/* --- clients --- */

struct tls_authorities {
	char name[NAME_SIZE];
};

struct tls_client {
	struct tls_context context;
};

int tls_authorities_open(const char *file, struct tls_authorities **authorities_out,
			 struct buffer *reason)
{
	struct tls_authorities *authorities = memory_alloc_zero(1, sizeof *authorities);
	char unused[NAME_SIZE];
	int error = read_words(file, "authority ", authorities->name, unused, reason);

	if (error < 0)
		free(authorities);
	else
		*authorities_out = authorities;
	return error;
}

void tls_authorities_free(struct tls_authorities *authorities)
{
	free(authorities);
}

void tls_client_prepare(void)
{
}

struct tls_client *tls_client_new(void)
{
	struct tls_client *client = memory_alloc_zero(1, sizeof *client);

	client->context.side = TLS_CLIENT;
	return client;
}

void tls_client_free(struct tls_client *client)
{
	free(client);
}

void tls_client_forget(struct tls_client *client)
{
	(void)client;
}

/* Sessions are not resumed. */
struct tls_connection *tls_client_connect(struct tls_client *client, int socket,
					  const struct tls_client_request *request)
{
	const struct tls_verify *verify = &request->verify;
	bool has_names = verify->by == TLS_VERIFY_AUTHORITIES;
	struct tls_connection *connection =
		tls_connection_new(&client->context, socket, has_names ? verify->names[0] : NULL);

	if (verify->by != TLS_VERIFY_NOTHING && !has_names)
		panic("the world has no fingerprints and no TLSA records");
	if (has_names)
		connection->authority = verify->authorities->name;
	return connection;
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

int tls_client_certificate_open(struct str chain, const struct tls_signer *signer,
				struct tls_client_certificate **certificate_out,
				struct buffer *reason)
{
	(void)chain;
	(void)signer;
	(void)certificate_out;
	buffer_append_string(reason, "the world's servers ask for none");
	return -EINVAL;
}

void tls_client_certificate_free(struct tls_client_certificate *certificate)
{
	(void)certificate;
}
