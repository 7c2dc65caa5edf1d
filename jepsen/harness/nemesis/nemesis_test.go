// SPDX-License-Identifier: Apache-2.0

package nemesis

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
	"olympos.io/encoding/edn"
)

const nodes = `{"nodes": [
 {"node": "controller", "roles": ["controller", "follower"]}, {"node": "controller2", "roles": ["controller", "leader"]},
 {"node": "mux1", "roles": ["mux"]}, {"node": "mux2", "roles": ["mux"]}, {"node": "mux3", "roles": ["mux"]},
 {"node": "server1", "roles": ["server"]}, {"node": "server2", "roles": ["agent"]}, {"node": "router", "roles": ["router"]}]}`

// made returns a nemesis whose executables record their arguments, and a function that returns these.
func made(t *testing.T) (*Nemesis, func() []string) {
	t.Helper()
	bin := t.TempDir()
	calls := filepath.Join(bin, "calls")
	program := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nshift 2\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	said := fmt.Sprintf("echo \"${0##*/} $*\" >>%s\n", calls)
	program("nodes", "cat <<'END'\n"+nodes+"\nEND")
	program("node-ctl", said+`case "$*" in *server1*) echo "node-ctl: it has ended" >&2; exit 1;; esac`)
	program("fault-ctl", said)
	read, err := scenario.Read("../../scenarios.edn")
	if err != nil {
		t.Fatal(err)
	}
	made := &Nemesis{Cluster: cluster.Cluster{Bin: bin, File: "my.edn"}, Faults: read.Faults, Programs: read.Programs,
		Recorder: history.NewRecorder([]string{"config"}), Say: t.Logf}
	return made, func() []string {
		text, err := os.ReadFile(calls)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

func step(keys ...any) scenario.Step {
	step := scenario.Step{}
	for i := 0; i < len(keys); i += 2 {
		step[edn.Keyword(keys[i].(string))] = keys[i+1]
	}
	return step
}

func TestMain(m *testing.M) {
	roleWait = 3 * time.Second
	os.Exit(m.Run())
}

// third is the mux that the first draw of this seed selects.
func third(seed uint64) string {
	return fmt.Sprintf("mux%d", scenario.NewDraw(seed).Next()%3+1)
}

func TestSteps(t *testing.T) {
	const seed = 7
	mux := third(seed)
	kill, loss, upgrade := edn.Keyword("kill"), edn.Keyword("loss"), edn.Keyword("upgrade")
	for _, each := range []struct {
		name    string
		step    scenario.Step
		calls   []string
		history []string // f, node, what may break
		failure string
	}{
		{"by role", step("at", 0.0, "for", 0.1, "fault", kill, "on", edn.Keyword("leader")),
			[]string{"node-ctl kill controller2/controller", "node-ctl start controller2/controller"},
			[]string{"start controller2 nothing", "start controller2 nothing", "heal controller2 nothing", "heal controller2 nothing"}, ""},
		{"one of several, by the seed", step("fault", kill, "on", edn.Keyword("mux")),
			[]string{"node-ctl kill " + mux + "/mux", "node-ctl start " + mux + "/mux"},
			[]string{"start " + mux + " nothing", "start " + mux + " nothing", "heal " + mux + " nothing", "heal " + mux + " nothing"}, ""},
		{"a server's agent", step("fault", kill, "on", edn.Keyword("agent")),
			[]string{"node-ctl kill server2/agent", "node-ctl start server2/agent"},
			[]string{"start server2 nothing", "start server2 nothing", "heal server2 nothing", "heal server2 nothing"}, ""},
		{"by name, with words of its own", step("fault", loss, "on", "server1", "percent", int64(5)),
			[]string{"fault-ctl loss server1 5", "fault-ctl heal loss server1"},
			[]string{"start server1 nothing", "start server1 nothing", "heal server1 nothing", "heal server1 nothing"}, ""},
		{"of no node, that heals by itself", step("fault", upgrade, "kind", "mux"),
			[]string{"node-ctl upgrade --kind mux"},
			[]string{"start  nothing", "start  nothing", "heal  nothing", "heal  nothing"}, ""},
		{"a command that fails", step("fault", kill, "on", edn.Keyword("server")),
			[]string{"node-ctl kill server1/nginx"},
			[]string{"start server1 connections-of-node", "start server1 connections-of-node node-ctl: it has ended"}, "node-ctl: it has ended"},
		{"no node of that name any more", step("fault", kill, "on", "mux9", "node", "mux1"), nil, []string{"start  none no node is mux9"},
			"none of 1 steps found a node of its role"},
	} {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			nemesis, calls := made(t)
			err := nemesis.Run(scenario.Schedule{Seconds: 0.2, Steps: []scenario.Step{each.step}}, seed)
			if (err == nil) != (each.failure == "") || err != nil && !strings.Contains(err.Error(), each.failure) {
				t.Errorf("error %v, want %q", err, each.failure)
			}
			if got := calls(); !slices.Equal(got, each.calls) {
				t.Errorf("commands %q, want %q", got, each.calls)
			}
			ops := nemesis.Recorder.History("config")
			if len(ops) != len(each.history) {
				t.Fatalf("%d operations, want %d: %+v", len(ops), len(each.history), ops)
			}
			for i, op := range ops {
				about := struct {
					Node     string      `edn:"node"`
					MayBreak edn.Keyword `edn:"may-break"`
				}{MayBreak: "none"}
				if err := op.Into(&about); err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprintf("%s %s %s", string(op.F), about.Node, string(about.MayBreak))
				if !op.IsNemesis() || op.Type != history.Info || !strings.HasPrefix(each.history[i], got) || !strings.Contains(op.Error, strings.TrimPrefix(each.history[i][len(got):], " ")) {
					t.Errorf("operation %d is %s, error %q; want %s", i, got, op.Error, each.history[i])
				}
			}
		})
	}
}

