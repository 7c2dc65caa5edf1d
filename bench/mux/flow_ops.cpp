// SPDX-License-Identifier: Apache-2.0
// Nanoseconds of each operation by load. All tables are filled to a load, then take turns; time is the thread's own.
#include "flow_state.hpp"

#include <malloc.h>

#include <algorithm>

#include <rte_malloc.h>

namespace
{

constexpr uint32_t looked_up = 1 << 16; // flows in a run

struct Stand {
	const TableKind *kind;
	std::unique_ptr<Table> table;
	uint64_t bytes = 0;
	uint64_t filled = 0; // flows that were offered
	uint64_t refused = 0;
	double slowest = 0; // ns of a burst of insertions while it was filled to this load
	std::vector<double> hit{}, one{}, miss{}, insert{}, erase{}, expire{};
	double known = 0; // of the flows that were looked up as hits
};

// Bytes that malloc and DPDK's heap have given out.
uint64_t bytes_used()
{
	struct mallinfo2 info = mallinfo2();
	rte_malloc_socket_stats stats{};
	uint64_t used = info.uordblks + info.hblkhd;

	if (!rte_malloc_get_socket_stats(0, &stats))
		used += stats.heap_allocsz_bytes;
	return used;
}

class Ops
{
      public:
	explicit Ops(const Options &from) : options(from), chance(from.seed), flows(looked_up)
	{
		few = std::max(options.capacity() / 128, burst_max);
	}

	void run()
	{
		const char *before = "";

		for (const TableKind &kind : table_kinds()) {
			if (!options.wants(kind.name))
				continue;
			uint64_t used = bytes_used();

			stands.push_back({&kind, table_new(kind, options.capacity(), 1)});
			stands.back().bytes = bytes_used() - used;
		}
		for (uint32_t load : options.loads) {
			for (Stand &stand : stands)
				fill(stand, static_cast<uint64_t>(options.capacity()) * load / 100);
			for (uint32_t run = 0; run < options.runs; run++)
				for (size_t i = 0; i < stands.size(); i++)
					measure(stands[(i + run) % stands.size()]);
			for (Stand &stand : stands) {
				print(stand, load, before);
				before = ",\n";
			}
		}
		printf("\n");
	}

      private:
	void fill(Stand &stand, uint64_t until)
	{
		uint64_t used = bytes_used();

		stand.slowest = 0;
		stand.hit.clear();
		stand.one.clear();
		stand.miss.clear();
		stand.insert.clear();
		stand.erase.clear();
		stand.expire.clear();
		while (stand.filled < until) {
			uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(burst_max, until - stand.filled));
			double start;

			for (uint32_t i = 0; i < count; i++)
				flows[i] = flow_of(stand.filled++, options.seed);
			start = seconds_by(CLOCK_THREAD_CPUTIME_ID);
			stand.refused += stand.table->insert(&flows[0], count, now_seconds);
			stand.slowest = std::max(stand.slowest, (seconds_by(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9);
		}
		stand.bytes += bytes_used() - used;
	}

	// ns each of what is done with `count` of the flows, in bursts
	template <class What> double timed(uint32_t count, What what)
	{
		double start = seconds_by(CLOCK_THREAD_CPUTIME_ID);

		for (uint32_t i = 0; i < count; i += burst_max)
			what(&flows[i], std::min(burst_max, count - i));
		return (seconds_by(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / count;
	}

	void measure(Stand &stand)
	{
		Table &table = *stand.table;
		uint64_t missing = 0, size;
		double start;

		for (Flow &flow : flows)
			flow = flow_of(chance.below(static_cast<uint32_t>(stand.filled)), options.seed);
		stand.hit.push_back(timed(looked_up, [&](const Flow *at, uint32_t count) {
			missing += static_cast<uint64_t>(__builtin_popcount(table.find(at, count, now_seconds)));
		}));
		stand.known = 1 - static_cast<double>(missing) / looked_up;
		stand.one.push_back(timed(looked_up, [&](const Flow *at, uint32_t count) {
			for (uint32_t i = 0; i < count; i++)
				table.find_one(at[i], now_seconds);
		}));
		for (Flow &flow : flows)
			flow = flow_of((1ULL << 32) + chance.below(1U << 31), options.seed);
		missing = 0;
		stand.miss.push_back(timed(looked_up, [&](const Flow *at, uint32_t count) {
			missing += static_cast<uint64_t>(__builtin_popcount(table.find(at, count, now_seconds)));
		}));
		if (missing != looked_up)
			die(std::string(stand.kind->name) + " knows flows that it was not told");
		stand.insert.push_back(
		    timed(few, [&](const Flow *at, uint32_t count) { table.insert(at, count, now_seconds); }));
		stand.erase.push_back(timed(few, [&](const Flow *at, uint32_t count) {
			table.erase(at, count);
			table.quiescent(0);
		}));
		for (uint32_t i = 0; i < few; i += burst_max)
			table.insert(&flows[i], std::min(burst_max, few - i), now_seconds - idle_seconds - 1);
		size = table.size();
		start = seconds_by(CLOCK_THREAD_CPUTIME_ID);
		table.expire(now_seconds);
		stand.expire.push_back((seconds_by(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / static_cast<double>(size));
		table.quiescent(0);
		// a table without locks may keep what was deleted since its threads were quiescent
		if (table.size() - (stand.filled - stand.refused) > (stand.kind->concurrent ? 2 * few : 0))
			die(std::string(stand.kind->name) + " has " + std::to_string(table.size()) + " flows, not " +
			    std::to_string(stand.filled - stand.refused));
	}

	void print(const Stand &stand, uint32_t load, const char *before) const
	{
		printf("%s  {\"table\": \"%s\", \"load\": %u, \"flows\": %lu, \"refused\": %lu, \"bytes\": %lu, "
		       "\"known\": %.4f, \"slowest_insert\": %.0f,\n   ",
		       before, stand.kind->name, load, static_cast<unsigned long>(stand.table->size()),
		       static_cast<unsigned long>(stand.refused), static_cast<unsigned long>(stand.bytes), stand.known,
		       stand.slowest);
		print_list("hit", stand.hit, ", ");
		print_list("one", stand.one, ", ");
		print_list("miss", stand.miss, ",\n   ");
		print_list("insert", stand.insert, ", ");
		print_list("erase", stand.erase, ", ");
		print_list("expire", stand.expire, "}");
	}

	const Options &options;
	Chance chance;
	std::vector<Flow> flows;
	std::vector<Stand> stands;
	uint32_t few; // flows that are added and deleted in a run
};

} // namespace

void measure_ops(const Options &options)
{
	Ops(options).run();
}
