// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answering serves one body at each path.
func answering(t *testing.T, bodies map[string]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := bodies[r.URL.Path]
		if !known {
			w.WriteHeader(404)
			body = `{"detail": "no such path"}`
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestCheckService: only a service with exactly the steering, window and hold that are needed; without a hold it may lack.
func TestCheckService(t *testing.T) {
	for _, row := range []struct {
		body string
		hold float64
		says string
	}{
		{`{"id": 7, "steering": "ring", "windowSeconds": 8, "holdSeconds": 600}`, 600, ""},
		{`{"id": 7, "steering": "ring", "windowSeconds": 8}`, 0, ""},
		{`{"steering": "ring", "windowSeconds": 8}`, 600, "web has steering ring, windowSeconds 8 and holdSeconds 0; allowed: ring, 8 and 600"},
		{`{"steering": "ring", "windowSeconds": 120, "holdSeconds": 600}`, 600, "web has steering ring, windowSeconds 120 and holdSeconds 600; allowed: ring, 8 and 600"},
		{`{"steering": "othello", "windowSeconds": 8}`, 0, "web has steering othello, windowSeconds 8 and holdSeconds 0; allowed: ring, 8 and 0"},
		{`[]`, 0, "service web: "},
	} {
		id, err := CheckService(NewAPI([]string{answering(t, map[string]string{"/v1/services/web": row.body})}), "web", "ring", 8, row.hold)
		if (err == nil) != (row.says == "") || (err == nil) != (id == 7) || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %q", row.body, err, row.says)
		}
	}
}

// TestCounted: the counters of all controllers are added; those of other services and reasons are not.
func TestCounted(t *testing.T) {
	const name = "fairlead_controller_released_buckets_total"
	leader := answering(t, map[string]string{"/metrics": "# TYPE " + name + " counter\n" +
		name + `{reason="limit",service="web",} 5.0` + "\n" + name + `{reason="report",service="web2",} 7.0` + "\n" +
		name + `{reason="report",service="web",} 1234.0` + "\nother 1\n"})
	follower := answering(t, map[string]string{"/metrics": name + `{service="web",reason="report"} 3` + "\n"})
	silent := answering(t, map[string]string{"/metrics": "other 1\n"})
	broken := answering(t, map[string]string{"/metrics": name + `{service="web",reason="report"} many`})
	for _, row := range []struct {
		controllers []string
		count       int64
		says        string
	}{
		{[]string{leader, follower, silent}, 1237, ""},
		{[]string{silent}, 0, ""},
		{[]string{leader, answering(t, nil)}, 0, "/metrics: 404: no such path"},
		{[]string{broken}, 0, "invalid syntax"},
	} {
		count, err := Counted(NewAPI(row.controllers), name, `reason="report"`, `service="web"`)
		if count != row.count || (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%d, %v; want %d, %q", count, err, row.count, row.says)
		}
	}
}

// changing answers the first request in one way, and later ones in another.
func changing(first, later string) *httptest.Server {
	asked := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			fmt.Fprint(w, first)
		} else {
			fmt.Fprint(w, later)
		}
	}))
}

// TestAwaitAgents: it returns once all of the service's agents report; otherwise it says which do not.
func TestAwaitAgents(t *testing.T) {
	const other = `{"service": "other", "address": "10.1.0.23", "state": "never heard"}`
	listed := func(second string) string {
		return `[{"service": "web", "address": "10.1.0.21", "state": "reporting"},{"service": "web", "address": "10.1.0.22", "state": "` + second + `"},` + other + `]`
	}
	for _, row := range []struct {
		first, later string
		says         string
	}{
		{listed("reporting"), listed("reporting"), ""},
		{listed("counting"), listed("reporting"), ""},
		{listed("never heard"), listed("never heard"), "not all agents of service web report within 500ms: 10.1.0.22 never heard"},
		{`{}`, `{}`, "GET /v1/agents: json"},
	} {
		server := changing(row.first, row.later)
		err := AwaitAgents(NewAPI([]string{server.URL}), "web", 500*time.Millisecond)
		server.Close()
		if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s, %s: %v, want %q", row.first, row.later, err, row.says)
		}
	}
}
