/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include "encap/gue.h"
#include "flow/verdict.h"
#include "port.h"
#include "ring/lists.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/ring/steering_ring.h"

enum word_bits {
	WORD_ROOM = 32,
	WORD_PORT = 48,
	WORD_IPV6 = 52,
	WORD_REMOVED = 53,
	WORD_STATE = 56,
};

const char *p4_verdict_name(unsigned verdict)
{
	static const char *const names[] = {"fragment", "icmp", "options", "extensions", "referred"};

	if (verdict < P4_VERDICT_FRAGMENT)
		return verdict_name((enum verdict)verdict);
	return verdict < P4_VERDICTS ? names[verdict - P4_VERDICT_FRAGMENT] : "unknown";
}

bool p4_has_encap(const struct encap *encap)
{
	return encap == &encap_gue || encap == &encap_ipip;
}

bool p4_has_steering(const struct steering *steering)
{
	return steering == &steering_ring || steering == &steering_hunt || steering == &steering_maat ||
	       steering == &steering_othello;
}

/* Whether the program finds the servers of packets to ports of this protocol, and writes their headers. */
static bool is_steered(const struct service *service, uint8_t protocol)
{
	if (service->packets_per_second || service->bytes_per_second) /* workers count what they forward */
		return false;
	if (!p4_has_encap(service->encap) || !p4_has_steering(steerings[service->steering]))
		return false;
	return protocol != IPPROTO_UDP || !service->quic.length;
}

/* Whether the program keeps no filter as this service has it: one with more hashes, or of SYNs that it does not see. */
static bool has_foreign_filter(const struct service *service)
{
	const struct maat *maat = maat_of(service);

	return maat && (service->mss || maat->settings.filter_hashes > P4_FILTER_HASHES_MAX);
}

uint8_t p4_kind(const struct service *service, uint8_t protocol, bool by_id, bool tagged)
{
	uint8_t kind = service->hash == FL_HASH_SIPHASH ? P4_KIND_SIPHASH : 0;

	if (service->affinity == AFFINITY_CLIENT)
		kind |= P4_KIND_CLIENT;
	if (by_id)
		kind |= P4_KIND_BY_ID;
	if (protocol == IPPROTO_UDP && service->stateless_udp)
		kind |= P4_KIND_STATELESS;
	if (protocol == IPPROTO_TCP && service->mss)
		kind |= P4_KIND_REFER_SYN;
	if (protocol == IPPROTO_TCP && !by_id && steerings[service->steering]->has_second)
		kind |= P4_KIND_SECOND;
	if (service->encap == &encap_ipip)
		kind |= P4_KIND_IPIP;
	if (tagged || !is_steered(service, protocol) || (kind & P4_KIND_SECOND && has_foreign_filter(service)))
		kind |= P4_KIND_REFER;
	return kind;
}

void p4_service_line(const struct service *service, const struct backends *backends, uint64_t line[P4_LINE_WORDS])
{
	memset(line, 0, P4_LINE_WORDS * sizeof(*line));
	line[P4_LINE_ROOM] = backends_room(backends, 0, 0);
	line[P4_LINE_KEY] = service->key.k0;
	line[P4_LINE_KEY + 1] = service->key.k1;
}

static uint64_t fixed(float value)
{
	static const float most = (float)(UINT64_C(1) << 41);

	return (uint64_t)((value < most ? value : most) * (float)(1 << 20));
}

uint64_t p4_score(const struct service *service, uint16_t id)
{
	float score = maat_loads_float(&maat_of(service)->loads->scores[id]);

	return score < 0 ? P4_SCORE_UNKNOWN : fixed(score);
}

uint64_t p4_least(const struct service *service)
{
	uint64_t least = fixed(maat_loads_float(&maat_of(service)->loads->least));

	return least ? least : 1; /* equal loads: the first */
}

uint64_t p4_filter(const struct service *service, uint32_t base)
{
	const struct maat_settings *settings = &maat_of(service)->settings;

	return base | settings->filter_hashes << 24 | (uint64_t)(settings->filter_bytes - 1) << 32;
}

