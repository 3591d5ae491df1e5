// SPDX-License-Identifier: ISC
/*
 * world/links.h - the ways between machines, each in one direction: for a while one may let nothing
 * through, or slowly. What was sent meanwhile comes later, as TCP sends it again; so does the end
 * of a connection. A new connection needs both directions.
 */
#ifndef WORLD_LINKS_H
#define WORLD_LINKS_H

#include <stdbool.h>
#include <stdint.h>

/* The way from FROM to TO (addresses) lets nothing through until UNTIL_US. */
void links_cut(uint32_t from, uint32_t to, int64_t until_us);
/* It takes DELAY_US more until UNTIL_US. */
void links_slow(uint32_t from, uint32_t to, int64_t delay_us, int64_t until_us);
/* When arrives what was sent from FROM to TO, and would come at WHEN_US otherwise. */
int64_t links_arrival(uint32_t from, uint32_t to, int64_t when_us);
/* Nothing is cut or slow any more. */
void links_end(void);

#endif
