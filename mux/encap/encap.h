/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encapsulation is the header that a mux puts in front of a service's packets. Each is a file here and a
 * line in fairlead/encap.h. A backend's template is made once, with its table; then each packet costs a copy of it and the fields that
 * differ. All begin with Ethernet and an IP header of the backend's family, regardless of the inner family.
 *
 *	check		whether a service's configuration is allowed
 *	check_backend	whether a backend is allowed
 *	fill		the template of a backend
 *	names_one	its header names one candidate, others a whole list
 *	overhead	what it adds to a packet, for the MTU
 *	write		the header of one packet
 *
 * Most packets are GUE over IPv4; their header is written inline (gue.h) or in lanes (headers/lanes_headers.c).
 */
#ifndef FAIRLEAD_MUX_ENCAP_H
#define FAIRLEAD_MUX_ENCAP_H

#include <stddef.h>

#include <fairlead/encap.h>
#include <fairlead/ip.h>
#include <fairlead/list.h>

#include "config/reason.h"
#include "host/next_hop.h"

struct fl_delta_backend;
struct fl_siphash_key;
struct service_config;

enum encap_numbers {
	ENCAP_AT_IP = 14,
	ENCAP_TTL = 64,
	ENCAP_OWN_LEN = 16, /* behind the IPv4 header */
	ENCAP_HEAD_LEN = ENCAP_AT_IP + FL_IPV4_LEN + ENCAP_OWN_LEN,
};

/* Headers without a VLAN tag that the packet path writes by itself: over IPv4, the last one over IPv6. */
enum encap_plain {
	ENCAP_PLAIN_NONE = 0,
	ENCAP_PLAIN_GUE,  /* gue_write_plain() */
	ENCAP_PLAIN_IPIP, /* in lanes (headers/lanes_headers.c) */
	ENCAP_PLAIN_SRV6, /* the same */
};

/* The part of a backend's outer header that all its packets share: most of the backend's cache line. */
struct encap_template {
	union {
		uint8_t head[ENCAP_HEAD_LEN]; /* over IPv4: the header; lengths, DSCP, checksum are zero */
		struct {                      /* over IPv6 */
			uint8_t macs[12];
			uint8_t type[2];
			uint8_t addresses[32];
			uint8_t spare[2];
			uint8_t service[2]; /* of SRv6: its short id */
		};
	};
	uint16_t sum;  /* of the IPv4 header: folded, not inverted */
	uint8_t ipv6;  /* the outer header's family */
	uint8_t plain; /* enum encap_plain */
};

_Static_assert(offsetof(struct encap_template, sum) == ENCAP_HEAD_LEN, "what is over IPv6 is no longer");

/* The fields that differ by packet. */
struct encap_fields {
	uint16_t inner_len; /* the inner IP packet's */
	uint8_t tos;
	uint32_t hash; /* the low half */
	uint32_t now;  /* Unix seconds; if the header has a time */
	const struct fl_siphash_key
	    *tag_key;               /* the service's, if TAG: the tag covers the inner packet behind the header */
	const struct fl_list *list; /* its tag is ignored */
};

struct encap {
	const char *name; /* the word in a service's configuration */
	bool has_tags;
	bool names_one;

	/* -EINVAL or -EAFNOSUPPORT. NULL: all are allowed. */
	int (*check)(const struct service_config *config, struct reason *why);
	int (*check_backend)(const struct fl_delta_backend *backend, struct reason *why);

	/* out: all zero. service: its short id. */
	void (*fill)(struct encap_template *out, uint16_t service, const struct fl_address *address,
		     const struct next_hop *hop);

	/* Bytes from the outer IP header to the inner one with so many candidates and these enum fl_list_flags. */
	uint32_t (*overhead)(const struct encap_template *template, uint8_t count, uint8_t flags);

	/* Writes Ethernet and `overhead` bytes to out; the inner packet is behind them. */
	void (*write)(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields);
};

/* How many candidates a header can name. */
static inline uint8_t encap_candidates(const struct encap *encap)
{
	return encap->names_one ? 1 : FL_LIST_MAX;
}

/* encap_gue and so on. */
#define ENCAP_DECLARATION(NAME, word) extern const struct encap encap_##word;
FL_ENCAPS(ENCAP_DECLARATION)
#undef ENCAP_DECLARATION

/* All encapsulations, NULL-terminated. */
extern const struct encap *const encaps[FL_ENCAPS_COUNT + 1];

/* For `fill`: Ethernet and IP, with the protocol of what follows IPv4. */
void encap_fill_ip(struct encap_template *out, uint8_t protocol, const struct fl_address *address,
		   const struct next_hop *hop);

/* Ethernet and IPv6, of so many bytes with this protocol behind it; returns where they begin. */
uint8_t *encap_write_ipv6(uint8_t *out, const struct encap_template *template, uint8_t protocol, uint8_t tos,
			  uint32_t hash, uint32_t len);

/* For `check_backend`: only SRv6 has foreign end-points. */
int encap_refuse_foreign(const struct fl_delta_backend *backend, struct reason *why);

/* The one's-complement sum of an IPv4 header of len bytes, folded. */
uint16_t encap_sum(const uint8_t *header, uint32_t len);

/* The backend's address in a template. */
struct fl_address encap_destination(const struct encap_template *template);

/* Inserts a VLAN tag behind the MAC addresses of a frame that begins FL_VLAN_LEN bytes behind out. */
void encap_write_vlan(uint8_t *out, uint16_t vlan);

/* The largest inner packet that fits an MTU; 0 if none does. */
static inline uint32_t encap_room(uint32_t overhead, uint16_t mtu)
{
	return mtu > overhead ? mtu - overhead : 0;
}

#endif
