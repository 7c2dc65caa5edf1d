// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"fairlead.dev/jepsen/history"
)

// TestUnknown: what a history does not say is unknown, never true.
func TestUnknown(t *testing.T) {
	for _, row := range []struct{ name, workload, verdict, ops string }{
		{"nothing was written", "config", "linearizable", ""},
		{"nothing was acknowledged", "config", "durable", `
			{:index 0 :time 1 :process 0 :type :invoke :f :add :value ["a" {:backend 1 :weight 1}]}
			{:index 1 :time 2 :process 0 :type :info :f :add :value ["a" {:backend 1 :weight 1}] :error "time-out"}`},
		{"no final read", "config", "durable", `
			{:index 0 :time 1 :process 0 :type :invoke :f :add :value ["a" {:backend 1 :weight 1}]}
			{:index 1 :time 2 :process 0 :type :ok :f :add :value ["a" {:backend 1 :weight 1}] :revision 2}`},
		{"nothing was applied", "generations", "image", `
			{:index 0 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}`},
		{"a commit was missed", "generations", "prefix", `
			{:index 0 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}
			{:index 1 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 3 :sum "00" :epoch 1}}
			{:index 2 :time 1 :process 1 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 2 :sum "00"}}`},
		{"a mux's log has a hole", "generations", "prefix", `
			{:index 0 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}
			{:index 1 :time 1 :process 1 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 1 :sum "00" :how "snapshot" :boot "b"}}
			{:index 2 :time 1 :process 1 :type :ok :f :gap :value {:mux "mux1"}}`},
		{"of a mux nothing but the end was seen", "generations", "prefix", `
			{:index 0 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}
			{:index 1 :time 1 :process 1 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 1 :sum "00" :how "snapshot" :boot "b"}}
			{:index 2 :time 1 :process 1 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 1 :sum "00"} :final true}
			{:index 3 :time 1 :process 2 :type :ok :f :applied :value {:mux "mux2" :service "a" :generation 1 :sum "00"} :final true}`},
		{"nobody was asked", "generations", "converged", `
			{:index 0 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}`},
		{"a commit without epoch", "generations", "fenced", `
			{:index 0 :time 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00"}}`},
		{"no connection", "connections", "unbroken", ""},
		{"no answer", "connections", "sticky", `
			{:index 0 :time 1 :process 0 :type :ok :f :connection :value {:id 1 :client "client1" :kind :tcp :requests 0 :servers [] :end :alive :from 0 :to 1 :last-answer 0}}`},
		{"no shares", "balance", "balanced", ""},
		{"no connections to count", "balance", "balanced", `
			{:index 0 :time 1 :process 0 :type :ok :f :shares :value {:service "a" :weights {1 1} :buckets {1 1} :connections {}}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			ops, err := history.Read(strings.NewReader(row.ops))
			if err != nil {
				t.Fatal(err)
			}
			verdict, err := Checkers[row.workload][row.verdict](ops, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if verdict.Valid != Unknown {
				t.Errorf("%s is %v: %s", row.verdict, verdict.Valid, verdict.Why)
			}
		})
	}
}

// TestUnreadable: what is no history of its workload is refused, not judged.
func TestUnreadable(t *testing.T) {
	for _, row := range []struct{ workload, verdict, op, says string }{
		{"config", "durable", `:process 0 :type :invoke :f :grow :value ["a" {}]`, ":f :grow"},
		{"config", "durable", `:process 0 :type :ok :f :add :value ["a" {}]`, "never invoked"},
		{"config", "durable", `:process 0 :type :invoke :f :add :value "a"`, "operation 0"},
		{"generations", "image", `:process 0 :type :ok :f :add :value {}`, ":f :add"},
		{"connections", "unbroken", `:process 0 :type :ok :f :connection :value {:end :bored}`, "end :bored"},
		{"balance", "balanced", `:process 0 :type :ok :f :read :value {}`, ":f :read"},
	} {
		ops, err := history.Read(strings.NewReader("{:index 0 :time 1 " + row.op + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Checkers[row.workload][row.verdict](ops, Settings{}); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v; expected an error with %q", row.op, err, row.says)
		}
	}
	for _, line := range []string{"{:index 0", "{:index 0 :process :client}", "[1 2]"} {
		if _, err := history.Read(strings.NewReader(line)); err == nil {
			t.Errorf("%s was read", line)
		}
	}
}

// TestWritten: what is written is read again as it was.
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
