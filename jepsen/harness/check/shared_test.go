// SPDX-License-Identifier: Apache-2.0

package check

import (
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// TestShared judges each shared history; the Clojure checkers judge the same ones.
func TestShared(t *testing.T) {
	paths, err := filepath.Glob("../../histories/*.edn")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no shared histories in jepsen/histories: %v", err)
	}
	rejected := map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".edn")
		t.Run(name, func(t *testing.T) {
			header, ops, err := history.ReadShared(path)
			if err != nil {
				t.Fatal(err)
			}
			verdicts, err := All(string(header.Workload), ops, Settings{header.Tolerance})
			if err != nil {
				t.Fatal(err)
			}
			if len(header.Expect) != len(verdicts) {
				t.Errorf("it expects %d verdicts; %s has %d", len(header.Expect), header.Workload, len(verdicts))
			}
			for _, verdict := range verdicts {
				expected, said := header.Expect[edn.Keyword(verdict.Name)]
				if !said {
					t.Errorf("it says nothing of %s", verdict.Name)
					continue
				}
				wanted := map[bool]Outcome{true: True, false: False}[expected]
				if verdict.Valid != wanted {
					t.Errorf("%s is %v, expected %v: %s", verdict.Name, verdict.Valid, wanted, verdict.Why)
				}
				rejected[verdict.Name] = rejected[verdict.Name] || verdict.Valid == False
			}
		})
	}
	for _, name := range Order {
		if !rejected[name] {
			t.Errorf("no shared history is rejected by %s", name)
		}
	}
}
