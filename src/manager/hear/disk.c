// SPDX-License-Identifier: ISC
/* Events from the disk: records written and reports queued. */
#include "manager/internal.h"

static bool has_local_service(void *context, struct str service)
{
	struct manager *manager = context;
	struct transport *transport = transports_find(manager->transports, service);

	return transport != NULL && !transport_is_remote(transport);
}

/* If the message is being written, it is looked at again when that is done. */
static void on_record_due(void *context, struct message *message)
{
	if (message->state != MESSAGE_RECORDING)
		life_event(context, message, MESSAGE_RECORD_DUE);
}

static void on_recorded(void *context, struct message *message, int result,
			const unsigned char *news)
{
	for (size_t i = 0; result < 0 && i < message->control->delivery_count; i++)
		message->news[i] |= news[i];
	if (result < 0)
		life_failed(context, message, MESSAGE_RECORD_FAILED, result);
	else
		life_event(context, message, MESSAGE_RECORDED);
}

const struct recorder_handler manager_hear_recorder = {has_local_service, on_record_due,
						       on_recorded, stop_check};

void manager_hear_reported(void *context, struct message *message, enum report_kind kind,
			   int result)
{
	message->report = NULL;
	if (result < 0)
		life_failed(context, message, MESSAGE_REPORT_FAILED, result);
	else
		life_event(context, message,
			   kind == REPORT_OF_END ? MESSAGE_END_REPORTED : MESSAGE_DELAY_REPORTED);
	stop_check(context);
}
