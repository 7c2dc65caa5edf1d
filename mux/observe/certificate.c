/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/certificate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/x509.h>

#include "config/watched_file.h"

enum { PEM_MAX = 1 << 16, CHAIN_MAX = 16, KEY_ID_MAX = 64 };

/* Both files as they were read, and known to be good. */
struct pair {
	char *chain, *key;
	size_t chain_len, key_len;
	time_t expiry;
};

struct certificate {
	struct watched_file chain_file, key_file;
	struct pair pair;
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priorities;
};

/* TLS 1.2 and 1.3, and of 1.2 only what has forward secrecy and authenticates what it encrypts. */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:"
				 "-CAMELLIA-128-CBC:-CAMELLIA-256-CBC:-3DES-CBC:-SHA1";

static void pair_free(struct pair *pair)
{
	watched_file_free(pair->chain, pair->chain_len);
	watched_file_free(pair->key, pair->key_len);
	*pair = (struct pair){0};
}

/* The chain's certificates, by gnutls_malloc(); the caller frees each one and then all. Returns how many, or < 0. */
static int parse_chain(const struct pair *pair, gnutls_pcert_st **out)
{
	const gnutls_datum_t data = {(unsigned char *)pair->chain, (unsigned)pair->chain_len};
	gnutls_pcert_st *chain = gnutls_calloc(CHAIN_MAX, sizeof(*chain));
	unsigned count = CHAIN_MAX;
	int error;

	if (!chain)
		return GNUTLS_E_MEMORY_ERROR;
	error = gnutls_pcert_list_import_x509_raw(chain, &count, &data, GNUTLS_X509_FMT_PEM,
						  GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
	if (error < 0) {
		gnutls_free(chain);
		return error;
	}
	*out = chain;
	return (int)count;
}

static void free_chain(gnutls_pcert_st *chain, int count)
{
	for (int i = 0; i < count; i++)
		gnutls_pcert_deinit(&chain[i]);
	gnutls_free(chain);
}

static int parse_key(const struct pair *pair, gnutls_privkey_t *out)
{
	const gnutls_datum_t data = {(unsigned char *)pair->key, (unsigned)pair->key_len};
	int error = gnutls_privkey_init(out);

	if (error < 0)
		return error;
	error = gnutls_privkey_import_x509_raw(*out, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (error < 0)
		gnutls_privkey_deinit(*out);
	return error;
}

/* Whether the key is the certificate's. */
static bool belong_together(const gnutls_pcert_st *first, gnutls_privkey_t key)
{
	uint8_t ids[2][KEY_ID_MAX] = {{0}};
	size_t lens[2] = {KEY_ID_MAX, KEY_ID_MAX};
	gnutls_pubkey_t public;
	bool same;

	if (gnutls_pubkey_init(&public) < 0)
		return false;
	same = gnutls_pubkey_import_privkey(public, key, 0, 0) >= 0 &&
	       gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, ids[0], &lens[0]) >= 0 &&
	       gnutls_pubkey_get_key_id(first->pubkey, GNUTLS_KEYID_USE_SHA256, ids[1], &lens[1]) >= 0 &&
	       lens[0] == lens[1] && !memcmp(ids[0], ids[1], lens[0]);
	gnutls_pubkey_deinit(public);
	return same;
}

static time_t expiry_of(const gnutls_pcert_st *first)
{
	gnutls_x509_crt_t certificate;
	time_t expiry = -1;

	if (gnutls_pcert_export_x509((gnutls_pcert_st *)first, &certificate) < 0)
		return -1;
	expiry = gnutls_x509_crt_get_expiration_time(certificate);
	gnutls_x509_crt_deinit(certificate);
	return expiry;
}

static int check(const struct certificate *certificate, struct pair *pair, struct reason *why)
{
	const struct watched_file *chain_file = &certificate->chain_file, *key_file = &certificate->key_file;
	gnutls_pcert_st *chain = NULL;
	gnutls_privkey_t key;
	int count = parse_chain(pair, &chain), error = 0;

	if (count < 1)
		return reason_set(why, -EINVAL,
				  "%s: '%.120s' is not allowed: %s; allowed: certificates in PEM, each signed by the "
				  "next, at most %d",
				  chain_file->option, chain_file->path, gnutls_strerror(count), CHAIN_MAX);
	if (parse_key(pair, &key) < 0) {
		error = reason_set(why, -EINVAL, "%s: '%.120s' is not allowed; allowed: a key in PEM, not encrypted",
				   key_file->option, key_file->path);
	} else {
		pair->expiry = expiry_of(&chain[0]);
		if (!belong_together(&chain[0], key))
			error = reason_set(why, -EINVAL, "%s: '%.120s' is not allowed; allowed: the key of %s '%.80s'",
					   key_file->option, key_file->path, chain_file->option, chain_file->path);
		gnutls_privkey_deinit(key);
	}
	free_chain(chain, count);
	return error;
}

/* Reads both files in place of what is in use, which stays if that fails. */
static int load(struct certificate *certificate, struct reason *why)
{
	struct pair pair = {0};
	int error = -EINVAL;

	pair.chain = watched_file_read(&certificate->chain_file, PEM_MAX, &pair.chain_len, why);
	if (pair.chain)
		pair.key = watched_file_read(&certificate->key_file, PEM_MAX, &pair.key_len, why);
	if (pair.key)
		error = check(certificate, &pair, why);
	if (error) {
		pair_free(&pair);
		return error;
	}
	pair_free(&certificate->pair);
	certificate->pair = pair;
	return 0;
}

/* For gnutls_certificate_set_retrieve_function3(): copies, which GnuTLS frees. */
static int retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **chain,
		    unsigned *chain_count, gnutls_ocsp_data_st **staples, unsigned *staples_count,
		    gnutls_privkey_t *key, unsigned *flags)
{
	const struct certificate *certificate = gnutls_session_get_ptr(session);
	int count = parse_chain(&certificate->pair, chain);

	(void)info;
	if (count < 1)
		return -1;
	if (parse_key(&certificate->pair, key) < 0) {
		free_chain(*chain, count);
		return -1;
	}
	*chain_count = (unsigned)count;
	*staples = NULL;
	*staples_count = 0;
	*flags = GNUTLS_CERT_RETR_DEINIT_ALL;
	return 0;
}

