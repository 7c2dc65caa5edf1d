// SPDX-License-Identifier: Apache-2.0

package nemesis

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
	"olympos.io/encoding/edn"
)

// machine is a cluster on which a program that is started is up only once it is let go.
type machine struct {
	lock  sync.Mutex
	calls []string
	lists int
	let   chan struct{}
}

func (m *machine) say(line string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.calls = append(m.calls, line)
}

func (m *machine) said(line string) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	return slices.Contains(m.calls, line)
}

func (m *machine) listed() int {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.lists
}

func (m *machine) Run(_ string, words ...string) (string, error) {
	m.say(strings.Join(words, " "))
	if words[0] == "start" {
		<-m.let
		m.say("started " + words[1])
	}
	return "", nil
}

func (m *machine) List() (cluster.Listing, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.lists++
	return cluster.Listing{Nodes: []cluster.Node{
		{Node: "controller", Roles: []string{"controller", "leader"}}, {Node: "mux1", Roles: []string{"mux"}},
	}}, nil
}

// within waits for a condition; whether it came.
func within(limit time.Duration, condition func() bool) bool {
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// TestStepsThatMustNotMeet: while a program that was killed is being started, another fault of it waits, and one that
// stands alone; one of another program does not.
func TestStepsThatMustNotMeet(t *testing.T) {
	program := edn.Keyword("program")
	all := map[edn.Keyword]scenario.Fault{
		"kill":    {Start: [][]any{{"node-ctl", "kill", program}}, Heal: [][]any{{"node-ctl", "start", program}}},
		"restart": {Start: [][]any{{"node-ctl", "stop", program}}},
		"corrupt": {Start: [][]any{{"fault-ctl", "corrupt", program}}, Alone: true},
		"upgrade": {Start: [][]any{{"node-ctl", "upgrade", edn.Keyword("kind")}}, Defaults: map[edn.Keyword]any{"kind": "controller"}},
	}
	of := func(fault, on string) scenario.Step {
		return scenario.Step{"at": 0.0, "fault": edn.Keyword(fault), "on": edn.Keyword(on)}
	}
	read, err := scenario.Read("../../scenarios.edn")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []struct {
		name, second string
		step         scenario.Step
		waits        bool
	}{
		{"the same program", "stop controller/controller", of("restart", "leader"), true},
		{"one that stands alone", "corrupt mux1/mux", of("corrupt", "mux"), true},
		{"all programs of the kind", "upgrade controller", of("upgrade", "none"), true},
		{"another program", "stop mux1/mux", of("restart", "mux"), false},
		{"all programs of another kind", "upgrade mux", scenario.Step{"at": 0.0, "fault": edn.Keyword("upgrade"), "kind": "mux"}, false},
	} {
		t.Run(each.name, func(t *testing.T) {
			machine := &machine{let: make(chan struct{})}
			nemesis := &Nemesis{Cluster: machine, Faults: all, Programs: read.Programs, Recorder: history.NewRecorder([]string{"config"}), Say: t.Logf}
			ended := make(chan error, 2)
			run := func(step scenario.Step) {
				ended <- nemesis.Run(scenario.Schedule{Steps: []scenario.Step{step}}, 1)
			}
			go run(of("kill", "leader"))
			if !within(time.Minute, func() bool { return machine.said("start controller/controller") }) {
				t.Fatal("the first step does not heal")
			}
			go run(each.step)
			if each.waits {
				within(time.Minute, func() bool { return machine.listed() == 2 || each.step["on"] == edn.Keyword("none") })
				if within(300*time.Millisecond, func() bool { return machine.said(each.second) }) {
					t.Errorf("'%s' does not wait", each.second)
				}
			} else if !within(time.Minute, func() bool { return machine.said(each.second) }) {
				t.Errorf("'%s' waits", each.second)
			}
			close(machine.let)
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			want := []string{"kill controller/controller", "start controller/controller", "started controller/controller"}
			want = slices.Insert(want, map[bool]int{true: 3, false: 2}[each.waits], each.second)
			if !slices.Equal(machine.calls, want) {
				t.Errorf("commands %q; want %q", machine.calls, want)
			}
		})
	}
}

// TestClaims: which programs a step is on. An upgrade of servers replaces their agents, too.
func TestClaims(t *testing.T) {
	read, err := scenario.Read("../../scenarios.edn")
	if err != nil {
		t.Fatal(err)
	}
	claimed := (&Nemesis{Programs: read.Programs}).claimed
	upgrade := scenario.Fault{Defaults: map[edn.Keyword]any{"kind": "server"}}
	on := func(program string) []string { return claimed(scenario.Step{"program": program}, scenario.Fault{}) }
	servers, muxes := claimed(scenario.Step{}, upgrade), claimed(scenario.Step{"kind": "mux"}, upgrade)
	for _, each := range []struct {
		a, b []string
		meet bool
	}{
		{on("server1/agent"), on("server1/agent"), true},
		{on("server1/agent"), on("server1/nginx"), false},
		{on("server1/agent"), on("server2/agent"), false},
		{on("server1/agent"), servers, true},
		{on("server1/nginx"), servers, true},
		{on("mux1/mux"), servers, false},
		{on("mux1/mux"), muxes, true},
		{muxes, servers, false},
		{claimed(scenario.Step{}, scenario.Fault{}), servers, false},
	} {
		if meet(each.a, each.b) != each.meet || meet(each.b, each.a) != each.meet {
			t.Errorf("%q and %q: want %t", each.a, each.b, each.meet)
		}
	}
}
