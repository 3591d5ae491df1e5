// SPDX-License-Identifier: ISC
/*
 * manager/link/service_names.h - a message at S5 has a name in local/SERVICE/ or remote/ for each
 * place that has open deliveries of it. A name that is left after a crash is removed with the
 * message.
 */
#ifndef MANAGER_LINK_SERVICE_NAMES_H
#define MANAGER_LINK_SERVICE_NAMES_H

#include "queue/control/control.h"
#include "queue/store.h"

/* The outcomes of CONTROL's deliveries that have NEWS (not 0, one for each) are on the disk:
 * removes the names of places where nothing is open now. */
void service_names_remove_finished(struct queue_store *store, const struct queue_control *control,
				   const unsigned char *news);
/* A new map of CONTROL's message is on the disk: removes the names that it had for the FORMER
 * deliveries and no longer needs. */
void service_names_remove_former(struct queue_store *store, const struct queue_control *control,
				 const struct queue_delivery *former, size_t count);

#endif
