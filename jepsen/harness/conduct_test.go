// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestPrepare: wrong options are refused before a cluster is brought up; a run names the command that repeats it.
func TestPrepare(t *testing.T) {
	for _, each := range []struct{ words, again, says string }{
		{"--seed 7", "jepsen/run --seed 7 --schedule short --cluster ../scenarios.edn", ""},
		{"--seed 7 --minutes 2.5", "jepsen/run --seed 7 --minutes 2.5 --cluster ../scenarios.edn", ""},
		{"--seed 7 --switch half-delta", "jepsen/run --seed 7 --switch half-delta --cluster ../scenarios.edn", ""},
		{"--seed 7 --schedule brief --workload config,balance", "jepsen/run --seed 7 --schedule brief --workload config,balance --cluster ../scenarios.edn", ""},
		{"--switch half-delta --workload config", "", "switch 'half-delta' must turn :image red, which no workload of 'config' judges"},
		{"--switch gravity", "", "switch 'gravity'; allowed: :chaining-off"},
		{"--switch half-delta --minutes 2", "", "--minutes 2; allowed: a number from 0, and not with --switch"},
		{"--schedule endless", "", "schedule 'endless'; allowed: :agents :arrays :brief"},
		{"--workload traffic", "", "--workload 'traffic'; allowed: config, generations, connections, balance"},
		{"now", "", "unknown argument 'now'; allowed: flags"},
	} {
		again := ""
		o, err := parse("run", append([]string{"--cluster", "../scenarios.edn"}, strings.Fields(each.words)...))
		if err == nil {
			if _, err = prepare(o); err == nil {
				again = o.again()
			}
		}
		if again != each.again || (err == nil) != (each.says == "") || err != nil && !strings.Contains(err.Error(), each.says) {
			t.Errorf("%s: again %q, error %v; want %q, %q", each.words, again, err, each.again, each.says)
		}
	}
}
