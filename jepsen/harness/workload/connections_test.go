// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"os"
	"path/filepath"
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
