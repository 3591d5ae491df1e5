// SPDX-License-Identifier: ISC
/* What is told of a group, for the log. */
#include "filing/internal.h"

void filing_tell(const struct filing *filing, enum filing_event_kind kind,
		 const struct filing_work *work, const char *text)
{
	filing->event(filing->context, &(struct filing_event){kind, work->message, work->copy,
							      text != NULL ? text : ""});
}

void filing_defer(const struct filing *filing, struct filing_work *work, const char *text,
		  const char *detail)
{
	mail_verdict_set(&work->copy->verdict, "4.3.0", "%s", text);
	filing_tell(filing, FILING_FAILED, work, detail);
	work->is_told = true;
}
