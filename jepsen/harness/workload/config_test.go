// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/jepsen/scenario"
)

// pools answers as a controller does for services and the weights of their backends; a key gets the same answer again.
type pools struct {
	lock     sync.Mutex
	services map[string]map[int64]int64
	answered map[string]int
	refused  int // how many of the next changes are refused unless they are forced
}

func (p *pools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.lock.Lock()
	defer p.lock.Unlock()
	key := r.Header.Get("Idempotency-Key")
	status, said := p.answered[key], any(map[string]any{"generation": 1})
	if status == 0 {
		status, said = p.answer(r)
	}
	if key != "" {
		p.answered[key] = status
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(said)
}

func (p *pools) answer(r *http.Request) (int, any) {
	var asked struct {
		Name    string `json:"name"`
		Changes []struct{ ID, Weight int64 }
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/services/"), "/")
	pool, there := p.services[name]
	switch {
	case p.refused > 0 && rest == "changes" && r.URL.Query().Get("force") != "true":
		p.refused--
		return 409, map[string]any{"detail": "it may break connections"}
	case r.Method == "POST" && r.URL.Path == "/v1/services" && p.services[asked.Name] == nil:
		p.services[asked.Name] = map[int64]int64{}
		return 201, map[string]any{"generation": 1}
	case r.Method == "GET" && r.URL.Path == "/v1/services":
		all := []any{}
		for each := range p.services {
			all = append(all, map[string]any{"name": each})
		}
		return 200, all
	case r.Method == "DELETE" && there && rest == "":
		delete(p.services, name)
		return 200, map[string]any{"generation": 1}
	case r.Method == "GET" && there && rest == "backends":
		all := []any{}
		for _, id := range slices.Sorted(maps.Keys(pool)) {
			all = append(all, map[string]any{"id": id, "weight": pool[id]})
		}
		return 200, all
	case r.Method == "POST" && there && rest == "changes" && len(pool) > 0:
		for _, each := range asked.Changes {
			pool[each.ID] = each.Weight
		}
		return 200, map[string]any{"generation": 2}
	}
	return 409, map[string]any{"detail": "refused"}
}

func served(t *testing.T, p *pools) string {
	t.Helper()
	p.answered = map[string]int{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL
}

// TestServices: each run has its own services, even with the same seed, and deletes those of earlier runs and no
// others.
func TestServices(t *testing.T) {
	p := &pools{services: map[string]map[int64]int64{"web": {}, "s1": {}, "faults-broken-off-1": {}}}
	url := served(t, p)
	names := func() []string { return slices.Sorted(maps.Keys(p.services)) }
	for _, run := range []string{"one-", "two-"} {
		api := NewAPI([]string{url})
		api.Run = run
		config := &Config{API: api, Numbers: scenario.Config{Services: 2}, Seed: 7}
		if err := config.Create(); err != nil {
			t.Fatal(err)
		}
		if got, want := names(), []string{"faults-" + run + "1", "faults-" + run + "2", "s1", "web"}; !slices.Equal(got, want) {
			t.Errorf("created, %q are there, want %q", got, want)
		}
		if err := config.Remove(); err != nil {
			t.Fatal(err)
		}
		if got := names(); !slices.Equal(got, []string{"s1", "web"}) {
			t.Errorf("removed, %q are there", got)
		}
	}
}

// TestMover: weights are changed in one generation and can be restored; it is an error if none was ever changed, though some should.
func TestMover(t *testing.T) {
	before := map[int64]int64{1: 70, 2: 80, 3: 90}
	p := &pools{services: map[string]map[int64]int64{"web": maps.Clone(before), "empty": {}}}
	api := NewAPI([]string{served(t, p)})
	weights := func() map[int64]int64 {
		t.Helper()
		all, err := Weights(api, "web")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for service, moves := range map[string]bool{"web": true, "empty": false} {
		said := make(chan struct{}, 10)
		api.Run = service + "-" // a key gets the same answer again
		mover := &Mover{API: api, Service: service, Life: 60, Seed: 7, Say: func(string, ...any) { said <- struct{}{} }}
		mover.Start()
		if moves {
			await(t, "other weights", func() bool { return !maps.Equal(weights(), before) })
		} else {
			<-said
		}
		if err := mover.Stop(); (err == nil) != moves {
			t.Errorf("%s: %v", service, err)
		}
	}
	never := &Mover{API: api, Service: "web", Life: 60, Moves: []float64{}, Seed: 7, Say: func(string, ...any) { t.Error("weights were changed") }}
	never.Start()
	if err := never.Stop(); err != nil {
		t.Errorf("no moves wanted: %v", err)
	}
	if err := SetWeights(api, "web", "as-before", func(_ int, each Backend) int64 { return before[each.ID] }); err != nil {
		t.Fatal(err)
	}
	if got := weights(); !maps.Equal(got, before) {
		t.Errorf("weights %v, want %v", got, before)
	}
}

// TestMoverWaits: a move that controllers refuse is made once they no longer do, unless it is forced, or the mover stopped.
func TestMoverWaits(t *testing.T) {
	for _, row := range []struct {
		force          bool
		refused, stays int
		said           string
		moves          bool
		patience       time.Duration
	}{
		{false, 0, 0, "weights were changed (1)", true, 0},
		{false, 2, 0, "weights wait: refused: 409: it may break connections, weights were changed (1)", true, time.Minute},
		{true, 2, 2, "weights were changed (1)", true, 0},
		{false, 1000, 900, "weights wait: refused: 409: it may break connections, weights were not changed: refused: 409: it may break connections", false, 0},
	} {
		p := &pools{services: map[string]map[int64]int64{"web": {1: 70, 2: 80, 3: 90}}, refused: row.refused}
		said := make(chan string, 10)
		mover := &Mover{API: NewAPI([]string{served(t, p)}), Service: "web", Life: 60, Moves: []float64{0}, Seed: 7, Force: row.force, Patience: row.patience,
			Say: func(format string, args ...any) { said <- fmt.Sprintf(format, args...) }}
		mover.Start()
		all := []string{<-said}
		if err := mover.Stop(); (err == nil) != row.moves {
			t.Errorf("%+v: %v", row, err)
		}
		close(said)
		for text := range said {
			all = append(all, text)
		}
		if got := strings.Join(all, ", "); got != row.said || p.refused < row.stays {
			t.Errorf("%+v: %s, %d left", row, got, p.refused)
		}
	}
}
