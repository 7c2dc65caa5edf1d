// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"olympos.io/encoding/edn"
)

// TestRecorder: operations are in order of time, the nemesis' in every workload, and survive writing and reading.
func TestRecorder(t *testing.T) {
	recorder := NewRecorder([]string{"config", "connections"})
	recorder.AddAt("config", Op{Time: 1 << 60, Process: int64(2), Type: OK, F: "read", Value: Pair("web", map[string]int64{"a": 1}), Revision: 7, Final: true})
	recorder.Add("config", Op{Process: int64(1), Type: Invoke, F: "add", Value: Pair("web", nil)})
	recorder.Fault("start", map[edn.Keyword]any{"fault": edn.Keyword("kill")}, errors.New("it can't"))
	if others := recorder.History("connections"); len(others) != 1 || !others[0].IsNemesis() || others[0].Error != "it can't" {
		t.Errorf("%+v", others)
	}
	ops := recorder.History("config")
	var names []string
	for i, op := range ops {
		names = append(names, string(op.F))
		if op.Index != int64(i) || i > 0 && op.Time < ops[i-1].Time {
			t.Errorf("operation %d: %+v", i, op)
		}
	}
	if got := strings.Join(names, " "); got != "add start read" {
		t.Errorf("in order: %s", got)
	}
	var text bytes.Buffer
	if err := Write(&text, ops); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&text)
	if err != nil || len(again) != 3 {
		t.Fatalf("%d operations, %v", len(again), err)
	}
	var payload map[string]int64
	service, err := again[2].Keyed(&payload)
	if err != nil || service != "web" || payload["a"] != 1 || again[2].Revision != 7 || !again[2].Final || !again[1].IsNemesis() {
		t.Errorf("%+v, %s %v, %v", again, service, payload, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{:index 0":                             "line 1: ",
		"; so\n\n{:process :writer, :type :ok}": "line 3: process :writer; allowed: a number, :nemesis",
		"{:process 1 :index \"one\"}":           "line 1: ",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestKeyedRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[\"web\"]":           "allowed: [service payload]",
		"[3 {}]":              "service 3",
		"[\"web\" \"words\"]": "payload \"words\"",
		"{}":                  "operation 5",
	} {
		var payload map[string]int64
		if _, err := (Op{Index: 5, Value: edn.RawMessage(text)}).Keyed(&payload); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestReadSharedRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.edn")
	for text, want := range map[string]string{
		"; nothing\n":                           "no header; its first form must be {:workload … :expect …}",
		"{:workload\n":                          "header: ",
		"{:workload :config}\n{:process :me}\n": "line 1: process :me",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadShared(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
