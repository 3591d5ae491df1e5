// SPDX-License-Identifier: ISC
/*
 * deliver/remote/keys/certificates.h - our certificates for servers that ask for one, as sessions
 * see them; deliver/remote/keys/keys.h has them.
 */
#ifndef DELIVER_REMOTE_KEYS_CERTIFICATES_H
#define DELIVER_REMOTE_KEYS_CERTIFICATES_H

#include "tls/client.h"

/* Who waits for the certificates to become known. All zeroes at first. */
struct remote_certificates_waiter {
	void (*ready)(void *context); /* called once; may free the waiter */
	void *context;
	struct remote_certificates *certificates; /* NULL: it does not wait */
	struct remote_certificates_waiter *next, *previous;
};

struct remote_certificates {
	/* False: none is known yet. True: *CERTIFICATE_OUT is that of section NAME, valid during
	 * this turn of the loop; NULL: it cannot be used now. */
	bool (*find)(struct remote_certificates *certificates, const char *name,
		     const struct tls_client_certificate **certificate_out);
	struct remote_certificates_waiter *waiters;
};

/* READY and CONTEXT are set. Does nothing if it waits already. */
void remote_certificates_wait(struct remote_certificates *certificates,
			      struct remote_certificates_waiter *waiter);
/* Does nothing if it does not wait. */
void remote_certificates_give_up(struct remote_certificates_waiter *waiter);
/* They are known: calls all who wait. */
void remote_certificates_tell(struct remote_certificates *certificates);

#endif
