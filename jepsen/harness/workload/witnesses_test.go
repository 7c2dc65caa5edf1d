// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/trace"
)

// TestWitnesses: what the program on a server's node tells, and counters of muxes, become facts of the connection that they
// are about, and of no other.
func TestWitnesses(t *testing.T) {
	bin := t.TempDir()
	tell := `now=$(date +%s%N)
echo "{\"at\": $now, \"counters\": {\"drop_stale\": 1, \"chain\": 4}}"
echo "{\"at\": $now, \"reset\": \"10.2.0.11:4001\"}"
echo "{\"at\": $now, \"reset\": \"10.2.0.11:4002\"}"
echo "{\"at\": 5, \"reset\": \"10.2.0.11:4001\"}"
echo "{\"at\": $((now + 60000000000)), \"reset\": \"10.2.0.11:4001\"}"
echo "{\"at\": $((now + 3000000000)), \"counters\": {\"drop_stale\": 3, \"chain\": 4}}"
while read -r peer; do echo "{\"at\": $now, \"peer\": \"$peer\", \"sockets\": [\"TIME-WAIT $5\"]}"; done
`
	for path, text := range map[string]string{
		filepath.Join(bin, "nodes"): "while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"",
		filepath.Join(bin, "self"):  tell,
	} {
		if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	scrapes := 0
	mux := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		scrapes++
		fmt.Fprintf(w, "# HELP x\nfairlead_mux_drops_total{reason=\"x\"} %d\nfairlead_mux_packets_total %d\n", scrapes, scrapes)
	}))
	defer mux.Close()
	connections := &Connections{Cluster: cluster.Cluster{Bin: bin}, Self: filepath.Join(bin, "self"), Recorder: history.NewRecorder(nil),
		Listing: cluster.Listing{VIP: "10.99.0.1", Port: 80, Nodes: []cluster.Node{{Node: "server1", Roles: []string{"server"}}, {Node: "mux1", Roles: []string{"mux"}, HTTP: mux.URL}}}}
	w := &Witnesses{Connections: connections, Say: t.Logf}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	w.Ask("10.2.0.11:4001")
	deadline := time.Now().Add(30 * time.Second)
	for enough := false; !enough; time.Sleep(10 * time.Millisecond) {
		w.lock.Lock()
		enough = len(w.lines["server1"]) == 5 && len(w.counters["server1"]) == 2 && len(w.counters["mux1"]) == 2
		w.lock.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %+v", w.lines, w.counters)
		}
	}
	w.Stop()
	facts := trace.Facts{Connection: check.Connection{Local: "10.2.0.11:4001", To: connections.Recorder.Now()}}
	w.Facts(&facts)
	if len(facts.Resets) != 1 || facts.Resets[0].Server != "server1" {
		t.Errorf("resets %+v", facts.Resets)
	}
	if len(facts.Sockets) != 1 || !slices.Equal(facts.Sockets[0].Sockets, []string{"TIME-WAIT 80"}) {
		t.Errorf("sockets %+v", facts.Sockets)
	}
	if len(facts.Samples["server1"]) != 2 || facts.Samples["server1"][1].Counters["drop_stale"] != 3 {
		t.Errorf("samples %+v", facts.Samples)
	}
	if len(facts.Counters) != 2 || !strings.HasSuffix(facts.Counters[0], `: fairlead_mux_drops_total{reason="x"} +1`) || !strings.HasSuffix(facts.Counters[1], ": drop_stale +2") {
		t.Errorf("counters %q", facts.Counters)
	}
}

// TestChanged: counters are compared over the times asked for, with what there is on either side.
func TestChanged(t *testing.T) {
	at := func(seconds, count int64) trace.Sample {
		return trace.Sample{At: seconds * 1e9, Counters: map[string]int64{"x": count, "y": 1}}
	}
	for _, row := range []struct {
		samples []trace.Sample
		want    []string
	}{
		{[]trace.Sample{at(1, 1), at(4, 2), at(5, 4), at(6, 8), at(9, 16)}, []string{"n, 4.0 s to 6.0 s: x +6"}},
		{[]trace.Sample{at(1, 1), at(3, 1), at(7, 1)}, nil},
		{[]trace.Sample{at(1, 9), at(7, 2)}, []string{"n, 1.0 s to 7.0 s: x -7"}},
		{[]trace.Sample{at(5, 1), at(7, 2)}, []string{"n, 5.0 s to 7.0 s: x +1"}},
		{[]trace.Sample{at(5, 1)}, nil},
		{nil, nil},
	} {
		if got := changed("n", row.samples, 4e9, 6e9); !slices.Equal(got, row.want) {
			t.Errorf("%+v: %q, want %q", row.samples, got, row.want)
		}
	}
}
