/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates: the other servers that may know a packet's connection, in the order of mux/headers/headers.c: the second
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

/* The address at place of the lists, in the long form; then place is at the next one. */
#define LONG(candidate)                         \
    candidate.setValid();                       \
    READ(candidate.high, lists, place)          \
    place = place + 1;                          \
    READ(candidate.low, lists, place)           \
    place = place + 1;                          \
    meta.list_len = meta.list_len + ONE6_LEN;

/* The two addresses at place, in the short form; then place is at those before. */
#define SHORT(candidates)                       \
    candidates.setValid();                      \
    READ(candidates.addresses, lists, place)    \
    place = place - 1;                          \
    meta.list_len = meta.list_len + TWO4_LEN;

/* The first address of an odd number. */
#define ODD(address)                            \
    hdr.odd.setValid();                         \
    hdr.odd.generation_first = address; /* the generation comes to it in encap.p4 */ \
    meta.list_len = meta.list_len + ONE4_LEN;

/* Of a packet that names its bucket's former owners alone. */
control candidates_of_one(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<64> count = (meta.row >> ROW_COUNT) & 0xff;

        if (count != 0) {
            bit<64> place = meta.row >> ROW_LIST;

            meta.names_former = 1;
            if ((meta.ready & READY_IPV6) == 0) {
                if (count > ONE_MAX) {
                    meta.verdict = VERDICT_REFERRED;
                } else {
                    /* a list ends with its last word, so that the address alone in its word is the first one */
                    place = place + 3;
                    if (count > 1) {
                        SHORT(hdr.two4_2)
                        if (count > 3) {
                            SHORT(hdr.two4_1)
                            if (count > 5) {
                                SHORT(hdr.two4_0)
                            }
                        }
                    }
                    if ((count & 1) != 0) {
                        bit<64> first;

                        READ(first, lists, place)
                        ODD(first & 0xffffffff)
                    }
                }
            } else if ((meta.row & ROW_IPV6) == 0 || count > IPV6_MAX) {
                meta.verdict = VERDICT_REFERRED;
            } else {
                LONG(hdr.one6_0)
                if (count > 1) {
                    LONG(hdr.one6_1)
                    if (count > 2) {
                        LONG(hdr.one6_2)
                        if (count > 3) {
                            LONG(hdr.one6_3)
                        }
                    }
                }
            }
        }
    }
}

/* The address of the backend of a word, in the long form. */
#define ADDRESS(word, high, low)                                    \
    place = word & 0xffffffff;                                      \
    if ((word & WORD_IPV6) == 0) {                                  \
        READ(words, templates, place + 2)                           \
        high = 0;                                                   \
        low = (words & 0xffffffff) | MAPPED; /* behind the source */ \
    } else {                                                        \
        READ(high, templates, place + 4)                            \
        READ(low, templates, place + 5)                             \
    }

/* The one or two former owners that a row names, in either form; newest first. */
#define FORMER(row, newest, before)                                 \
    count = (row >> ROW_COUNT) & 0xff;                              \
    if (count > TWO_MAX) {                                          \
        meta.verdict = VERDICT_REFERRED;                            \
    } else if (count != 0) {                                        \
        place = row >> ROW_LIST;                                    \
        if ((row & ROW_IPV6) != 0) {                                \
            LONG(newest)                                            \
            if (count > 1) {                                        \
                LONG(before)                                        \
            }                                                       \
        } else {                                                    \
            READ(words, lists, place + 3)                           \
            newest.setValid();                                      \
            newest.high = 0;                                        \
            if (count > 1) {                                        \
                before.setValid();                                  \
                before.high = 0;                                    \
                before.low = (words & 0xffffffff) | MAPPED;         \
                words = words >> 32;                                \
            }                                                       \
            newest.low = (words & 0xffffffff) | MAPPED;             \
        }                                                           \
    }

/* A candidate with this address is not one. */
#define ONCE(candidate, of_high, of_low)                                        \
    if (((candidate.high ^ of_high) | (candidate.low ^ of_low)) == 0) {         \
        candidate.setInvalid();                                                 \
    }

#define ONCE_BESIDE(candidate, other)               \
    if (candidate.isValid() && other.isValid()) {   \
        ONCE(candidate, other.high, other.low)      \
    }

#define ONCE_BESIDE_FIRST(candidate)                \
    if (candidate.isValid()) {                      \
        ONCE(candidate, first_high, first_low)      \
    }

