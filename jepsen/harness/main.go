// SPDX-License-Identifier: Apache-2.0

// harness runs the fault injection that CI runs; jepsen/run builds and calls it. It only wires.
//
//	harness run      brings a cluster up, runs in it, takes it down
//	harness conduct  runs against a cluster that is up, on the node `runner`
//	harness client   is the traffic of one client's node
//	harness witness  tells what the server of one node does
//	harness check    judges a history
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/trace"
	"fairlead.dev/jepsen/traffic"
)

func main() {
	commands := map[string]func([]string) (int, error){"run": run, "conduct": conduct, "client": client, "check": judge, "witness": witness}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: harness run | conduct | client | witness | check; each has --help")
		os.Exit(2)
	}
	code, err := commands[os.Args[1]](os.Args[2:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "harness %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	os.Exit(code)
}

func client(words []string) (int, error) {
	var options traffic.Options
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	flags.StringVar(&options.Address, "address", "", "of the service, with the port")
	flags.IntVar(&options.Connections, "connections", 0, "long-lived connections")
	flags.IntVar(&options.MPTCP, "mptcp", 0, "of these, how many by MPTCP")
	flags.IntVar(&options.Idle, "idle", 0, "of these, how many others are silent between their first and last request")
	flags.Float64Var(&options.Interval, "interval", 0.5, "seconds between requests of one")
	flags.Float64Var(&options.LifeLeast, "life-least", 20, "seconds that a long-lived one lives at least")
	flags.Float64Var(&options.LifeMost, "life-most", 60, "and at most")
	flags.Float64Var(&options.ShortRate, "short-rate", 0, "connections of one request, a second")
	flags.Float64Var(&options.AnswerSeconds, "answer-seconds", 20, "without an answer for so long a connection is broken")
	flags.IntVar(&options.Count, "count", 0, "only so many connections of one request, then the end")
	flags.Uint64Var(&options.Seed, "seed", 1, "of the lives' lengths")
	_ = flags.Parse(words)
	return 0, traffic.Run(options, os.Stdin, os.Stdout)
}

func witness(words []string) (int, error) {
	var options trace.Options
	flags := flag.NewFlagSet("witness", flag.ExitOnError)
	flags.StringVar(&options.VIP, "vip", "", "of the service")
	flags.IntVar(&options.Port, "port", 0, "of the service")
	flags.IntVar(&options.ID, "service", 0, "its id, of whose generations is told")
	flags.StringVar(&options.Show, "show", "", "the command that prints the server side's counters (none)")
	_ = flags.Parse(words)
	return 0, trace.Witness(options, os.Stdin, os.Stdout)
}

// judge prints the verdicts of a history and returns 1 unless all are true.
func judge(words []string) (int, error) {
	var settings check.Settings
	flags := flag.NewFlagSet("check", flag.ExitOnError)
	name := flags.String("workload", "", "of which the history is: "+strings.Join(check.Workloads, ", "))
	flags.Float64Var(&settings.Tolerance, "tolerance", 0.01, "of a share of the buckets")
	_ = flags.Parse(words)
	if flags.NArg() != 1 {
		return 2, fmt.Errorf("%d files were named; allowed: one history", flags.NArg())
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		return 1, err
	}
	defer file.Close()
	ops, err := history.Read(file)
	if err != nil {
		return 1, fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	verdicts, err := check.All(*name, ops, settings)
	if err != nil {
		return 1, err
	}
	code := 0
	for _, verdict := range verdicts {
		fmt.Printf("%-14s %-8s %s\n", ":"+verdict.Name, verdict.Valid, verdict.Why)
		if verdict.Valid != check.True {
			code = 1
		}
	}
	return code, nil
}
