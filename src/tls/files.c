// SPDX-License-Identifier: ISC
/* Reads certificates, keys and authorities from files; errors name the file. */
#include "os/file.h"
#include "os/process.h"
#include "tls/internal.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

enum { FILE_SIZE_MAX = 1 << 20 };

/* A file of the settings that is being read. */
struct file {
	const char *path;
	struct buffer text;
	BIO *bio;
	bool has_passphrase;
	struct buffer *reason;
};

static bool is_set(const char *path)
{
	return path != NULL && path[0] != '\0';
}

static void close_file(struct file *file)
{
	BIO_free(file->bio);
	buffer_clear(&file->text);
	tls_errors_clear();
}

static int open_file(struct file *file, const char *path, struct buffer *reason)
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
		close_file(file);
		return error;
	}
	tls_errors_clear();
	file->bio = BIO_new_mem_buf(buffer_data(&file->text), (int)file->text.length);
	return 0;
}

/* Reports WHAT is wrong with the file, with OpenSSL's reason. */
static int refuse(struct file *file, const char *what)
{
	struct buffer detail = {0};

	tls_errors_take(&detail);
	buffer_append_format(file->reason, "%s: %s", file->path, what);
	if (detail.length > 0)
		buffer_append_format(file->reason, ": " STR_FORMAT,
				     STR_ARGUMENTS(buffer_view(&detail)));
	buffer_clear(&detail);
	return -EINVAL;
}

/* Nobody could enter a passphrase. */
static int deny_passphrase(char *text, int size, int is_new, void *context)
{
	struct file *file = context;

	(void)text;
	(void)size;
	(void)is_new;
	file->has_passphrase = true;
	return -1;
}

/* Reads the next certificate: 1 and *CERTIFICATE_OUT; 0 at the end; -EINVAL. */
static int next_certificate(struct file *file, X509 **certificate_out)
{
	X509 *certificate = PEM_read_bio_X509(file->bio, NULL, deny_passphrase, file);
	unsigned long error = ERR_peek_last_error();

	*certificate_out = certificate;
	if (certificate != NULL)
		return 1;
	if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
		return refuse(file, "a certificate in it is damaged");
	tls_errors_clear();
	return 0;
}

static int use_certificate(SSL_CTX *openssl, struct file *file)
{
	X509 *certificate;
	int found = next_certificate(file, &certificate);

	if (found == 0)
		return refuse(file, "it holds no certificate in PEM form");
	if (found > 0 && SSL_CTX_use_certificate(openssl, certificate) != 1)
		found = refuse(file, "the certificate cannot be used");
	X509_free(certificate);
	while (found > 0) {
		found = next_certificate(file, &certificate);
		if (found > 0 && SSL_CTX_add0_chain_cert(openssl, certificate) != 1) {
			X509_free(certificate);
			found = refuse(file, "a certificate of the chain cannot be used");
		}
	}
	return found;
}

static int use_key(SSL_CTX *openssl, struct file *file)
{
	EVP_PKEY *key = PEM_read_bio_PrivateKey(file->bio, NULL, deny_passphrase, file);
	int error = 0;

	if (key == NULL && file->has_passphrase) {
		tls_errors_clear();
		return refuse(file, "the private key has a passphrase");
	}
	if (key == NULL) {
		tls_errors_clear();
		return refuse(file, "it holds no private key in PEM form");
	}
	if (SSL_CTX_use_PrivateKey(openssl, key) != 1)
		error = refuse(file, "the private key is not that of the certificate");
	EVP_PKEY_free(key);
	return error;
}

static int use_authorities(SSL_CTX *openssl, struct file *file)
{
	X509 *certificate;
	size_t count = 0;
	int found;

	while ((found = next_certificate(file, &certificate)) > 0) {
		bool is_used =
			X509_STORE_add_cert(SSL_CTX_get_cert_store(openssl), certificate) == 1 &&
			SSL_CTX_add_client_CA(openssl, certificate) == 1;

		X509_free(certificate);
		if (!is_used)
			return refuse(file, "a certificate in it cannot be used");
		count++;
	}
	if (found == 0 && count == 0)
		return refuse(file, "it holds no certificate in PEM form");
	return found;
}

static int use_file(SSL_CTX *openssl, const char *path, int (*use)(SSL_CTX *, struct file *),
		    struct buffer *reason)
{
	struct file file;
	int error = open_file(&file, path, reason);

	if (error < 0)
		return error;
	error = use(openssl, &file);
	close_file(&file);
	return error;
}

int tls_files_read(struct tls_context *context, const struct tls_settings *settings,
		   struct buffer *reason)
{
	const char *key = is_set(settings->key) ? settings->key : settings->certificate;
	int error = 0;

	context->has_authority = is_set(settings->authority);
	if (is_set(settings->certificate)) {
		error = use_file(context->openssl, settings->certificate, use_certificate, reason);
		if (error == 0)
			error = use_file(context->openssl, key, use_key, reason);
	}
	if (error == 0 && context->has_authority)
		error = use_file(context->openssl, settings->authority, use_authorities, reason);
	return error;
}
