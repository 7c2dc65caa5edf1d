// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/ring"
	"fairlead.dev/jepsen/scenario"
)

// mux answers GET /rings?since=N as a mux does, for the service web.
type mux struct {
	lock    sync.Mutex
	boot    string
	applied []map[string]any
	away    bool
	lost    int // so many of the first have been dropped
}

func (m *mux) apply(generation int, how string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.applied = append(m.applied, map[string]any{"number": len(m.applied) + 1, "service": "web", "generation": generation,
		"sum": fmt.Sprintf("%08x", generation), "how": how})
}

func (m *mux) restart(boot string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.boot, m.applied = boot, nil
}

func (m *mux) set(away bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.away = away
}

func (m *mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.lock.Lock()
	defer m.lock.Unlock()
	since, err := strconv.Atoi(r.URL.Query().Get("since"))
	if m.away || err != nil || r.URL.Path != "/rings" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	said := map[string]any{"mux": "mux1", "boot": m.boot, "first": m.lost + 1, "next": len(m.applied) + 1, "rings": []any{}, "applied": []any{}}
	if last := len(m.applied); last > 0 {
		said["rings"] = []any{m.applied[last-1]}
		said["applied"] = m.applied[min(max(since-1, m.lost), last):]
	}
	_ = json.NewEncoder(w).Encode(said)
}

// observed returns a recorder of that mux alone; the test sets what ZooKeeper has.
func observed(t *testing.T, m *mux) *Generations {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return &Generations{
		Numbers:   scenario.Generations{PollMilliseconds: 5, ConvergeSeconds: 30},
		Recorder:  history.NewRecorder([]string{"generations"}),
		Listing:   cluster.Listing{Nodes: []cluster.Node{{Node: "mux1", Roles: []string{"mux"}, HTTP: server.URL}}},
		Say:       t.Logf,
		committed: map[string]*committed{"web": {image: &ring.Image{Generation: 3}, sums: map[int64]string{3: ""}}},
		epochs:    map[string]check.Commit{}, records: map[string]bool{}, lags: map[string][]Lag{}, asked: map[string]int64{},
		stop: make(chan struct{}),
	}
}

func applied(t *testing.T, g *Generations) (all []check.Applied) {
	t.Helper()
	for _, op := range g.Recorder.History("generations") {
		if op.F != "applied" || op.Type != history.OK || op.Final {
			continue
		}
		var each check.Applied
		if err := op.Into(&each); err != nil {
			t.Fatal(err)
		}
		all = append(all, each)
	}
	return all
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("within 30 s there was not: %s", what)
		}
	}
}