static int prepare(struct certificate *certificate, struct reason *why)
{
	int error = gnutls_priority_init(&certificate->priorities, priorities, NULL);

	if (error >= 0)
		error = gnutls_certificate_allocate_credentials(&certificate->credentials);
	if (error < 0)
		return reason_set(why, -ENOMEM, "--http-cert: TLS can't be used: %s", gnutls_strerror(error));
	gnutls_certificate_set_retrieve_function3(certificate->credentials, retrieve);
	return 0;
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
	if (!load(certificate, why) && !prepare(certificate, why))
		return certificate;
	certificate_close(certificate);
	return NULL;
}

void certificate_close(struct certificate *certificate)
{
	if (!certificate)
		return;
	if (certificate->credentials)
		gnutls_certificate_free_credentials(certificate->credentials);
	if (certificate->priorities)
		gnutls_priority_deinit(certificate->priorities);
	pair_free(&certificate->pair);
	free(certificate);
}

gnutls_session_t certificate_session(struct certificate *certificate, int fd)
{
	gnutls_session_t session;

	if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return NULL;
	gnutls_session_set_ptr(session, certificate);
	gnutls_transport_set_int(session, fd);
	if (gnutls_priority_set(session, certificate->priorities) >= 0 &&
	    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, certificate->credentials) >= 0)
		return session;
	gnutls_deinit(session);
	return NULL;
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
	return certificate->pair.expiry;
}
