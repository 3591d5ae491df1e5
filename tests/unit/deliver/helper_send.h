/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/deliver/helper_send.h - "send" to a helper (deliver/helper.h), and its connection,
 * which are the test's: what the helper says must be what is expected of it.
 */
#ifndef TESTS_UNIT_HELPER_SEND_H
#define TESTS_UNIT_HELPER_SEND_H

#include "base/buffer.h"
#include "deliver/helper.h"
#include "ipc/channel.h"
#include "ipc/job.h"

enum { HELPER_SEND_JOBS = 6 };

extern struct helper_send_job {
	struct deliver_helper_job *job; /* NULL: there is none */
	uint32_t tag;
	size_t recipients;
	bool is_orphan;
	struct buffer wanted; /* a line for each report that has not come */
} helper_send_jobs[HELPER_SEND_JOBS];

extern struct helper_send {
	struct deliver_helper *helper;
	const struct ipc_client_handler *handler;
	void *context;
	bool is_connected, is_freed;
	struct deliver_helper_job *given; /* the last */
	unsigned refused, hellos, retired, drained, lost, said, busy;
	uint32_t ended; /* the tag of the last that ended */
	struct ipc_job_busy last_busy;
	char last_reason[64];
} helper_send;

/* A helper for "box", with 7 places, which is not connected yet. */
void helper_send_begin(const struct deliver_helper_handler *handler);
void helper_send_connect(void);
/* All jobs lose it. */
void helper_send_lose(void);
/* FILE: -1: none; otherwise it is the helper's, or closed. */
void helper_send_say(uint16_t type, uint32_t tag, struct str body, int file);

/* What a START says; the rest is the same each time. */
struct helper_send_start {
	uint32_t needs, ret, checksum;
	size_t recipients;
	const char *content;
};
void helper_send_pack(struct buffer *body, const struct helper_send_start *start);

/* For helper_send_begin(): they note what they are given. */
void helper_send_on_job(void *context, struct deliver_helper_job *job);
void helper_send_on_drain(void *context);
void helper_send_on_lost(void *context);

#endif
