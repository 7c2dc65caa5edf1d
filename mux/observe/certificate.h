/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate and key that a program shows by TLS, read again when their files change. A session keeps what it
 * began with: so a slow handshake may outlast it.
 */
#ifndef FAIRLEAD_MUX_CERTIFICATE_H
#define FAIRLEAD_MUX_CERTIFICATE_H

#include <time.h>

#include <gnutls/gnutls.h>

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

/* The server's side of a session on a socket that does not block. NULL: no memory. */
gnutls_session_t certificate_session(struct certificate *certificate, int fd);
void certificate_end(gnutls_session_t session);

#endif
