// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/trace"
	"fairlead.dev/jepsen/workload"
	"olympos.io/encoding/edn"
)

// TestCauses: each connection that broke is traced, by the bucket that a controller names; without rows of its bucket it is
// not explained. A fault that may break its server's connections explains it without.
func TestCauses(t *testing.T) {
	asked := ""
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = w.Write([]byte(`{"bucket": 5}`))
	}))
	defer controller.Close()
	listing := cluster.Listing{Service: "web", VIP: "10.99.0.1", Port: 80}
	c := &conductor{options: &options{out: t.TempDir()}, listing: listing, began: time.Now(), recorder: history.NewRecorder([]string{"connections"}),
		generations: &workload.Generations{Listing: listing}, witnesses: &workload.Witnesses{}, buckets: &workload.Buckets{API: workload.NewAPI([]string{controller.URL}), Listing: listing}}
	c.recorder.Fault("start", check.Fault{Fault: "kill", Node: "server2", MayBreak: "connections-of-node"}, nil)
	for number, each := range []check.Connection{
		{End: "closed", Servers: []string{"server1"}},
		{End: "reset", Servers: []string{"server1"}, Local: "10.2.0.11:4001"},
		{End: "timeout", Servers: []string{"server2"}, Local: "10.2.0.11:4002"},
	} {
		each.ID, each.To, each.Kind = int64(number+1), c.recorder.Now(), "tcp"
		c.recorder.Add("connections", history.Op{Process: each.ID, Type: history.OK, F: "connection", Value: history.Value(each), Error: "an error"})
	}
	limits, err := c.causes()
	if err == nil || !strings.Contains(err.Error(), "1 connections broke by no known cause: NOT EXPLAINED: see ") || len(limits) > 0 {
		t.Errorf("limits %v, error %v", limits, err)
	}
	c.breaks = "chaining-off"
	if _, err := c.causes(); err != nil {
		t.Error(err)
	}
	if asked != "/v1/services/web/explain?destination=10.99.0.1&destinationPort=80&protocol=tcp&source=10.2.0.11&sourcePort=4001" {
		t.Errorf("asked for %s", asked)
	}
	text, err := os.ReadFile(filepath.Join(c.out, causesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{trace.Unexplained + ": connection 2 ", "10.2.0.11:4001 → 10.99.0.1:80, ", "bucket    5\n", "kill of server2: connection 3 "} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if strings.Contains(string(text), "connection 1 ") {
		t.Errorf("connection 1 did not break:\n%s", text)
	}
}

// TestExcused: a schedule excuses the limits that it names, and many moves all.
func TestExcused(t *testing.T) {
	limits := map[int64]string{0: "notice", 1: "overflow"}
	for _, row := range []struct {
		expected map[edn.Keyword]bool
		all      bool
		want     map[int64]string
	}{
		{nil, false, map[int64]string{}},
		{map[edn.Keyword]bool{"notice": true}, false, map[int64]string{0: "notice"}},
		{map[edn.Keyword]bool{"window": true}, false, map[int64]string{}},
		{nil, true, limits},
	} {
		if got := excused(limits, row.expected, row.all); !maps.Equal(got, row.want) {
			t.Errorf("%v, %t: %v; want %v", row.expected, row.all, got, row.want)
		}
	}
}

// TestMet: the limits that connections met are in the history, so that a checker excuses them.
func TestMet(t *testing.T) {
	var ops []history.Op
	for id := range int64(2) {
		ops = append(ops, history.Op{Process: id, Type: history.OK, F: "connection",
			Value: history.Value(check.Connection{ID: id, Kind: "tcp", End: "reset", Requests: 1, Servers: []string{"server1"}})})
	}
	for _, row := range []struct {
		limits map[int64]string
		valid  check.Outcome
	}{
		{nil, check.False},
		{map[int64]string{1: "overflow"}, check.False},
		{map[int64]string{0: "notice", 1: "overflow"}, check.True},
	} {
		verdict, err := check.Unbroken(met(append([]history.Op{}, ops...), row.limits), check.Settings{})
		if err != nil || verdict.Valid != row.valid {
			t.Errorf("%v: %+v, %v", row.limits, verdict, err)
		}
	}
}