static bool has_room(fl_row row)
{
	return (uint64_t)(row >> 32) + p4_list_words(row) <= P4_LISTS_WORDS;
}

uint64_t p4_row(fl_row row, uint32_t ids)
{
	if (fl_row_current(row) >= ids)
		return FL_BACKEND_NONE;
	return has_room(row) ? row : fl_row_current(row) | (fl_row)P4_ROW_REFERRED << 16;
}

uint32_t p4_list_words(fl_row row)
{
	uint32_t count = lists_count(row);

	if (!count)
		return 0;
	return lists_flags(row) & FL_LIST_IPV6 ? count * LISTS_IPV6_LEN / 8 : LISTS_WORDS;
}

uint64_t p4_list_word(const struct lists *lists, fl_row row, uint32_t at)
{
	return fl_load_be64(lists_get(lists->cells, row)->bytes + 8 * at);
}

uint64_t p4_set_words(const struct othello_arrays *arrays)
{
	return P4_SET_HEAD + (othello_arrays_count(arrays) + P4_SET_CELLS - 1) / P4_SET_CELLS;
}

uint64_t p4_set_word(const struct othello_arrays *arrays, uint32_t at)
{
	uint64_t count = othello_arrays_count(arrays), first = ((uint64_t)at - P4_SET_HEAD) * P4_SET_CELLS;
	uint64_t word = 0;

	if (at < P4_SET_HEAD)
		return at ? (uint64_t)arrays->nb << 32 | arrays->na : arrays->seed;
	for (uint32_t i = 0; i < P4_SET_CELLS && first + i < count; i++)
		word |= (uint64_t)othello_arrays_cell(arrays, (uint32_t)first + i) << 16 * i;
	return word;
}

/* Of an IPv4 header without options, which is what the pipeline completes for each encapsulation. */
static uint16_t plain_sum(const struct encap_template *outer)
{
	uint8_t ip[FL_IPV4_LEN];

	memcpy(ip, outer->head + ENCAP_AT_IP, sizeof(ip));
	ip[0] = 0x45;
	return encap_sum(ip, sizeof(ip));
}

void p4_template(const struct backend *backend, uint64_t line[P4_LINE_WORDS])
{
	const struct encap_template *outer = &backend->outer;

	memset(line, 0, P4_LINE_WORDS * sizeof(*line));
	line[P4_TEMPLATE_SCORE] = P4_SCORE_UNKNOWN;
	line[0] = fl_load_be64(outer->head);
	if (!outer->ipv6) {
		line[1] = plain_sum(outer);
		line[2] = fl_load_be64(outer->head + ENCAP_AT_IP + 12);
		return;
	}
	for (int i = 0; i < 4; i++)
		line[2 + i] = fl_load_be64(outer->addresses + 8 * i);
}

uint64_t p4_tail(const struct backend *backend)
{
	return (uint64_t)fl_load_be32(backend->outer.macs + 8) << 16 |
	       (backend->outer.ipv6 ? FL_TYPE_IPV6 : FL_TYPE_IPV4);
}

uint64_t p4_backend_word(const struct backends *backends, const struct backend *backend, uint32_t place, uint8_t wire)
{
	uint64_t state = backend_state(backend), room;

	if (state == BACKEND_ABSENT)
		return 0;
	if (state == BACKEND_READY && (backend->vlan || wire >= P4_PORT_WIRES))
		state = P4_STATE_REFERRED;
	room = encap_room(backends->encap->overhead(&backend->outer, 0, 0), backend->mtu);
	return place * (uint64_t)P4_LINE_WORDS | room << WORD_ROOM | (uint64_t)(wire & 0xf) << WORD_PORT |
	       (uint64_t)backend->outer.ipv6 << WORD_IPV6 | (uint64_t)backend_is_removed(backend) << WORD_REMOVED |
	       state << WORD_STATE;
}

uint64_t p4_mac(const uint8_t mac[6])
{
	return (uint64_t)fl_load_be16(mac) << 32 | fl_load_be32(mac + 2);
}
