/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates: the other servers that may know a packet's connection, in the order of mux/packet/burst_lists.c: the second
 * bucket's owner, then the first bucket's former owners, then the second's, each server once. A row says where in the
 * register lists its former owners are (README.md, "Lists").
 *
 *	one bucket	the row's list as it is: up to 6 of IPv4, or 4 if any of them or the backend has IPv6
 *	two buckets	up to 2 former owners of each, without those that are named already; 4 candidates with IPv6
 *
 * What is longer is referred: more of IPv6 do not fit the headroom that a buffer must have (port.h).
 */

const bit<64> READY_IPV6 = 0x02;
const bit<64> READY_LATE = 0x04;
const bit<64> ROW_IPV6 = 0x02000000; /* the same in a row */
#define ROW_READY 24
#define ROW_COUNT 16
#define ROW_LIST 32

const bit<64> MAPPED = 0x0000ffff00000000; /* an IPv4 address's low half */
const bit<16> ONE4_LEN = 4;
const bit<16> TWO4_LEN = 8;
const bit<16> ONE6_LEN = 16;
const bit<64> ONE_MAX = 6;
const bit<64> TWO_MAX = 2;
const bit<64> IPV6_MAX = 4;

/* What scratch and fields of earlier stages hold here. */
#define PLACE meta.index
#define COUNT_OF meta.destination_low
#define FIRST_HIGH meta.source_high /* the backend's address */
#define FIRST_LOW meta.source_low
#define HAS_ONE meta.source_high    /* later: an address that has no other beside it yet, */
#define ONE meta.source_low         /* and it */
#define DIFFERENCE meta.words
#define ANY_IPV6 meta.words

/* The address at PLACE of the lists, in the long form; then PLACE is at the next one. */
#define LONG(candidate)                         \
    candidate.setValid();                       \
    READ(candidate.high, lists, PLACE)          \
    PLACE = PLACE + 1;                          \
    READ(candidate.low, lists, PLACE)           \
    PLACE = PLACE + 1;                          \
    meta.list_len = meta.list_len + ONE6_LEN;

/* The two addresses at PLACE, in the short form; then PLACE is at those before. */
#define SHORT(candidates)                       \
    candidates.setValid();                      \
    READ(candidates.addresses, lists, PLACE)    \
    PLACE = PLACE - 1;                          \
    meta.list_len = meta.list_len + TWO4_LEN;

/* The first address of an odd number. */
#define ODD(address)                            \
    hdr.odd.setValid();                         \
    hdr.odd.generation_first = address; /* the generation comes to it in encap.p4 */ \
    meta.list_len = meta.list_len + ONE4_LEN;

/* Of a packet that names its bucket's former owners alone. */
control candidates_of_one(inout headers_t hdr, inout metadata_t meta) {
    apply {
        COUNT_OF = meta.row >> ROW_COUNT;
        COUNT_OF = COUNT_OF & 0xff;
        if (COUNT_OF != 0) {
            meta.names_former = 1;
            PLACE = meta.row >> ROW_LIST;
            meta.wide = meta.ready & READY_IPV6;
            if (meta.wide == 0) {
                if (COUNT_OF > ONE_MAX) {
                    meta.verdict = VERDICT_REFERRED;
                } else {
                    /* a list ends with its last word, so that the address alone in its word is the first one */
                    PLACE = PLACE + 3;
                    if (COUNT_OF > 1) {
                        SHORT(hdr.two4_2)
                        if (COUNT_OF > 3) {
                            SHORT(hdr.two4_1)
                            if (COUNT_OF > 5) {
                                SHORT(hdr.two4_0)
                            }
                        }
                    }
                    meta.wide = COUNT_OF & 1;
                    if (meta.wide != 0) {
                        READ(meta.wide, lists, PLACE)
                        meta.wide = meta.wide & 0xffffffff;
                        ODD(meta.wide)
                    }
                }
            } else {
                meta.wide = meta.row & ROW_IPV6;
                if (meta.wide == 0) {
                    meta.verdict = VERDICT_REFERRED;
                } else if (COUNT_OF > IPV6_MAX) {
                    meta.verdict = VERDICT_REFERRED;
                } else {
                    LONG(hdr.one6_0)
                    if (COUNT_OF > 1) {
                        LONG(hdr.one6_1)
                        if (COUNT_OF > 2) {
                            LONG(hdr.one6_2)
                            if (COUNT_OF > 3) {
                                LONG(hdr.one6_3)
                            }
                        }
                    }
                }
            }
        }
    }
}

