// SPDX-License-Identifier: ISC
/*
 * world/listings.h - the judge of commands: what "queue list" says is true.
 *
 * What is in the queue before and after a listing is in it; what had ended before it began is not;
 * and each message is for whom the ledger says.
 */
#ifndef WORLD_LISTINGS_H
#define WORLD_LISTINGS_H

#include "kernel.h"

/* LISTING is what "queue list --json" has said on MACHINE. BEFORE: the numbers that were in info
 * when it began, at BEGAN_US, each with its NUL, of SIZE bytes in all. */
void listing_check(struct machine *machine, const char *listing, const char *before, size_t size,
		   int64_t began_us);

#endif
