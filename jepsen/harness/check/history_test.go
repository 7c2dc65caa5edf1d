// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// TestUnreadable: lines that are not operations are errors.
func TestUnreadable(t *testing.T) {
	for _, line := range []string{"{:index 0", "{:index 0 :process :client}", "[1 2]"} {
		if _, err := history.Read(strings.NewReader(line)); err == nil {
			t.Errorf("%s was read", line)
		}
	}
}

// TestWritten: a history that was written is read back unchanged.
func TestWritten(t *testing.T) {
	ops := []history.Op{
		{Index: 0, Time: 5, Process: int64(3), Type: history.Invoke, F: "add", Value: history.Pair("a", map[string]int64{"backend": 1})},
		{Index: 1, Time: 6, Process: history.Nemesis, Type: history.Info, F: "heal", Value: history.Value(Fault{Fault: "kill", Node: "mux1", MayBreak: "nothing"})},
		{Index: 2, Time: 7, Process: int64(3), Type: history.OK, F: "add", Value: history.Pair("a", nil), Revision: 4, Final: true, Error: "no \"quotes\""},
	}
	var text strings.Builder
	if err := history.Write(&text, ops); err != nil {
		t.Fatal(err)
	}
	read, err := history.Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text.String())
	}
	for i, op := range read {
		if op.Index != ops[i].Index || op.Process != ops[i].Process || string(op.Value) != string(ops[i].Value) || op.Error != ops[i].Error || op.Revision != ops[i].Revision || op.Final != ops[i].Final {
			t.Errorf("wrote %+v, read %+v", ops[i], op)
		}
	}
}

// TestHalves: no packet passes between the halves that a step names. Any other fault leaves ways, and so do halves that are
// not in the history.
func TestHalves(t *testing.T) {
	named := `{:fault :halves :left "mux1,mux2" :right "server1"}`
	for value, on := range map[string]string{
		named:                            "mux1,mux2 and server1",
		`{:fault :halves}`:               "",
		`{:fault :loss :node "server1"}`: "server1",
	} {
		faults, err := Faults([]history.Op{{Process: history.Nemesis, Type: history.Info, F: "start", Value: edn.RawMessage(value)}})
		if err != nil || len(faults) != 1 || faults[0].On() != on {
			t.Fatalf("%s: %+v, %v", value, faults, err)
		}
		for nodes, cut := range map[[2]string]bool{{"mux2", "server1"}: true, {"server1", "mux1"}: true, {"mux1", "mux2"}: false, {"mux3", "server1"}: false, {"mux1", "server11"}: false} {
			if got := faults[0].Cuts(nodes[0], nodes[1]); got != (cut && value == named) {
				t.Errorf("%s: %v: %v", value, nodes, got)
			}
		}
	}
}
