/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/certificate.h"

#include <errno.h>
#include <stdlib.h>

#include <gnutls/x509.h>

#include "config/watched_file.h"

enum { PEM_MAX = 1 << 16, CHAIN_MAX = 16 };

/* What sessions show. It is freed when none of them uses it any more, and another one is in use. */
struct shown {
	gnutls_certificate_credentials_t credentials;
	unsigned users;
};

struct certificate {
	struct watched_file chain_file, key_file;
	struct shown *shown;
	time_t expiry;
	gnutls_priority_t priorities;
};

/* TLS 1.2 and 1.3, and of 1.2 only what has forward secrecy and authenticates what it encrypts. */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:"
				 "-CAMELLIA-128-CBC:-CAMELLIA-256-CBC:-3DES-CBC:-SHA1";

static void release(struct shown *shown)
{
	if (!shown || --shown->users)
		return;
	if (shown->credentials)
		gnutls_certificate_free_credentials(shown->credentials);
	free(shown);
}

/* Puts both files' content into credentials, if they belong together. 0, or -EINVAL and why. */
static int fill(struct certificate *certificate, const gnutls_datum_t *chain, const gnutls_datum_t *key,
		gnutls_certificate_credentials_t out, struct reason *why)
{
	const struct watched_file *chain_file = &certificate->chain_file, *key_file = &certificate->key_file;
	gnutls_x509_privkey_t private = NULL;
	gnutls_x509_crt_t *list = NULL;
	unsigned count = 0;
	int error = gnutls_x509_crt_list_import2(&list, &count, chain, GNUTLS_X509_FMT_PEM,
						 GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

	if (error < 0)
		count = 0;
	if (count > CHAIN_MAX)
		error = GNUTLS_E_SHORT_MEMORY_BUFFER;
	if (error < 0)
		error = reason_set(why, -EINVAL,
				   "%s: '%.120s' is not allowed: %s; allowed: certificates in PEM, each signed by the "
				   "next, at most %d",
				   chain_file->option, chain_file->path, gnutls_strerror(error), CHAIN_MAX);
	else if (gnutls_x509_privkey_init(&private) < 0 ||
		 gnutls_x509_privkey_import2(private, key, GNUTLS_X509_FMT_PEM, NULL, 0) < 0)
		error = reason_set(why, -EINVAL, "%s: '%.120s' is not allowed; allowed: a key in PEM, not encrypted",
				   key_file->option, key_file->path);
	else if (gnutls_certificate_set_x509_key(out, list, (int)count, private) < 0)
		error = reason_set(why, -EINVAL, "%s: '%.120s' is not allowed; allowed: the key of %s '%.80s'",
				   key_file->option, key_file->path, chain_file->option, chain_file->path);
	else
		certificate->expiry = gnutls_x509_crt_get_expiration_time(list[0]);
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
	gnutls_x509_privkey_deinit(private);
	return error < 0 ? error : 0;
}

/* Reads both files in place of what is in use, which stays if that fails. */
static int load(struct certificate *certificate, struct reason *why)
{
	struct shown *shown = calloc(1, sizeof(*shown));
	size_t chain_len = 0, key_len = 0;
	char *chain = watched_file_read(&certificate->chain_file, PEM_MAX, &chain_len, why);
	char *key = chain ? watched_file_read(&certificate->key_file, PEM_MAX, &key_len, why) : NULL;
	int error = -EINVAL;

	if (!shown || gnutls_certificate_allocate_credentials(&shown->credentials) < 0)
		error = reason_set(why, -EINVAL, "--http-cert: no memory");
	else if (key)
		error = fill(certificate, &(gnutls_datum_t){(unsigned char *)chain, (unsigned)chain_len},
			     &(gnutls_datum_t){(unsigned char *)key, (unsigned)key_len}, shown->credentials, why);
	watched_file_free(chain, chain_len);
	watched_file_free(key, key_len);
	if (shown)
		shown->users = 1;
	release(error ? shown : certificate->shown);
	if (!error)
		certificate->shown = shown;
	return error;
}

struct certificate *certificate_open(const struct http_access *access, struct reason *why)
{
	struct certificate *certificate = calloc(1, sizeof(*certificate));

	if (!certificate) {
		reason_set(why, -ENOMEM, "--http-cert: no memory");
		return NULL;
	}
	certificate->chain_file = (struct watched_file){.option = "--http-cert", .path = access->certificate};
	certificate->key_file =
	    (struct watched_file){.option = "--http-key", .path = access->key, .forbidden = WATCHED_FILE_GROUP};
	watched_file_has_changed(&certificate->chain_file);
	watched_file_has_changed(&certificate->key_file);
	if (!load(certificate, why)) {
		int error = gnutls_priority_init(&certificate->priorities, priorities, NULL);

		if (error >= 0)
			return certificate;
		reason_set(why, -ENOMEM, "--http-cert: TLS can't be used: %s", gnutls_strerror(error));
	}
	certificate_close(certificate);
	return NULL;
}

void certificate_close(struct certificate *certificate)
{
	if (!certificate)
		return;
	if (certificate->priorities)
		gnutls_priority_deinit(certificate->priorities);
	release(certificate->shown);
	free(certificate);
}

gnutls_session_t certificate_session(struct certificate *certificate, int fd)
{
	gnutls_session_t session;

	if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return NULL;
	certificate->shown->users++;
	gnutls_session_set_ptr(session, certificate->shown);
	gnutls_transport_set_int(session, fd);
	if (gnutls_priority_set(session, certificate->priorities) >= 0 &&
	    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, certificate->shown->credentials) >= 0)
		return session;
	certificate_end(session);
	return NULL;
}

void certificate_end(gnutls_session_t session)
{
	struct shown *shown = gnutls_session_get_ptr(session);

	gnutls_deinit(session);
	release(shown);
}

int certificate_refresh(struct certificate *certificate, struct reason *why)
{
	bool has_changed = watched_file_has_changed(&certificate->chain_file);

	has_changed |= watched_file_has_changed(&certificate->key_file);
	if (!has_changed)
		return 0;
	return load(certificate, why) ? -EINVAL : 1;
}

time_t certificate_expiry(const struct certificate *certificate)
{
	return certificate->expiry;
}
