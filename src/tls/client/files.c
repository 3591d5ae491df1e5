// SPDX-License-Identifier: ISC
/* Reads authorities from a file; errors name it. */
#include "os/file/file.h"
#include "os/process/process.h"
#include "tls/internal.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

enum { FILE_SIZE_MAX = 1 << 20 };

/* A file that is being read. */
struct file {
	const char *path;
	struct buffer text;
	BIO *bio;
	struct buffer *reason;
};

static void close_pem_file(struct file *file)
{
	BIO_free(file->bio);
	buffer_clear(&file->text);
	tls_errors_clear();
}

static int open_pem_file(struct file *file, const char *path, struct buffer *reason)
{
	int descriptor = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_BLOCK);
	int error = descriptor;

	*file = (struct file){.path = path, .reason = reason};
	if (descriptor >= 0) {
		error = os_process_read_text(descriptor, FILE_SIZE_MAX, &file->text);
		os_file_close(descriptor);
	}
	if (error < 0) {
		buffer_append_format(reason, "%s: %s", path, strerror(-error));
		close_pem_file(file);
		return error;
	}
	tls_errors_clear();
	file->bio = BIO_new_mem_buf(buffer_data(&file->text), (int)file->text.length);
	return 0;
}

/* Reports WHAT is wrong with the file, with OpenSSL's reason. */
static int refuse_pem_file(struct file *file, const char *what)
{
	buffer_append_format(file->reason, "%s: ", file->path);
	return tls_errors_refuse(what, file->reason);
}

/* Reads the next certificate: 1 and *CERTIFICATE_OUT; 0 at the end; -EINVAL. */
static int next_certificate_of_file(struct file *file, X509 **certificate_out)
{
	X509 *certificate = PEM_read_bio_X509(file->bio, NULL, tls_deny_passphrase, NULL);
	unsigned long error = ERR_peek_last_error();

	*certificate_out = certificate;
	if (certificate != NULL)
		return 1;
	if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
		return refuse_pem_file(file, "a certificate in it is damaged");
	tls_errors_clear();
	return 0;
}

static int use_authorities(SSL_CTX *openssl, struct file *file)
{
	X509 *certificate;
	size_t count = 0;
	int found;

	while ((found = next_certificate_of_file(file, &certificate)) > 0) {
		bool is_used =
			X509_STORE_add_cert(SSL_CTX_get_cert_store(openssl), certificate) == 1 &&
			SSL_CTX_add_client_CA(openssl, certificate) == 1;

		X509_free(certificate);
		if (!is_used)
			return refuse_pem_file(file, "a certificate in it cannot be used");
		count++;
	}
	if (found == 0 && count == 0)
		return refuse_pem_file(file, "it holds no certificate in PEM form");
	return found;
}

int tls_files_read_authorities(SSL_CTX *openssl, const char *path, struct buffer *reason)
{
	struct file file;
	int error = open_pem_file(&file, path, reason);

	if (error < 0)
		return error;
	error = use_authorities(openssl, &file);
	close_pem_file(&file);
	return error;
}
