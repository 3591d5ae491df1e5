// SPDX-License-Identifier: ISC
/* tests/unit/filing/decode/decode_text.h - a decoded message in lines, for comparisons. */
#ifndef TESTS_UNIT_DECODE_TEXT_H
#define TESTS_UNIT_DECODE_TEXT_H

#include "base/buffer.h"
#include "filing/decode/message.h"

/* One line for each thing that is there:
 *
 *	subject TEXT
 *	date SECONDS
 *	ROLE <ADDRESS> NAME
 *	part NUMBER TYPE CHARSET DISPOSITION SIZE FILENAME     "-": none
 *	problem TEXT
 */
void decode_text_append(struct buffer *out, const struct decode_message *message);

#endif
