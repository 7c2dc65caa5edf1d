/* SPDX-License-Identifier: Apache-2.0 */
#include "config/protection.h"

#include <errno.h>
#include <string.h>

#include "config/address.h"

const struct protection_words protections[PROTECTIONS] = {
    [PROTECTION_TAG_KEY] = {"tag_key", "--tag-key"},
    [PROTECTION_ZOOKEEPER_LOGIN] = {"zookeeper_login", "--zookeeper-auth"},
    [PROTECTION_ZOOKEEPER_TRANSPORT] = {"zookeeper_transport", "TLS by a tunnel on this host"},
    [PROTECTION_HTTP] = {"http", "--http-tokens and --http-cert"},
};

/* Other names than localhost are not looked up. */
static bool is_loopback(const char *host)
{
	struct fl_address address;

	return address_parse(host, &address) ? address_is_loopback(&address) : !strcmp(host, "localhost");
}

/* The first of HOST:PORT,... that is not on this host; NULL: none. *len: its length. */
static const char *beyond_loopback(const char *servers, size_t *len)
{
	for (const char *at = servers;; at += *len + 1) {
		char host[HTTP_TEXT_MAX + 1];
		uint16_t port;

		*len = strcspn(at, ",");
		if (host_port_split(at, *len, host, sizeof(host), &port) || !is_loopback(host))
			return at;
		if (!at[*len])
			return NULL;
	}
}

int protection_check_zookeeper(const char *servers, bool clear_text, struct reason *why)
{
	size_t len;
	const char *server = clear_text ? NULL : beyond_loopback(servers, &len);

	if (!server)
		return 0;
	return reason_set(
	    why, -EINVAL,
	    "--zookeeper: '%.*s' is not a loopback address, and nothing encrypts the connection; allowed: a "
	    "loopback address where a tunnel with TLS begins (docs/zookeeper-tls.md), or "
	    "--zookeeper-clear-text on",
	    (int)len, server);
}

unsigned protection_missing(bool has_tag_key, bool has_login, const char *zookeeper, const struct http_access *http)
{
	bool is_local = *http->socket || is_loopback(http->host);
	bool is_missing[PROTECTIONS] = {
	    [PROTECTION_TAG_KEY] = !has_tag_key,
	    [PROTECTION_ZOOKEEPER_LOGIN] = !has_login,
	    [PROTECTION_ZOOKEEPER_TRANSPORT] = beyond_loopback(zookeeper, &(size_t){0}),
	    [PROTECTION_HTTP] = http->open && !is_local && (!*http->certificate || !*http->tokens),
	};
	unsigned missing = 0;

	for (int i = 0; i < PROTECTIONS; i++)
		missing |= (unsigned)is_missing[i] << i;
	return missing;
}
