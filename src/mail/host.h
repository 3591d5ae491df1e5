// SPDX-License-Identifier: ISC
/*
 * mail/host.h - names of hosts, as settings, routes and records give them.
 */
#ifndef MAIL_HOST_H
#define MAIL_HOST_H

#include "base/str.h"

enum { MAIL_HOST_MAX = 255 }; /* bytes */

/* Whether TEXT, without U-labels, is the name of a host: labels of 1 to 63 letters, digits, '-' and
 * '_', no '-' at either end of one, MAIL_HOST_MAX in all, and no dot at the end. The last label is
 * not all digits, so that no name is taken for an IPv4 address. */
bool mail_host_is_name(struct str text);

#endif
