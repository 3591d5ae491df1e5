// SPDX-License-Identifier: ISC
/* The site's key (setting site_key) where the configuration has none. */
#include "base/panic.h"
#include "os/file/file.h"
#include "os/random.h"
#include "supervisor/internal.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

enum { ID_DIGITS = 32, DIGEST_SIZE = 32 };

/* The machine's identifier (machine-id(5)), which is not to be used itself: false if there is
 * none. */
static bool read_id(char id[ID_DIGITS])
{
	int file = os_file_open(OS_FILE_HERE, "/etc/machine-id", OS_FILE_READ);
	ssize_t length;

	if (file < 0)
		return false;
	length = os_file_read(file, id, ID_DIGITS, 0);
	os_file_close(file);
	return length == ID_DIGITS && memchr(id, '\n', ID_DIGITS) == NULL;
}

struct hash_key supervisor_make_site_key(void)
{
	static const unsigned char use[] = "stagepost site key 1";
	unsigned char digest[DIGEST_SIZE];
	struct hash_key key = {os_random_u64(), os_random_u64()};
	char id[ID_DIGITS];

	if (!read_id(id))
		return key;
	if (HMAC(EVP_sha256(), id, sizeof id, use, sizeof use - 1, digest, NULL) == NULL)
		panic("no memory for a digest");
	memcpy(&key, digest, sizeof key);
	return key;
}
