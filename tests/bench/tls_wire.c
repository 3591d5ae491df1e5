// SPDX-License-Identifier: ISC
#include "tls_wire.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void tls_wire_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

void tls_wire_fail_tls(const char *what)
{
	char text[256];

	ERR_error_string_n(ERR_peek_error(), text, sizeof text);
	tls_wire_fail(what, text);
}

static void gather(struct tls_wire *wire, const char *text, size_t length)
{
	size_t wanted = wire->out_length + length;

	if (wanted > wire->out_size) {
		wire->out_size = 2 * wanted;
		wire->out = realloc(wire->out, wire->out_size);
		if (wire->out == NULL)
			tls_wire_fail("memory", "none");
	}
	memcpy(wire->out + wire->out_length, text, length);
	wire->out_length = wanted;
}

static int write_bio(BIO *bio, const char *data, int size)
{
	gather(BIO_get_data(bio), data, (size_t)size);
	return size;
}

static int read_bio(BIO *bio, char *place, int room)
{
	const struct tls_wire *wire = BIO_get_data(bio);
	ssize_t count = recv(wire->socket, place, (size_t)room, 0);

	BIO_clear_retry_flags(bio);
	if (count < 0 && errno == EAGAIN)
		BIO_set_retry_read(bio);
	return (int)count;
}

static long control_bio(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static BIO *new_bio(struct tls_wire *wire)
{
	static BIO_METHOD *method;
	BIO *bio;

	if (method == NULL) {
		method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
		if (method == NULL || BIO_meth_set_write(method, write_bio) != 1 ||
		    BIO_meth_set_read(method, read_bio) != 1 ||
		    BIO_meth_set_ctrl(method, control_bio) != 1)
			tls_wire_fail_tls("BIO_meth_new");
	}
	bio = BIO_new(method);
	if (bio == NULL)
		tls_wire_fail_tls("BIO_new");
	BIO_set_data(bio, wire);
	BIO_set_init(bio, 1);
	return bio;
}

void tls_wire_prepare(SSL_CTX *context, const char *ciphers)
{
	SSL_CTX_set_read_ahead(context, 1);
	SSL_CTX_set_quiet_shutdown(context, 1);
	(void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	if (ciphers != NULL && SSL_CTX_set_ciphersuites(context, ciphers) != 1)
		tls_wire_fail_tls("ciphers");
}

void tls_wire_open(struct tls_wire *wire, int socket)
{
	wire->socket = socket;
	wire->tls = NULL;
	wire->out_length = 0;
}

void tls_wire_secure(struct tls_wire *wire, SSL_CTX *context)
{
	BIO *bio = new_bio(wire);

	wire->tls = SSL_new(context);
	if (wire->tls == NULL)
		tls_wire_fail_tls("SSL_new");
	SSL_set_bio(wire->tls, bio, bio);
}

void tls_wire_close(struct tls_wire *wire)
{
	if (wire->tls != NULL)
		(void)SSL_shutdown(wire->tls); /* else its session counts as a bad one */
	SSL_free(wire->tls);
	ERR_clear_error();
	close(wire->socket);
}

void tls_wire_shrink(struct tls_wire *wire)
{
	free(wire->out);
	wire->out = NULL;
	wire->out_size = 0;
}

int tls_wire_shake_hands(struct tls_wire *wire)
{
	int result = SSL_do_handshake(wire->tls);

	if (result == 1)
		return 1;
	return SSL_get_error(wire->tls, result) == SSL_ERROR_WANT_READ ? 0 : -1;
}

static ssize_t read_plain(struct tls_wire *wire, char *place, size_t room)
{
	ssize_t count = recv(wire->socket, place, room, 0);

	if (count >= 0)
		return count;
	return errno == EAGAIN ? -1 : -2;
}

ssize_t tls_wire_read(struct tls_wire *wire, char *place, size_t room)
{
	int count;

	if (wire->tls == NULL)
		return read_plain(wire, place, room);
	count = SSL_read(wire->tls, place, (int)room);
	if (count > 0)
		return count;
	switch (SSL_get_error(wire->tls, count)) {
	case SSL_ERROR_WANT_READ:
		return -1;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		return -2;
	}
}

bool tls_wire_has_more(const struct tls_wire *wire)
{
	return wire->tls != NULL && SSL_has_pending(wire->tls) == 1;
}

void tls_wire_write(struct tls_wire *wire, const char *text, size_t length)
{
	if (wire->tls == NULL)
		gather(wire, text, length);
	else if (SSL_write(wire->tls, text, (int)length) != (int)length)
		tls_wire_fail_tls("SSL_write");
}

int tls_wire_flush(struct tls_wire *wire)
{
	size_t sent = 0;

	while (sent < wire->out_length) {
		ssize_t count =
			send(wire->socket, wire->out + sent, wire->out_length - sent, MSG_NOSIGNAL);

		if (count < 0 && errno != EAGAIN)
			return -1;
		if (count < 0)
			break;
		sent += (size_t)count;
	}
	wire->out_length -= sent;
	memmove(wire->out, wire->out + sent, wire->out_length);
	return wire->out_length == 0;
}