// TestRoleIsAwaited: a step waits for a node with its role.
func TestRoleIsAwaited(t *testing.T) {
	nemesis, calls := made(t)
	bin := nemesis.Cluster.(cluster.Cluster).Bin
	text := fmt.Sprintf("#!/bin/sh\n[ -e %[1]s/asked ] || { touch %[1]s/asked; echo '{}'; exit; }\ncat <<'END'\n%[2]s\nEND\n", bin, nodes)
	if err := os.WriteFile(filepath.Join(bin, "nodes"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := nemesis.Run(scenario.Schedule{Steps: []scenario.Step{step("fault", edn.Keyword("reshuffle"), "on", edn.Keyword("router"))}}, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := calls(), []string{"fault-ctl reshuffle router", "fault-ctl heal reshuffle router"}; !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
}

// TestNodesCannotBeListed: a step that cannot list the nodes has failed; that differs from no node having its role.
func TestNodesCannotBeListed(t *testing.T) {
	nemesis, calls := made(t)
	bin := nemesis.Cluster.(cluster.Cluster).Bin
	if err := os.WriteFile(filepath.Join(bin, "nodes"), []byte("#!/bin/sh\necho 'nodes: no lab is up' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := nemesis.Run(scenario.Schedule{Steps: []scenario.Step{
		step("fault", edn.Keyword("kill"), "on", edn.Keyword("leader")),
		step("fault", edn.Keyword("upgrade")), // needs no list, and is done
	}}, 1)
	if err == nil || !strings.Contains(err.Error(), "no lab is up") {
		t.Errorf("error %v", err)
	}
	if got := calls(); !slices.Equal(got, []string{"node-ctl upgrade --kind mux"}) {
		t.Errorf("commands %q", got)
	}
}

// TestOverlap: a step begins at its time although another is active, and Run returns when all have healed.
func TestOverlap(t *testing.T) {
	nemesis, calls := made(t)
	began := time.Now()
	err := nemesis.Run(scenario.Schedule{Seconds: 0.1, Steps: []scenario.Step{
		step("at", 0.0, "for", 3.0, "fault", edn.Keyword("reshuffle"), "on", edn.Keyword("router")),
		step("at", 0.5, "for", 0.1, "fault", edn.Keyword("slow"), "on", "mux1"),
	}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("it returned after %s, before all had healed", took)
	}
	got := calls()
	first, second := slices.Index(got, "fault-ctl reshuffle router"), slices.Index(got, "fault-ctl slow mux1 50")
	if len(got) != 4 || first < 0 || second < 0 || slices.Index(got, "fault-ctl heal reshuffle router") < second {
		t.Errorf("commands %q", got)
	}
}

func TestHeal(t *testing.T) {
	nemesis, calls := made(t)
	if err := nemesis.Heal(); err != nil {
		t.Fatal(err)
	}
	if got := calls(); !slices.Equal(got, []string{"fault-ctl heal"}) {
		t.Errorf("commands %q", got)
	}
	if ops := nemesis.Recorder.History("config"); len(ops) != 2 || ops[0].F != "heal" || ops[1].F != "heal" {
		t.Errorf("operations %+v", ops)
	}
}

func TestDescribe(t *testing.T) {
	got := Describe(scenario.Schedule{Steps: []scenario.Step{
		step("at", 8.0, "for", 6.0, "fault", edn.Keyword("kill"), "on", edn.Keyword("leader")),
		step("at", int64(72), "for", int64(8), "fault", edn.Keyword("loss"), "on", "mux1", "percent", int64(10)),
	}})
	if want := "   8.0 s   6.0 s  kill :leader\n  72.0 s   8.0 s  loss mux1 10"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
