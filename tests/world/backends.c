// SPDX-License-Identifier: ISC
/* Stores on servers, which no settings of the world name: their library would call the system
 * itself. */
#include "base/panic.h"
#include "filing/mailstore/imap.h"

struct mailstore *mailstore_imap_new(const struct mailstore_imap_settings *settings)
{
	(void)settings;
	panic("no IMAP in the world");
}
