// SPDX-License-Identifier: Apache-2.0
// Tables for flow state, measured in process; bench/run flow_tables runs it and says what is measured.
//
//	flow_state ops|packets|delay [--seed N] [--runs N] [--slots-bits N] [--loads N,...] [--tables NAME;...]
//		[--slice-ms N] [--packets-per-flow N] [--threads N] [--memory MB]
#include "flow_state.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <rte_cycles.h>

#include "flow_work.h"

void die(const std::string &text)
{
	fprintf(stderr, "flow_state: %s\n", text.c_str());
	exit(1);
}

bool Options::wants(const char *table) const
{
	return tables.empty() || std::find(tables.begin(), tables.end(), table) != tables.end();
}

double cycles_per_ns()
{
	static double known;
	double begin = seconds_by(CLOCK_MONOTONIC), end = begin;
	uint64_t cycles = rte_rdtsc();

	if (known > 0)
		return known;
	while (end - begin < 0.05)
		end = seconds_by(CLOCK_MONOTONIC);
	known = static_cast<double>(rte_rdtsc() - cycles) / ((end - begin) * 1e9);
	return known;
}

void print_list(const char *name, const std::vector<double> &values, const char *end)
{
	printf("\"%s\": [", name);
	for (size_t i = 0; i < values.size(); i++)
		printf("%s%.6g", i ? ", " : "", values[i]);
	printf("]%s", end);
}

std::unique_ptr<Table> table_new(const TableKind &kind, uint32_t capacity, unsigned threads)
{
	auto table = kind.make(capacity, threads);

	if (!table)
		die(std::string("no memory for ") + kind.name + "; allowed: fewer --slots-bits, or a larger --memory");
	return table;
}

static uint64_t number_of(const std::string &name, const std::string &text, uint64_t low, uint64_t high)
{
	char *end = nullptr;
	unsigned long long number = 0;

	errno = 0;
	number = strtoull(text.c_str(), &end, 10);
	if (text.empty() || text[0] < '0' || text[0] > '9' || *end || errno || number < low || number > high)
		die(name + ": '" + text + "' is not allowed; allowed: " + std::to_string(low) + " to " +
		    std::to_string(high));
	return number;
}

static std::vector<std::string> split(const std::string &text, char at)
{
	std::vector<std::string> parts;
	size_t from = 0;

	for (size_t to; (to = text.find(at, from)) != std::string::npos; from = to + 1)
		parts.push_back(text.substr(from, to - from));
	parts.push_back(text.substr(from));
	return parts;
}

static void check_tables(const std::vector<std::string> &names)
{
	std::string all;

	for (const TableKind &kind : table_kinds())
		all += (all.empty() ? "" : "; ") + std::string(kind.name);
	for (const std::string &name : names)
		if (std::none_of(table_kinds().begin(), table_kinds().end(),
				 [&](const TableKind &kind) { return name == kind.name; }))
			die("--tables: '" + name + "' is not allowed; allowed: " + all);
}

static Options parse(int argc, char **argv)
{
	Options options;

	if (argc < 2 || (strcmp(argv[1], "ops") && strcmp(argv[1], "packets") && strcmp(argv[1], "delay")))
		die(std::string("part: '") + (argc < 2 ? "" : argv[1]) +
		    "' is not allowed; allowed: ops, packets, delay");
	options.part = argv[1];
	options.loads = {80};
	for (int i = 2; i < argc; i += 2) {
		std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
		auto number = [&](uint64_t low, uint64_t high) {
			return static_cast<uint32_t>(number_of(name, value, low, high));
		};

		if (name == "--seed")
			options.seed = number_of(name, value, 1, (1U << 23) - 1);
		else if (name == "--runs")
			options.runs = number(1, 101);
		else if (name == "--slots-bits")
			options.slots_bits = number(10, 24);
		else if (name == "--slice-ms")
			options.slice_ms = number(1, 10000);
		else if (name == "--packets-per-flow")
			options.packets_per_flow = number(1, 1000000);
		else if (name == "--threads")
			options.threads = number(1, 8);
		else if (name == "--memory")
			options.memory = number(64, 65536);
		else if (name == "--tables")
			options.tables = split(value, ';');
		else if (name == "--loads") {
			options.loads.clear();
			for (const std::string &load : split(value, ','))
				options.loads.push_back(static_cast<uint32_t>(number_of(name, load, 1, 200)));
			if (!std::is_sorted(options.loads.begin(), options.loads.end()))
				die("--loads: '" + value + "' is not allowed; allowed: in ascending order");
		} else
			die("option '" + name +
			    "' is not allowed; allowed: --seed, --runs, --slots-bits, --loads, --tables, --slice-ms, "
			    "--packets-per-flow, --threads, --memory");
	}
	check_tables(options.tables);
	return options;
}

int main(int argc, char **argv)
{
	Options options = parse(argc, argv);
	char text[256];

	// the rows are standard output's; what DPDK says goes elsewhere
	if (!flow_work_start(options.memory, text, sizeof(text)))
		die(text);
	flow_work_cpu(text, sizeof(text));
	printf(
	    "{\"cpu\": \"%s\", \"seed\": %lu, \"runs\": %u, \"capacity\": %u, \"cycles_per_ns\": %.4f,\n \"rows\": [\n",
	    text, static_cast<unsigned long>(options.seed), options.runs, options.capacity(), cycles_per_ns());
	if (options.part == "ops")
		measure_ops(options);
	else
		measure_packets(options, options.part == "delay");
	printf("]}\n");
	if (fflush(stdout))
		die("standard output can't be written");
	flow_work_end();
	return 0;
}
