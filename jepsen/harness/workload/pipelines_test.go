// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/jepsen/cluster"
)

// TestP4Muxes: exactly as many as wanted; each is the node with its address.
func TestP4Muxes(t *testing.T) {
	listing := cluster.Listing{Nodes: []cluster.Node{
		{Node: "mux1", Address: "10.1.0.11", Roles: []string{"mux"}},
		{Node: "mux2", Address: "10.1.0.12", Roles: []string{"mux"}},
		{Node: "server1", Address: "10.1.0.21", Roles: []string{"server"}},
	}}
	const one = `{"id": "a", "kind": "c", "address": "10.1.0.11"}`
	for _, row := range []struct {
		body   string
		wanted int
		says   string
	}{
		{`[` + one + `, {"id": "b", "kind": "p4", "address": "10.1.0.12"}]`, 1, ""},
		{`[` + one + `]`, 0, ""},
		{`[` + one + `]`, 1, "0 muxes of kind p4; allowed: 1, as :cluster or the schedule says"},
		{`[` + one + `, {"id": "b", "kind": "p4", "address": "10.1.0.12"}]`, 0, "1 muxes of kind p4; allowed: 0"},
		{`[{"id": "b", "kind": "p4", "address": "10.1.0.21"}]`, 1, "0 muxes of kind p4"},
		{`{}`, 1, "GET /v1/muxes: json"},
	} {
		api := NewAPI([]string{answering(t, map[string]string{"/v1/muxes": row.body})})
		found, err := P4Muxes(api, listing, row.wanted, 300*time.Millisecond)
		if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %q", row.body, err, row.says)
		}
		if err == nil && (len(found) != row.wanted || row.wanted == 1 && found[0].Node != "mux2") {
			t.Errorf("%s: %v", row.body, found)
		}
	}
}

// TestPiped: the count of the mux; a mux without one is an error, not a count of 0.
func TestPiped(t *testing.T) {
	for _, row := range []struct {
		metrics string
		count   int64
		says    string
	}{
		{"# TYPE " + pipelinePackets + " counter\n" + pipelinePackets + " 1234\nother 1\n", 1234, ""},
		{pipelinePackets + " 0\n", 0, ""},
		{pipelinePackets + " many\n", 0, "invalid syntax"},
		{"other 1\n", 0, "/metrics has no " + pipelinePackets},
	} {
		count, err := Piped(cluster.Node{HTTP: answering(t, map[string]string{"/metrics": row.metrics})})
		if count != row.count || (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%q: %d, %v", row.metrics, count, err)
		}
	}
	if _, err := Piped(cluster.Node{HTTP: answering(t, nil)}); err == nil || !strings.Contains(err.Error(), "404: no such path") {
		t.Error(err)
	}
}
