// SPDX-License-Identifier: ISC
/*
 * limit/client.h - what each client has of the machine, in all processes together: its sessions,
 * and the bytes of its unfinished messages on the queue's disk.
 *
 * A client is an IPv4 address, or an IPv6 network of 64 bits, because a client with one address
 * there can use all of them.
 *
 * Each process counts its clients privately, and writes the counts into its row (limit/memory.h),
 * where a client has a slot as long as it has a session there. Whoever judges adds up the rows. As
 * with the places of classes (limit/count.h), the own count is raised first and then all are added
 * up, so that never two processes take the last place. The supervisor clears the row of a process
 * that has ended: what was killed gives back what it had.
 *
 * A slot is in one of two buckets of eight that the client's hash under the node's secret key
 * names, and there are twice as many as a process can have sessions. Should both buckets be full
 * all the same, the client counts in its process only. No call makes a system call or waits.
 */
#ifndef LIMIT_CLIENT_H
#define LIMIT_CLIENT_H

#include "base/attributes.h"
#include "base/hash.h"
#include "config/config.h"
#include "limit/memory.h"
#include <netinet/in.h>

/* The size of its area; 0: CONFIG limits no client. */
uint32_t limit_clients_area_size(const struct config *config);
/* Before each process that uses ROW, which must be writable: KEY is that of all rows. */
void limit_clients_prepare(const struct limit_memory *memory, size_t row, struct hash_key key);
/* The process of ROW, which must be writable, has ended: what it had is given back. */
void limit_clients_clear(const struct limit_memory *memory, size_t row);

/* The clients of this process. */
struct limit_clients;

struct limit_clients *limit_clients_new(void);
/* When all have left. NULL is allowed. */
void limit_clients_free(struct limit_clients *clients);
/* From now on its row of MEMORY is written, which is prepared and has no client, and the others are
 * read: all counts are published there. MEMORY must outlive that; NULL, or without the area: it
 * counts alone. */
void limit_clients_use(struct limit_clients *clients, const struct limit_memory *memory);

/* A client with a session in this process. */
struct limit_client;

/* Counts one more session for the client at ADDRESS (IPv4 mapped). NULL, and nothing counted: it
 * has LIMIT of them. */
MUST_CHECK struct limit_client *limit_client_enter(struct limit_clients *clients,
						   const struct in6_addr *address, uint32_t limit);
/* Counts one session less. CLIENT is gone with its last one. */
void limit_client_leave(struct limit_client *client);

/* One of its sessions has AFTER bytes of unfinished messages, and had BEFORE. */
void limit_client_change_bytes(struct limit_client *client, uint64_t before, uint64_t after);
/* Those of all its sessions in all processes. */
uint64_t limit_client_bytes(const struct limit_client *client);

#endif
