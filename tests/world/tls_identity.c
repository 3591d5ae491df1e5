// SPDX-License-Identifier: ISC
/* Who one is and whom one believes, of tls_internal.h: contexts, and clients. */
#include "base/panic.h"
#include "os/file/file.h"
#include "tls/identity.h"
#include "tls/mutual.h"
#include "tls_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
