// SPDX-License-Identifier: ISC
#include "deliver/remote/keys/certificates.h"
#include <stddef.h>
#include <utlist.h>

void remote_certificates_wait(struct remote_certificates *certificates,
			      struct remote_certificates_waiter *waiter)
{
	if (waiter->certificates != NULL)
		return;
	waiter->certificates = certificates;
	DL_APPEND2(certificates->waiters, waiter, previous, next);
}

void remote_certificates_give_up(struct remote_certificates_waiter *waiter)
{
	if (waiter->certificates == NULL)
		return;
	DL_DELETE2(waiter->certificates->waiters, waiter, previous, next);
	waiter->certificates = NULL;
}

void remote_certificates_tell(struct remote_certificates *certificates)
{
	struct remote_certificates_waiter *waiter;

	while ((waiter = certificates->waiters) != NULL) {
		remote_certificates_give_up(waiter);
		waiter->ready(waiter->context);
	}
}
