// SPDX-License-Identifier: ISC
/*
 * tests/unit/smtp/smtp_client_texts.h - what the verdicts of the SMTP client's dialogues say:
 * operators and senders read it.
 */
#ifndef SMTP_CLIENT_TEXTS_H
#define SMTP_CLIENT_TEXTS_H

#include <stddef.h>

/* The last verdict of RECIPIENT, from 0, in the dialogue SCRIPT; NULL: it is not looked at, as two
 * dialogues have that name. */
const char *smtp_client_text(const char *script, size_t recipient);

#endif
