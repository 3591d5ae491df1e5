// SPDX-License-Identifier: ISC
/* What is told of a group, for the log. */
#include "filing/internal.h"

void filing_tell(const struct filing *filing, enum filing_event_kind kind,
		 const struct filing_work *work, const char *text)
{
	filing->event(filing->context, &(struct filing_event){kind, work->message, work->copy,
							      text != NULL ? text : ""});
}
