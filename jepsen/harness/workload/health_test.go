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

// TestAwaitHealthy: it returns once all of the service's backends are healthy and the leader acts; otherwise it says why not.
func TestAwaitHealthy(t *testing.T) {
	const other = `{"service": "other", "acting": true, "backends": [{"backend": 1, "state": "out"}]}`
	view := func(acting bool, second string) string {
		return fmt.Sprintf(`[{"service": "web", "acting": %t, "backends": [{"backend": 1, "state": "healthy"},{"backend": 2, "state": "%s"}]},%s]`, acting, second, other)
	}
	for _, row := range []struct {
		first, later string
		says         string
	}{
		{view(true, "healthy"), view(true, "healthy"), ""},
		{view(false, "healthy"), view(true, "healthy"), ""},
		{view(true, "returning"), view(true, "healthy"), ""},
		{view(true, "out"), view(true, "out"), "not fine within 500ms: backend 2 is out"},
		{view(false, "unknown"), view(false, "unknown"), "the leader only looks, backend 2 is unknown"},
		{`[` + other + `]`, `[]`, "no leader shows it"},
		{`{}`, `{}`, "GET /v1/health: json"},
	} {
		server := changing(row.first, row.later)
		err := AwaitHealthy(NewAPI([]string{server.URL}), "web", 500*time.Millisecond)
		server.Close()
		if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s, %s: %v, want %q", row.first, row.later, err, row.says)
		}
	}
}

// TestHealthChanges: only those of health, and of the service.
func TestHealthChanges(t *testing.T) {
	for _, row := range []struct {
		audit string
		count int
		says  string
	}{
		{`[]`, 0, ""},
		{`[{"who": "health", "service": "web"},{"who": "root", "service": "web"},{"who": "health", "service": "other"},{"who": "health"}]`, 1, ""},
		{`{}`, 0, "GET /v1/audit: json"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, row.audit) }))
		count, err := HealthChanges(NewAPI([]string{server.URL}), "web")
		server.Close()
		if count != row.count || (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %d, %v; want %d, %q", row.audit, count, err, row.count, row.says)
		}
	}
}
