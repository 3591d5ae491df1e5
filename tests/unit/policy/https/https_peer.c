// SPDX-License-Identifier: ISC
#include "https_peer.h"
#include "base/panic.h"
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

static int listener = -1;
static pthread_t thread;

static void need(bool is_done, const char *what)
{
	if (!is_done)
		panic("%s", what);
}

uint16_t https_peer_listen(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	signal(SIGPIPE, SIG_IGN);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
		     listen(listener, 8) == 0 &&
		     getsockname(listener, (struct sockaddr *)&address, &size) == 0,
	     "no port on loopback");
	return ntohs(address.sin_port);
}

void https_peer_close(void)
{
	close(listener);
}

/* Whether all of a request is there. */
static bool is_whole_request(const char *text)
{
	const char *end = strstr(text, "\r\n\r\n");
	const char *length = strstr(text, "Content-Length: ");

	return end != NULL && (length == NULL || length > end ||
			       strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static void read_request(SSL *tls, struct https_peer *peer)
{
	size_t length = 0;

	while (!is_whole_request(peer->request)) {
		int got = SSL_read(tls, peer->request + length,
				   (int)(sizeof peer->request - 1 - length));

		if (got <= 0)
			return;
		length += (size_t)got;
		peer->request[length] = '\0';
	}
}

static void answer_one(struct https_peer *peer, SSL *tls)
{
	char last[100];

	memset(peer->request, 0, sizeof peer->request);
	if (SSL_accept(tls) != 1)
		return;
	read_request(tls, peer);
	(void)SSL_write(tls, peer->reply, (int)strlen(peer->reply));
	if (peer->rest != NULL)
		(void)SSL_write(tls, peer->rest, (int)strlen(peer->rest));
	if (peer->hangs)
		(void)SSL_read(tls, last, sizeof last);
	(void)SSL_shutdown(tls);
}

static SSL_CTX *make_peer_context(const struct https_peer *peer)
{
	SSL_CTX *made = SSL_CTX_new(TLS_server_method());

	need(SSL_CTX_use_certificate_file(made, peer->certificate, SSL_FILETYPE_PEM) == 1 &&
		     SSL_CTX_use_PrivateKey_file(made, peer->key, SSL_FILETYPE_PEM) == 1,
	     "no certificate");
	if (peer->is_old) {
		SSL_CTX_set_security_level(made, 0);
		SSL_CTX_set_min_proto_version(made, TLS1_VERSION);
		SSL_CTX_set_max_proto_version(made, TLS1_1_VERSION);
	}
	return made;
}

static void *be_peer(void *context)
{
	struct https_peer *peer = context;
	SSL_CTX *made = make_peer_context(peer);
	struct pollfd waits = {.fd = listener, .events = POLLIN};

	while (peer->taken < peer->count && poll(&waits, 1, PATIENCE_MS) == 1) {
		int one = accept(listener, NULL, NULL);
		SSL *tls = SSL_new(made);

		peer->taken++;
		SSL_set_fd(tls, one);
		answer_one(peer, tls);
		SSL_free(tls);
		close(one);
	}
	SSL_CTX_free(made);
	return NULL;
}

void https_peer_begin(struct https_peer *peer)
{
	peer->taken = 0;
	need(pthread_create(&thread, NULL, be_peer, peer) == 0, "no thread");
}

void https_peer_end(void)
{
	need(pthread_join(thread, NULL) == 0, "the thread does not end");
}