/* The address of the backend of a word. */
#define ADDRESS(word, high, low)                \
    PLACE = word & 0xffffffff;                  \
    meta.wide = word & WORD_IPV6;               \
    if (meta.wide == 0) {                       \
        PLACE = PLACE + 2;                      \
        READ(meta.wide, templates, PLACE)       \
        meta.wide = meta.wide & 0xffffffff; /* behind the source */ \
        meta.wide = meta.wide | MAPPED;         \
        high = 0;                               \
        low = meta.wide;                        \
    } else {                                    \
        PLACE = PLACE + 4;                      \
        READ(high, templates, PLACE)            \
        PLACE = PLACE + 1;                      \
        READ(low, templates, PLACE)             \
    }

/* The one or two former owners that a row names, in either form; newest first. */
#define FORMER(row, newest, before)             \
    COUNT_OF = row >> ROW_COUNT;                \
    COUNT_OF = COUNT_OF & 0xff;                 \
    if (COUNT_OF > TWO_MAX) {                   \
        meta.verdict = VERDICT_REFERRED;        \
    } else if (COUNT_OF != 0) {                 \
        PLACE = row >> ROW_LIST;                \
        meta.wide = row & ROW_IPV6;             \
        if (meta.wide != 0) {                   \
            LONG(newest)                        \
            if (COUNT_OF > 1) {                 \
                LONG(before)                    \
            }                                   \
        } else {                                \
            PLACE = PLACE + 3;                  \
            READ(meta.other, lists, PLACE)      \
            meta.wide = meta.other & 0xffffffff; \
            meta.wide = meta.wide | MAPPED;     \
            newest.setValid();                  \
            newest.high = 0;                    \
            if (COUNT_OF > 1) {                 \
                before.setValid();              \
                before.high = 0;                \
                before.low = meta.wide;         \
                meta.wide = meta.other >> 32;   \
                meta.wide = meta.wide | MAPPED; \
            }                                   \
            newest.low = meta.wide;             \
        }                                       \
    }

/* A candidate with this address is not one. */
#define ONCE(candidate, of_high, of_low)        \
    DIFFERENCE = candidate.high;                \
    meta.other = of_high;                       \
    DIFFERENCE = DIFFERENCE ^ meta.other;       \
    meta.wide = candidate.low;                  \
    meta.other = of_low;                        \
    meta.wide = meta.wide ^ meta.other;         \
    DIFFERENCE = DIFFERENCE | meta.wide;        \
    if (DIFFERENCE == 0) {                      \
        candidate.setInvalid();                 \
    }

#define ONCE_BESIDE(candidate, other)           \
    if (candidate.isValid() && other.isValid()) { \
        ONCE(candidate, other.high, other.low)  \
    }

#define ONCE_BESIDE_FIRST(candidate)            \
    if (candidate.isValid()) {                  \
        ONCE(candidate, FIRST_HIGH, FIRST_LOW)  \
    }

/* ANY_IPV6: not 0 if a candidate has an IPv6 address. */
#define ADD_TO_COUNT(candidate)                 \
    if (candidate.isValid()) {                  \
        COUNT_OF = COUNT_OF + 1;                \
        meta.list_len = meta.list_len + ONE6_LEN; \
        meta.wide = candidate.high;             \
        ANY_IPV6 = ANY_IPV6 | meta.wide;        \
        meta.wide = candidate.low;              \
        meta.wide = meta.wide >> 32;            \
        meta.wide = meta.wide ^ 0xffff;         \
        ANY_IPV6 = ANY_IPV6 | meta.wide;        \
    }

/* The short form in place of the long one, from the last candidate on. */
#define SHORTEN(candidate)                      \
    if (candidate.isValid()) {                  \
        meta.wide = candidate.low;              \
        meta.wide = meta.wide & 0xffffffff;     \
        candidate.setInvalid();                 \
        if (HAS_ONE == 0) {                     \
            HAS_ONE = 1;                        \
            ONE = meta.wide;                    \
        } else {                                \
            HAS_ONE = 0;                        \
            meta.wide = meta.wide << 32;        \
            meta.wide = meta.wide | ONE;        \
            meta.list_len = meta.list_len + TWO4_LEN; \
            if (hdr.two4_2.isValid()) {         \
                hdr.two4_1.setValid();          \
                hdr.two4_1.addresses = meta.wide; \
            } else {                            \
                hdr.two4_2.setValid();          \
                hdr.two4_2.addresses = meta.wide; \
            }                                   \
        }                                       \
    }

/*
 * Of a packet with a second bucket, whose owner is named unless it is unknown or its packets would come back. No row names
 * a server twice, nor its own owner: so only those are compared that can be the same.
 */
