// SPDX-License-Identifier: ISC
/* For helpers that deliver lines of text. */
#include "deliver/helper.h"

bool deliver_helper_refuses_binary(struct deliver_helper_job *job)
{
	static const struct mail_verdict verdict = {
		MAIL_FAIL, "5.6.3",
		"the message is binary (BINARYMIME), and is delivered here only as text"};

	if (!job->binary)
		return false;
	for (size_t i = 0; i < job->recipient_count; i++)
		deliver_helper_report(job, i, &verdict, NULL);
	deliver_helper_finish(job);
	return true;
}
