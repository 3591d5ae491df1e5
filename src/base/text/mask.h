// SPDX-License-Identifier: ISC
/*
 * base/text/mask.h - masks of texts: '*' stands for any text, '?' for one byte.
 */
#ifndef BASE_TEXT_MASK_H
#define BASE_TEXT_MASK_H

#include "base/str.h"

/* Whether MASK has all of TEXT, ignoring the case of A-Z and a-z. In the worst case that compares
 * as many bytes as the product of the lengths. */
bool mask_matches(struct str mask, struct str text);

#endif