// TestWatch: each applied generation is recorded once and in order, also across a restart, which restarts the numbers.
func TestWatch(t *testing.T) {
	m := &mux{boot: "a"}
	m.apply(1, "snapshot")
	m.apply(2, "delta")
	g := observed(t, m)
	g.wait.Add(1)
	go func() { defer g.wait.Done(); g.watch(1, g.Listing.Nodes[0], 0, "") }()
	seen := func(count int) func() bool { return func() bool { return len(applied(t, g)) >= count } }
	await(t, "two applied", seen(2))
	m.set(true)
	lag := func(want int64) func() bool {
		return func() bool {
			g.lock.Lock()
			defer g.lock.Unlock()
			lags := g.lags["mux1"]
			return len(lags) > 0 && lags[len(lags)-1].Generations == want
		}
	}
	await(t, "no answer", lag(-1))
	m.restart("b")
	m.set(false)
	await(t, "all three generations missing", lag(3))
	for generation := 1; generation <= 3; generation++ {
		m.apply(generation, "snapshot")
	}
	await(t, "five applied", seen(5))
	await(t, "nothing missing", lag(0))
	close(g.stop)
	g.wait.Wait()
	var got []string
	for _, each := range applied(t, g) {
		got = append(got, fmt.Sprintf("%s %s %d %s %s", each.Mux, each.Boot, each.Generation, each.How, each.Sum))
	}
	want := []string{"mux1 a 1 snapshot 00000001", "mux1 a 2 delta 00000002",
		"mux1 b 1 snapshot 00000001", "mux1 b 2 snapshot 00000002", "mux1 b 3 snapshot 00000003"}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// TestLogs: of a mux that ran before, only new entries are recorded, and entries that its log dropped show as a gap.
func TestLogs(t *testing.T) {
	m := &mux{boot: "a"}
	m.apply(1, "snapshot")
	m.apply(2, "delta")
	g := observed(t, m)
	since, boot := logEnd(g.Listing.Nodes[0])
	if since != 3 || boot != "a" {
		t.Errorf("the log continues with %d of %q", since, boot)
	}
	m.apply(3, "delta")
	m.apply(4, "delta")
	m.lost = 3
	g.wait.Add(1)
	go func() { defer g.wait.Done(); g.watch(1, g.Listing.Nodes[0], since, boot) }()
	await(t, "one applied", func() bool { return len(applied(t, g)) >= 1 })
	close(g.stop)
	g.wait.Wait()
	var said []string
	for _, op := range g.Recorder.History("generations") {
		said = append(said, string(op.F)+" "+string(op.Type))
	}
	if got := applied(t, g); len(got) != 1 || got[0].Generation != 4 || !slices.Equal(said, []string{"gap ok", "applied ok"}) {
		t.Errorf("recorded %v as %q", got, said)
	}
	if since, boot := logEnd(cluster.Node{HTTP: "http://127.0.0.1:1"}); since != 0 || boot != "" {
		t.Errorf("of a mux without an answer, %d of %q", since, boot)
	}
}

// TestConverge: it waits for a mux that is behind, and records what it served then, or that it did not answer.
func TestConverge(t *testing.T) {
	final := func(g *Generations) (ops []history.Op) {
		return slices.DeleteFunc(g.Recorder.History("generations"), func(op history.Op) bool { return !op.Final })
	}
	t.Run("behind", func(t *testing.T) {
		m := &mux{boot: "a"}
		m.apply(2, "snapshot")
		g := observed(t, m)
		done := make(chan struct{})
		go func() { g.Converge(map[string]int64{"web": 3}); close(done) }()
		select {
		case <-done:
			t.Error("it did not wait")
		case <-time.After(500 * time.Millisecond):
		}
		m.apply(3, "delta")
		<-done
		var last check.Applied
		if ops := final(g); len(ops) != 1 || ops[0].Type != history.OK || ops[0].Into(&last) != nil || last.Generation != 3 {
			t.Errorf("final operations %+v", ops)
		}
	})
	t.Run("empty", func(t *testing.T) {
		g := observed(t, &mux{boot: "a"})
		g.Numbers.ConvergeSeconds = 0.3
		g.Converge(map[string]int64{"web": 3})
		if ops := final(g); len(ops) != 1 || ops[0].Type != history.Info || ops[0].Error != "it serves nothing" {
			t.Errorf("final operations %+v", ops)
		}
	})
	t.Run("away", func(t *testing.T) {
		g := observed(t, &mux{away: true})
		g.Numbers.ConvergeSeconds = 0.3
		g.Converge(map[string]int64{"web": 3})
		if ops := final(g); len(ops) != 1 || ops[0].Type != history.Info || ops[0].Error == "" {
			t.Errorf("final operations %+v", ops)
		}
	})
}

// TestRead: everything that was committed has been read only if its generations and all their epochs are known.
func TestRead(t *testing.T) {
	for _, each := range []struct {
		name string
		sums map[int64]string // "": recorded
		last map[string]int64
		want bool
	}{
		{"all recorded", map[int64]string{2: "", 3: ""}, map[string]int64{"web": 3}, true},
		{"an epoch is missing", map[int64]string{2: "", 3: "00000003"}, map[string]int64{"web": 3}, false},
		{"a generation is missing", map[int64]string{3: ""}, map[string]int64{"web": 4}, false},
		{"a service is missing", map[int64]string{3: ""}, map[string]int64{"web": 3, "other": 1}, false},
	} {
		g := observed(t, &mux{})
		g.committed["web"].sums = each.sums
		if got := g.read(each.last); got != each.want {
			t.Errorf("%s: %t, want %t", each.name, got, each.want)
		}
	}
}

// TestSettle: a commit is recorded once, when both its sum and its epoch are known, in either order.
func TestSettle(t *testing.T) {
	for _, sumFirst := range []bool{true, false} {
		g := observed(t, &mux{})
		g.committed["web"].sums = map[int64]string{}
		sum := func() { g.committed["web"].sums[4] = "0000abcd"; g.settle("web", 4) }
		epoch := func() {
			g.epochs["web/4"] = check.Commit{Service: "web", Generation: 4, Epoch: 9, Zxid: 77}
			g.settle("web", 4)
		}
		if sumFirst {
			sum()
			epoch()
		} else {
			epoch()
			sum()
		}
		g.settle("web", 4)
		var commit check.Commit
		ops := g.Recorder.History("generations")
		if len(ops) != 1 || ops[0].F != "commit" || ops[0].Into(&commit) != nil || commit != (check.Commit{Service: "web", Generation: 4, Sum: "0000abcd", Epoch: 9, Zxid: 77}) {
			t.Errorf("sum first %t: %+v", sumFirst, ops)
		}
	}
}