control candidates_of_two(inout headers_t hdr, inout metadata_t meta) {
    apply {
        meta.other = meta.second_row & 0xffff;
        meta.second_word = BEHIND + meta.other;
        READ(meta.second_word, ring, meta.second_word)
        meta.wide = meta.second_word >> WORD_STATE;
        if (meta.other != 0 && meta.wide != STATE_ABSENT && meta.wide != STATE_LOOP) {
            hdr.one6_0.setValid();
            ADDRESS(meta.second_word, hdr.one6_0.high, hdr.one6_0.low)
        }
        ADDRESS(meta.word, FIRST_HIGH, FIRST_LOW)
        FORMER(meta.row, hdr.one6_1, hdr.one6_2)
        FORMER(meta.second_row, hdr.one6_3, hdr.one6_4)
        ONCE_BESIDE_FIRST(hdr.one6_0)
        ONCE_BESIDE(hdr.one6_1, hdr.one6_0)
        ONCE_BESIDE(hdr.one6_2, hdr.one6_0)
        ONCE_BESIDE_FIRST(hdr.one6_3)
        ONCE_BESIDE(hdr.one6_3, hdr.one6_1)
        ONCE_BESIDE(hdr.one6_3, hdr.one6_2)
        ONCE_BESIDE_FIRST(hdr.one6_4)
        ONCE_BESIDE(hdr.one6_4, hdr.one6_1)
        ONCE_BESIDE(hdr.one6_4, hdr.one6_2)
        COUNT_OF = 0;
        meta.list_len = 0;
        ANY_IPV6 = meta.word & WORD_IPV6;
        ADD_TO_COUNT(hdr.one6_0)
        meta.second_bucket = COUNT_OF; /* how many owners it names */
        if (COUNT_OF != 0) {
            meta.names_second = 1;
        }
        ADD_TO_COUNT(hdr.one6_1)
        ADD_TO_COUNT(hdr.one6_2)
        ADD_TO_COUNT(hdr.one6_3)
        ADD_TO_COUNT(hdr.one6_4)
        if (COUNT_OF != meta.second_bucket) {
            meta.names_former = 1;
        }
        meta.wide = meta.second_row >> ROW_READY;
        meta.ready = meta.ready | meta.wide;
        meta.ready = meta.ready & READY_LATE;
        meta.wide = COUNT_OF << 4;
        meta.ready = meta.ready | meta.wide;
        if (ANY_IPV6 != 0) {
            meta.ready = meta.ready | READY_IPV6;
            if (COUNT_OF > IPV6_MAX) {
                meta.verdict = VERDICT_REFERRED;
            }
        } else {
            meta.list_len = 0;
            HAS_ONE = 0;
            SHORTEN(hdr.one6_4)
            SHORTEN(hdr.one6_3)
            SHORTEN(hdr.one6_2)
            SHORTEN(hdr.one6_1)
            SHORTEN(hdr.one6_0)
            if (HAS_ONE != 0) {
                ODD(ONE)
            }
        }
    }
}

/* The option of ipip has room for one, whose address encap.p4 reads. */
control candidate_of_ipip(inout headers_t hdr, inout metadata_t meta) {
    apply {
        COUNT_OF = meta.row >> ROW_COUNT;
        COUNT_OF = COUNT_OF & 0xff;
        if (COUNT_OF > 1) {
            meta.verdict = VERDICT_REFERRED;
        } else if (COUNT_OF == 1) {
            meta.names_former = 1;
        }
    }
}

/* Of a packet whose backend is ready. BEHIND, rows and meta.word are as steer.p4 has them. */
control candidates(inout headers_t hdr, inout metadata_t meta) {
    candidates_of_one() one;
    candidates_of_two() two;
    candidate_of_ipip() ipip;

    apply {
        meta.ready = meta.row >> ROW_READY;
        meta.ready = meta.ready & 0xff;
        meta.octet = meta.kind & KIND_IPIP;
        if (meta.octet != 0) {
            ipip.apply(hdr, meta);
        } else if (meta.second != 0) {
            two.apply(hdr, meta);
        } else {
            meta.wide = meta.word & WORD_IPV6;
            if (meta.wide != 0) {
                meta.ready = meta.ready | READY_IPV6;
            }
            one.apply(hdr, meta);
        }
    }
}

#define NO_CANDIDATE                \
    hdr.odd.setInvalid();           \
    hdr.one6_0.setInvalid();        \
    hdr.one6_1.setInvalid();        \
    hdr.one6_2.setInvalid();        \
    hdr.one6_3.setInvalid();        \
    hdr.one6_4.setInvalid();        \
    hdr.two4_0.setInvalid();        \
    hdr.two4_1.setInvalid();        \
    hdr.two4_2.setInvalid();
