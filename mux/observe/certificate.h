/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate and key that a program shows, read again when their files change. Each handshake gets copies of its
 * own, which GnuTLS frees: so a slow one may outlast what it began with.
 */
#ifndef FAIRLEAD_MUX_CERTIFICATE_H
#define FAIRLEAD_MUX_CERTIFICATE_H

#include <time.h>

#include <gnutls/abstract.h>

#include "config/http_access.h"

struct certificate;

/* Reads both files. NULL and why if one can't be used, or they do not belong together. */
struct certificate *certificate_open(const struct http_access *access, struct reason *why);
void certificate_close(struct certificate *certificate);

/*
 * Reads the files again if one has changed. 1: a new certificate is in use from here on, 0: nothing has changed,
 * -EINVAL and why: what is there now can't be used, and the one before is kept. That is reported once for each change.
 */
int certificate_refresh(struct certificate *certificate, struct reason *why);

/* When it expires. */
time_t certificate_expiry(const struct certificate *certificate);

/* For gnutls_certificate_set_retrieve_function3(), which has no argument of its own: the certificate opened last. */
int certificate_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **chain,
			 unsigned *chain_count, gnutls_ocsp_data_st **staples, unsigned *staples_count,
			 gnutls_privkey_t *key, unsigned *flags);

#endif