/* any_ipv6: not 0 if a candidate has an IPv6 address. */
#define ADD_TO_COUNT(candidate)                                                         \
    if (candidate.isValid()) {                                                          \
        count = count + 1;                                                              \
        meta.list_len = meta.list_len + ONE6_LEN;                                       \
        any_ipv6 = any_ipv6 | candidate.high | ((candidate.low >> 32) ^ 0xffff);        \
    }

/* The short form in place of the long one, from the last candidate on; `one` has none beside it yet. */
#define SHORTEN(candidate)                                  \
    if (candidate.isValid()) {                              \
        address = candidate.low & 0xffffffff;               \
        candidate.setInvalid();                             \
        if (has_one == 0) {                                 \
            has_one = 1;                                    \
            one = address;                                  \
        } else {                                            \
            has_one = 0;                                    \
            address = (address << 32) | one;                \
            meta.list_len = meta.list_len + TWO4_LEN;       \
            if (hdr.two4_2.isValid()) {                     \
                hdr.two4_1.setValid();                      \
                hdr.two4_1.addresses = address;             \
            } else {                                        \
                hdr.two4_2.setValid();                      \
                hdr.two4_2.addresses = address;             \
            }                                               \
        }                                                   \
    }

/*
 * Of a packet with a second bucket, whose owner is named unless it is unknown or its packets would come back. No row
 * names a server twice, nor its own owner: so only those are compared that can be the same.
 */
control candidates_of_two(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<64> second_owner = meta.second_row & 0xffff;
        bit<64> second_word;
        bit<64> first_high; /* the backend's address */
        bit<64> first_low;
        bit<64> place;
        bit<64> words;
        bit<64> count;
        bit<64> any_ipv6 = meta.word & WORD_IPV6;

        READ(second_word, ring, meta.backends + second_owner)
        bit<64> state = second_word >> WORD_STATE;

        if (second_owner != 0 && state != STATE_ABSENT && state != STATE_LOOP) {
            hdr.one6_0.setValid();
            ADDRESS(second_word, hdr.one6_0.high, hdr.one6_0.low)
        }
        ADDRESS(meta.word, first_high, first_low)
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
        count = 0;
        meta.list_len = 0;
        ADD_TO_COUNT(hdr.one6_0)
        if (count != 0) {
            meta.names_second = 1;
        }
        ADD_TO_COUNT(hdr.one6_1)
        ADD_TO_COUNT(hdr.one6_2)
        ADD_TO_COUNT(hdr.one6_3)
        ADD_TO_COUNT(hdr.one6_4)
        if (count != (bit<64>)meta.names_second) {
            meta.names_former = 1;
        }
        meta.ready = ((meta.ready | (meta.second_row >> ROW_READY)) & READY_LATE) | (count << 4);
        if (any_ipv6 != 0) {
            meta.ready = meta.ready | READY_IPV6;
            if (count > IPV6_MAX) {
                meta.verdict = VERDICT_REFERRED;
            }
        } else {
            bit<64> address;
            bit<64> one = 0;
            bit<64> has_one = 0;

            meta.list_len = 0;
            SHORTEN(hdr.one6_4)
            SHORTEN(hdr.one6_3)
            SHORTEN(hdr.one6_2)
            SHORTEN(hdr.one6_1)
            SHORTEN(hdr.one6_0)
            if (has_one != 0) {
                ODD(one)
            }
        }
    }
}

/* The option of ipip has room for one, whose address encap.p4 reads. */
control candidate_of_ipip(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<64> count = (meta.row >> ROW_COUNT) & 0xff;

        if (count > 1) {
            meta.verdict = VERDICT_REFERRED;
        } else if (count == 1) {
            meta.names_former = 1;
        }
    }
}

/* Of a packet whose backend is ready. Rows and words are as steer.p4 has them. */
control candidates(inout headers_t hdr, inout metadata_t meta) {
    candidates_of_one() one;
    candidates_of_two() two;
    candidate_of_ipip() ipip;

    apply {
        meta.ready = (meta.row >> ROW_READY) & 0xff;
        if ((meta.kind & KIND_IPIP) != 0) {
            ipip.apply(hdr, meta);
        } else if (meta.second != 0) {
            two.apply(hdr, meta);
        } else {
            if ((meta.word & WORD_IPV6) != 0) {
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
