// SPDX-License-Identifier: Apache-2.0
// Tables for flow state behind one interface: 16 bytes of key, 8 of value; what a burst of 32 packets asks of them.
#ifndef FAIRLEAD_BENCH_FLOW_TABLE_HPP
#define FAIRLEAD_BENCH_FLOW_TABLE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct Flow {
	uint64_t addresses, ports;
	bool operator==(const Flow &other) const
	{
		return addresses == other.addresses && ports == other.ports;
	}
};

struct Entry {
	uint32_t value, last;
};

constexpr uint32_t burst_max = 32, idle_seconds = 300;

// The hash that all tables use: a multiplication of 128 bits, folded. Flows of the benchmark are not adversaries.
struct FlowHash {
	using is_avalanching = void; // boost: needs no further mixing
	static uint64_t fold(uint64_t a, uint64_t b)
	{
		__extension__ using wide = unsigned __int128;
		wide product = static_cast<wide>(a) * b;
		return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
	}
	uint64_t operator()(const Flow &flow) const
	{
		return fold(flow.addresses ^ 0x9e3779b97f4a7c15U, flow.ports ^ 0xe7037ed1a0b428dbU) ^ flow.addresses;
	}
};

class Table
{
      public:
	virtual ~Table() = default;
	// Flows that are unknown, as bits; known ones are marked as seen now.
	virtual uint32_t find(const Flow *flows, uint32_t count, uint32_t now) = 0;
	// The same for one flow: false if it is unknown.
	virtual bool find_one(const Flow &flow, uint32_t now) = 0;
	// Flows that found no place; those that are known count as placed.
	virtual uint32_t insert(const Flow *flows, uint32_t count, uint32_t now) = 0;
	virtual void erase(const Flow *flows, uint32_t count) = 0;
	// Deletes all flows that were idle for longer than idle_seconds.
	virtual void expire(uint32_t now) = 0;
	virtual uint64_t size() const = 0;
	// For a table that readers use without a lock: the calling thread holds nothing of it any more.
	virtual void quiescent(unsigned thread)
	{
		(void)thread;
	}
};

struct TableKind {
	const char *name;
	bool concurrent; // threads may use it without a lock around it
	bool in_paper;   // the report has it
	std::unique_ptr<Table> (*make)(uint32_t capacity, unsigned threads);
};

// NULL at no memory in what make returns.
const std::vector<TableKind> &table_kinds();

#endif
