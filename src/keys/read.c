// SPDX-License-Identifier: ISC
#include "keys/read.h"
#include "keys/set.h"
#include "os/sandbox/sandbox.h"
#include "tls/identity.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 16384 };

struct keys_stamp keys_stamp_of(const char *path)
{
	struct keys_stamp stamp = {0};
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_BLOCK);

	stamp.error = file < 0 ? file : os_file_info(file, &stamp.info);
	if (file >= 0)
		os_file_close(file);
	return stamp;
}

bool keys_stamp_is_same(const struct keys_stamp *left, const struct keys_stamp *right)
{
	return left->error == right->error && left->info.inode == right->info.inode &&
	       left->info.device == right->info.device && left->info.size == right->info.size &&
	       left->info.modified_us == right->info.modified_us;
}

bool keys_error_passes(int error)
{
	static const int lasting[] = {0,     EACCES,       EBADMSG, EFBIG,   EINVAL, EISDIR,
				      ELOOP, ENAMETOOLONG, ENOENT,  ENOTDIR, EPERM};

	for (size_t i = 0; i < COUNT_OF(lasting); i++)
		if (error == -lasting[i])
			return false;
	return true;
}

static int read_whole(int file, size_t most, struct buffer *text)
{
	for (;;) {
		char *place = buffer_reserve(text, PIECE);
		ssize_t count = os_file_read(file, place, PIECE, text->length);

		if (count <= 0)
			return (int)count;
		buffer_commit(text, (size_t)count);
		if (text->length > most)
			return -EFBIG;
	}
}

void keys_append_place(const char *path, int error, struct buffer *reason)
{
	char real[OS_SANDBOX_PATH_SIZE];

	if (error == -EACCES && os_sandbox_real_path(path, real) == 0 && strcmp(path, real) != 0)
		buffer_append_format(reason, " (it leads to %s)", real);
}

/* Of what was opened, not of what the path leads to by then. */
static int check_mode(int file, mode_t forbidden)
{
	struct os_file_info info;
	int error = os_file_info(file, &info);

	if (error < 0)
		return error;
	return (info.mode & forbidden) != 0 ? -EPERM : 0;
}

/* -EPERM: the file's mode has some of FORBIDDEN. */
static int read_key_file(const char *path, size_t most, mode_t forbidden, struct buffer *text,
			 struct buffer *reason)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_BLOCK);
	int error = file;

	if (file >= 0) {
		error = forbidden != 0 ? check_mode(file, forbidden) : 0;
		if (error == 0)
			error = read_whole(file, most, text);
		os_file_close(file);
	}
	if (error == -EFBIG)
		buffer_append_format(reason, "larger than %zu bytes", most);
	else if (error == -EPERM && forbidden != 0)
		buffer_append_string(reason,
				     "users other than its owner and group have access to it");
	else if (error < 0)
		buffer_append_string(reason, strerror(-error));
	keys_append_place(path, error, reason);
	return error;
}

/* Copies the certificates in TEXT to the end of OUT. */
static void copy_certificates(struct str text, struct buffer *out)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	static const char end[] = "-----END CERTIFICATE-----";
	struct str rest = text;

	for (;;) {
		const char *from = memmem(rest.data, rest.length, begin, sizeof begin - 1);
		const char *to = from == NULL
					 ? NULL
					 : memmem(from, rest.length - (size_t)(from - rest.data),
						  end, sizeof end - 1);

		if (to == NULL)
			return;
		to += sizeof end - 1;
		buffer_append(out, from, (size_t)(to - from));
		buffer_append_byte(out, '\n');
		rest = str_slice(to, rest.length - (size_t)(to - rest.data));
	}
}

int keys_read_secret(const char *path, size_t most, struct buffer *text, struct buffer *reason)
{
	text->is_secret = true;
	return read_key_file(path, most, S_IRWXO, text, reason);
}

int keys_read_certificates(const char *path, size_t most, struct buffer *certificates,
			   struct buffer *reason)
{
	struct buffer text = {.is_secret = true};
	int error = read_key_file(path, most, 0, &text, reason);

	if (error == 0)
		copy_certificates(buffer_view(&text), certificates);
	buffer_clear(&text);
	return error;
}

int keys_read_authorities(const char *path, size_t room, struct buffer *text, struct buffer *reason)
{
	int error = keys_read_certificates(path, KEYS_AUTHORITY_SIZE_MAX, text, reason);

	if (error == 0 && text->length > room) {
		buffer_append_format(reason,
				     "with its %zu bytes all files of authorities together have "
				     "more than %d bytes",
				     text->length, KEYS_AUTHORITIES_SIZE_MAX);
		return -EFBIG;
	}
	return error < 0 ? error : tls_identity_judge_authorities(buffer_view(text), reason);
}

int keys_file_refresh(struct keys_file *file, const char *path, size_t room, struct buffer *reason)
{
	struct keys_stamp stamp = keys_stamp_of(path);
	const bool is_same = file->is_known && keys_stamp_is_same(&stamp, &file->stamp);
	const int before = file->error;
	struct buffer text = {0};

	if (is_same && !keys_error_passes(before))
		return 0;
	file->is_known = true;
	file->stamp = stamp;
	file->error = keys_read_authorities(path, room, &text, reason);
	if (file->error < 0) {
		buffer_clear(&text);
		return is_same && file->error == before ? 0 : file->error;
	}
	buffer_clear(&file->text);
	file->text = text;
	return 1;
}

void keys_file_clear(struct keys_file *file)
{
	buffer_clear(&file->text);
}
