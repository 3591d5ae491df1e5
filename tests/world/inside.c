// SPDX-License-Identifier: ISC
/* What of os/ is the product's own: it allocates with the product's memory, and is linked with
 * it. */
#include "inside.h"
#include "base/buffer.h"
#include "os/process.h"
#include <errno.h>

int os_process_read_text(int descriptor, size_t limit, struct buffer *out)
{
	const char *data = NULL;
	ssize_t size = world_text_read(descriptor, &data);

	if (size < 0)
		return (int)size;
	if ((size_t)size > limit)
		return -EFBIG;
	buffer_append_str(out, str_slice(data, (size_t)size));
	return 0;
}
