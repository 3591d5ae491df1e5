// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/bulk/fake_client.h - directory/client/client.h's questions answered out
 * of memory, each at the end of the loop's turn.
 *
 * Records are written "TABLE KEY|NAME VALUE|NAME VALUE".
 */
#ifndef TESTS_UNIT_FAKE_CLIENT_H
#define TESTS_UNIT_FAKE_CLIENT_H

#include "directory/client/client.h"

struct directory_client *fake_client_new(struct os_loop *loop);
void fake_client_set(struct directory_client *client, const char *record);
/* All records in their order, a line each. Valid until the next call. */
const char *fake_client_all(struct directory_client *client);
size_t fake_client_puts(const struct directory_client *client);
/* The most questions that were under way at once. */
size_t fake_client_most(const struct directory_client *client);
/* The next edit finds that RECORD has been put meanwhile. */
void fake_client_disturb(struct directory_client *client, const char *record);
/* Every change from the one after COUNT others on is answered with ERROR. */
void fake_client_fail(struct directory_client *client, size_t count, enum directory_error error);
/* The question of that NUMBER, from 1 and from now on, is answered with ERROR, once; 0: none is. */
void fake_client_fail_question(struct directory_client *client, size_t number,
			       enum directory_error error);
/* How many were asked since then. */
size_t fake_client_asked(const struct directory_client *client);
void fake_client_free(struct directory_client *client);

#endif
