// SPDX-License-Identifier: ISC
/* directory/key_internal.h - the part of directory/key.h that knows Unicode. */
#ifndef DIRECTORY_KEY_INTERNAL_H
#define DIRECTORY_KEY_INTERNAL_H

#include "base/attributes.h"
#include "base/buffer.h"

/* NAME, UTF-8 or with A-labels, as A-labels in lower case, appended to OUT; -EINVAL when
 * IDNA2008 has none or they are no host name. */
MUST_CHECK int directory_unicode_domain(struct str name, struct buffer *out);
/* LOCAL, without quotes, in lower case and NFC, appended to OUT; -EINVAL when it is not
 * UTF-8, has a control character, or has no stable form. */
MUST_CHECK int directory_unicode_local(struct str local, struct buffer *out);
/* NAME, A-labels, with the U-labels that there are; as it is when it has none. */
void directory_unicode_display(struct str name, struct buffer *out);

#endif
