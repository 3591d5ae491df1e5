// SPDX-License-Identifier: ISC
/*
 * dns/anchor.h - the file of DNSSEC's trust anchors, as Debian's dns-root-data has it for the root.
 */
#ifndef DNS_ANCHOR_H
#define DNS_ANCHOR_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { DNS_ANCHOR_FILE_MAX = 64 * 1024 };

/* Reads PATH: a DNSKEY or DS record on each line, in the form of zone files, and comments. Appends
 * the records to OUT, a line for each. -errno, with the reason as a text in REASON: of opening or
 * reading; -EINVAL: it has another record, or none; -EFBIG. Before the sandbox is entered. */
MUST_CHECK int dns_anchor_read(const char *path, struct buffer *out, struct buffer *reason);

#endif
