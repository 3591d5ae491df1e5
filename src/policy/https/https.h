// SPDX-License-Identifier: ISC
/*
 * policy/https/https.h - requests by HTTPS, in the event loop, of servers that strangers name. (By
 * libcurl.)
 *
 * TLS 1.2 or later; the certificate must be signed by one of the authorities for the host's name,
 * as one of its alternative names. No redirects, no proxy, no cookies, nothing from the
 * environment; authentication only as the caller says. Every
 * request has a limit of time and of the size of its answer. Host names are looked up by dns/.
 */
#ifndef POLICY_HTTPS_HTTPS_H
#define POLICY_HTTPS_HTTPS_H

#include "base/buffer.h"
#include "dns/resolver.h"

struct https;
struct https_request;

enum { HTTPS_PORT = 443 };

/* To call before the sandbox is entered: reads the library's configuration. -errno. */
MUST_CHECK int https_new(struct os_loop *loop, struct https **https_out);
/* RESOLVER is borrowed; AUTHORITIES: a PEM file, which is read again ten minutes later at the
 * earliest. ALLOWS_PRIVATE: requests may go to addresses that are not public. */
void https_configure(struct https *https, struct dns_resolver *resolver, const char *authorities,
		     bool allows_private);
/* There must be no requests left. NULL is allowed. */
void https_free(struct https *https);

enum https_status {
	HTTPS_OK,        /* an answer is there, whatever its code */
	HTTPS_FAILED,    /* no address, no connection, no complete answer in time */
	HTTPS_UNTRUSTED, /* the server's certificate is not valid for this host */
	HTTPS_TOO_LARGE, /* the answer */
};

/* Texts are valid until the answer's callback returns. */
struct https_answer {
	enum https_status status;
	const char *reason; /* unless HTTPS_OK: for people */
	unsigned code;      /* HTTPS_OK: 200 and so on */
	const char *type;   /* HTTPS_OK: the Content-Type as it came; "": none */
	struct str body;
};

struct https_ask {
	const char *host; /* a host name */
	uint16_t port;
	const char *path;          /* begins with '/'; only characters of a URL */
	size_t size_max;           /* of the answer's body */
	unsigned seconds;          /* for all of it */
	const char *content_type;  /* to POST; NULL: GET */
	struct str content;        /* to POST; copied, and erased afterwards */
	const char *authorization; /* HTTP's field, likewise; NULL: none */
};

/* Calls DONE once, never before returning; the request is gone before that. */
struct https_request *https_ask(struct https *https, const struct https_ask *ask,
				void (*done)(void *context, const struct https_answer *answer),
				void *context);
/* DONE will not be called. NULL is allowed. */
void https_cancel(struct https_request *request);

#endif
