// SPDX-License-Identifier: ISC
/* A BIO that lets OpenSSL use our sockets. */
#include "os/socket/socket.h"
#include "base/panic.h"
#include "tls/internal.h"
#include <errno.h>
#include <string.h>

static int note_socket_result(BIO *bio, ssize_t count, int retry)
{
	struct tls_socket *socket = BIO_get_data(bio);

	if (count >= 0)
		return (int)count;
	if (count == -EAGAIN)
		BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
	else
		socket->error = (int)count;
	return -1;
}

static int take_early(struct tls_socket *socket, char *data, size_t size)
{
	size_t count = socket->early.length < size ? socket->early.length : size;

	memcpy(data, buffer_data(&socket->early), count);
	buffer_consume(&socket->early, count);
	return (int)count;
}

static int read_socket(BIO *bio, char *data, int size)
{
	struct tls_socket *socket = BIO_get_data(bio);
	ssize_t count;

	BIO_clear_retry_flags(bio);
	if (socket->early.length > 0)
		return take_early(socket, data, (size_t)size);
	count = os_socket_read(socket->descriptor, data, (size_t)size);
	socket->has_ended = count == 0;
	return note_socket_result(bio, count, BIO_FLAGS_READ);
}

/* A server's tickets of TLS 1.3 are the end of its handshake, but no client waits for them: they go
 * along with the reply to what it says first. */
static bool are_tickets(const SSL *openssl)
{
	return SSL_get_state(openssl) == TLS_ST_SW_SESSION_TICKET &&
	       SSL_version(openssl) == TLS1_3_VERSION;
}

static int write_socket(BIO *bio, const char *data, int size)
{
	struct tls_socket *socket = BIO_get_data(bio);
	bool is_part = socket->has_more || are_tickets(socket->openssl);
	ssize_t count = is_part ? os_socket_write_part(socket->descriptor, data, (size_t)size)
				: os_socket_write(socket->descriptor, data, (size_t)size);

	BIO_clear_retry_flags(bio);
	return note_socket_result(bio, count, BIO_FLAGS_WRITE);
}

static long control_socket_bio(BIO *bio, int command, long number, void *pointer)
{
	const struct tls_socket *socket = BIO_get_data(bio);

	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_EOF)
		return socket->has_ended;
	return command == BIO_CTRL_FLUSH;
}

static int create_socket_bio(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static const BIO_METHOD *socket_bio_method(void)
{
	static BIO_METHOD *made;

	if (made != NULL)
		return made;
	made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
	if (made == NULL || BIO_meth_set_read(made, read_socket) != 1 ||
	    BIO_meth_set_write(made, write_socket) != 1 ||
	    BIO_meth_set_ctrl(made, control_socket_bio) != 1 ||
	    BIO_meth_set_create(made, create_socket_bio) != 1)
		panic("no memory for TLS");
	return made;
}

BIO *tls_socket_bio(struct tls_socket *socket)
{
	BIO *bio = BIO_new(socket_bio_method());

	if (bio == NULL)
		panic("no memory for TLS");
	BIO_set_data(bio, socket);
	return bio;
}
