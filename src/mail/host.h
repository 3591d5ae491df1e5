// SPDX-License-Identifier: ISC
/*
 * mail/host.h - host names in settings, routes and records.
 */
#ifndef MAIL_HOST_H
#define MAIL_HOST_H

#include "base/str.h"

enum { MAIL_HOST_MAX = 255 }; /* bytes */

/* Whether TEXT, without U-labels, is a host name: labels of 1 to 63 letters, digits, '-' and '_',
 * no '-' at either end of a label, MAIL_HOST_MAX in total, no trailing dot. The last label is not
 * numeric, so that no IPv4 address is taken for a name. */
bool mail_host_is_name(struct str text);

#endif
