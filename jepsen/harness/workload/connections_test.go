// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
	"fairlead.dev/jepsen/traffic"
)

// TestProgram: on a node that shares this machine's files the program is called where it is; to any other it is copied.
func TestProgram(t *testing.T) {
	bin, there := t.TempDir(), filepath.Join(t.TempDir(), "new", "harness")
	self := filepath.Join(bin, "self")
	for path, text := range map[string]string{
		filepath.Join(bin, "nodes"): "while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"",
		self:                        "echo '{\"clock\": 0}'; echo \"{\\\"ended\\\": {\\\"why\\\": \\\"$0 $1\\\"}}\"; echo '{\"done\": true}'",
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for over, want := range map[string]string{"lab": self, "ssh": there} {
		c := &Connections{Cluster: cluster.Cluster{Bin: bin, File: "my.edn"}, Listing: cluster.Listing{Over: over}, Numbers: scenario.Connections{},
			Recorder: history.NewRecorder([]string{"connections"}), Self: self, Remote: there}
		called := ""
		each, err := c.begin("client1", func(_ *client, line traffic.Line) {
			if line.Ended != nil {
				called = line.Ended.Why
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-each.ended; err != nil || called != want+" client" {
			t.Errorf("over %s '%s' was called, want '%s client': %v", over, called, want, err)
		}
	}
	c := &Connections{Cluster: cluster.Cluster{Bin: bin}, Listing: cluster.Listing{Over: "ssh"}, Self: "/bin/sh", Remote: "/dev/null/harness"}
	if _, err := c.program("client1"); err == nil || !strings.Contains(err.Error(), "/dev/null/harness cannot be copied to client1") {
		t.Errorf("error %v", err)
	}
}

// TestDated: a client's clock dates its lines unless it is not the runner's.
func TestDated(t *testing.T) {
	for _, row := range []struct{ arrived, said, want int64 }{{7e9, 6.9e9, 6.9e9}, {7e9, 7e9, 7e9}, {7e9, 7.1e9, 7e9}, {7e9, 1e9, 7e9}, {7e9, -1e18, 7e9}} {
		if got := dated(row.arrived, row.said); got != row.want {
			t.Errorf("%+v: %d", row, got)
		}
	}
}

// TestRolling: each server is drained in turn, and had the most just before; the others keep a weight.
func TestRolling(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for count := 2; count <= 7; count++ {
		before := rolling(0, count, draw)
		for number := 1; number <= 3*count; number++ {
			weights := rolling(number, count, draw)
			for at, weight := range weights {
				if drained := at == number%count; drained != (weight == 0) || drained && before[at] != slices.Max(before) {
					t.Errorf("move %d of %d servers: %v after %v", number, count, weights, before)
				}
			}
			before = weights
		}
	}
	if alone := rolling(3, 1, draw); alone[0] == 0 {
		t.Error("the only server is drained")
	}
}
