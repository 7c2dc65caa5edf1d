// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/jepsen/cluster"
)

// TestPrepare: wrong options are refused before a cluster is brought up; a run names the command that repeats it.
func TestPrepare(t *testing.T) {
	for _, each := range []struct{ words, again, says string }{
		{"--seed 7", "jepsen/run --seed 7 --schedule short --cluster ../scenarios.edn", ""},
		{"--seed 7 --minutes 2.5", "jepsen/run --seed 7 --schedule long --minutes 2.5 --faults 0 --cluster ../scenarios.edn", ""},
		{"--seed 7 --switch half-delta", "jepsen/run --seed 7 --switch half-delta --cluster ../scenarios.edn", ""},
		{"--seed 7 --schedule brief --workload config,balance", "jepsen/run --seed 7 --schedule brief --workload config,balance --cluster ../scenarios.edn", ""},
		{"--switch half-delta --workload config", "", "switch 'half-delta' must turn :image red, which no workload of 'config' judges"},
		{"--switch gravity", "", "switch 'gravity'; allowed: :chaining-off"},
		{"--switch half-delta --minutes 2", "", "--minutes 2; allowed: a number from 0, and not with --switch"},
		{"--seed 3 --schedule harder --minutes 2 --faults 13 --moves 9",
			"jepsen/run --seed 3 --schedule harder --minutes 2 --faults 13 --moves 9 --cluster ../scenarios.edn", ""},
		{"--seed 3 --faults 2", "jepsen/run --seed 3 --schedule long --minutes 10 --faults 2 --cluster ../scenarios.edn", ""},
		{"--seed 3 --schedule hunt --moves 9", "jepsen/run --seed 3 --schedule hunt --moves 9 --cluster ../scenarios.edn", ""},
		{"--schedule holds --faults 9", "", "schedule 'holds' has steps of its own; allowed with a number of faults: :harder :long"},
		{"--switch half-delta --faults 3", "", "--faults 3, --moves 0; allowed: numbers from 0, and not with --switch"},
		{"--schedule long --moves -1", "", "--faults 0, --moves -1; allowed: numbers from 0"},
		{"--schedule endless", "", "schedule 'endless'; allowed: :agents :arrays :brief"},
		{"--workload traffic", "", "--workload 'traffic'; allowed: config, generations, connections, balance"},
		{"now", "", "unknown argument 'now'; allowed: flags"},
	} {
		again := ""
		o, err := parse("run", append([]string{"--cluster", "../scenarios.edn"}, strings.Fields(each.words)...))
		if err == nil {
			var c *conductor
			if c, err = prepare(o); err == nil {
				again = c.again(c.schedule.Every > 0)
			}
		}
		if again != each.again || (err == nil) != (each.says == "") || err != nil && !strings.Contains(err.Error(), each.says) {
			t.Errorf("%s: again %q, error %v; want %q, %q", each.words, again, err, each.again, each.says)
		}
	}
}

// TestPiped: a run in which one of the pipelines has steered nothing fails, and names its mux; without connections, or
// muxes of kind p4, there is nothing to steer.
func TestPiped(t *testing.T) {
	mux := func(name string, steered int) cluster.Node {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "fairlead_mux_pipeline_packets_total %d\n", steered)
		}))
		t.Cleanup(server.Close)
		return cluster.Node{Node: name, HTTP: server.URL}
	}
	for _, row := range []struct {
		workload string
		muxes    []cluster.Node
		says     string
	}{
		{"connections", nil, ""},
		{"connections", []cluster.Node{mux("mux2", 7), mux("mux3", 1)}, ""},
		{"connections", []cluster.Node{mux("mux2", 7), mux("mux3", 0)}, "the pipeline of mux3 has steered no packet"},
		{"connections", []cluster.Node{{Node: "mux3", HTTP: "http://127.0.0.1:1"}}, "http://127.0.0.1:1/metrics: "},
		{"config", []cluster.Node{mux("mux3", 0)}, ""},
	} {
		c := &conductor{options: &options{}, names: []string{row.workload}, p4Muxes: row.muxes}
		err := c.piped(0)
		if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s, %v: %v, want %q", row.workload, row.muxes, err, row.says)
		}
	}
}
