// SPDX-License-Identifier: Apache-2.0
// What both parts of flow_state share: options, flows by number, time, and how figures are printed as JSON.
#ifndef FAIRLEAD_BENCH_FLOW_STATE_HPP
#define FAIRLEAD_BENCH_FLOW_STATE_HPP

#include <ctime>

#include <cstdio>

#include "flow_table.hpp"

struct Options {
	std::string part;            // ops, packets or delay
	std::vector<uint32_t> loads; // percent of the capacity
	std::vector<std::string> tables;
	uint32_t slots_bits = 20;
	uint32_t runs = 7;
	uint32_t slice_ms = 30;
	uint32_t packets_per_flow = 1250;
	uint32_t threads = 2; // at most
	uint32_t memory = 1024;
	uint64_t seed = 1;

	// So many flows fit into 2^slots_bits slots by the limits of every library (boost's is the lowest).
	uint32_t capacity() const
	{
		return static_cast<uint32_t>(105ULL * (1ULL << slots_bits) / 128);
	}
	bool wants(const char *table) const;
};

[[noreturn]] void die(const std::string &text);

constexpr uint32_t now_seconds = 1700000000;

// Distinct flows for distinct numbers below 2^40.
inline Flow flow_of(uint64_t number, uint64_t seed)
{
	uint64_t x = (number + (seed << 40)) * 0x9e3779b97f4a7c15U;

	return {x ^ x >> 32, 0x5000000000000050U ^ number << 16};
}

// xorshift64*
class Chance
{
      public:
	explicit Chance(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15U | 1)
	{
	}
	uint64_t next()
	{
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		return state * 2685821657736338717U;
	}
	uint32_t below(uint32_t bound)
	{
		return static_cast<uint32_t>((next() >> 32) * bound >> 32);
	}

      private:
	uint64_t state;
};

inline double seconds_by(clockid_t clock)
{
	timespec t{};

	clock_gettime(clock, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Cycles of the time stamp counter a nanosecond.
double cycles_per_ns();

void print_list(const char *name, const std::vector<double> &values, const char *end);

std::unique_ptr<Table> table_new(const TableKind &kind, uint32_t capacity, unsigned threads);

// The parts; each prints the rows of one JSON array.
void measure_ops(const Options &options);
void measure_packets(const Options &options, bool delay);

#endif
