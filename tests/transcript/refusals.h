// SPDX-License-Identifier: ISC
/*
 * tests/transcript/refusals.h - whoever is refused for good is reported, for the log: with the
 * words that the client gets.
 */
#ifndef TESTS_TRANSCRIPT_REFUSALS_H
#define TESTS_TRANSCRIPT_REFUSALS_H

#include "base/buffer.h"
#include "smtp/server/server.h"

/* Appends a line to REPORTED. */
void refusals_note(struct buffer *reported, const struct smtp_refusal *refusal);
/* Whether each reply 5yz of OUTPUT, or each answer D of QMTP, was reported. */
bool refusals_have_replies(const struct buffer *reported, struct str output);
bool refusals_have_answers(const struct buffer *reported, struct str output);

#endif
