// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*want }

func TestBounds(t *testing.T) {
	text, err := os.ReadFile("../../bounds.edn")
	if err != nil {
		t.Fatal(err)
	}
	var wanted struct {
		AtMost    [][3]float64       `edn:"at-most"`
		Histories map[string][][]any `edn:"histories"`
	}
	if err := edn.Unmarshal(text, &wanted); err != nil {
		t.Fatal(err)
	}
	if len(wanted.AtMost) == 0 || len(wanted.Histories) == 0 {
		t.Fatal("bounds.edn is empty")
	}
	for _, row := range wanted.AtMost {
		if got := AtMost(int(row[0]), int(row[1])); !near(got, row[2]) {
			t.Errorf("%g of %g: %g, want %g", row[0], row[1], got, row[2])
		}
	}
	for name, rows := range wanted.Histories {
		t.Run(name, func(t *testing.T) {
			_, ops, err := history.ReadShared("../../histories/" + name + ".edn")
			if err != nil {
				t.Fatal(err)
			}
			bounds, err := Bounds(ops)
			if err != nil || len(bounds) != len(rows) {
				t.Fatalf("%v, %v, want %v", bounds, err, rows)
			}
			for number, row := range rows {
				fault, _ := row[0].(string)
				got := bounds[number]
				if got.Fault != fault || fmt.Sprint(got.Connections, got.Broke, got.Stall) != fmt.Sprint(row[1], row[2], row[4]) || !near(got.AtMost, row[3].(float64)) {
					t.Errorf("%+v, want %v", got, row)
				}
			}
		})
	}
}

func TestABoundIsALine(t *testing.T) {
	for want, bound := range map[string]Bound{
		"the whole run      8304 connections,    0 broke: a chance of at most  0.0361 %, longest stall none of 0.2 s": {Connections: 8304, AtMost: AtMost(0, 8304)},
		"kill                 30 connections,    1 broke: a chance of at most 14.8596 %, longest stall 1.5 s":         {Fault: "kill", Connections: 30, Broke: 1, AtMost: AtMost(1, 30), Stall: 15e8},
	} {
		if got := bound.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAHistoryThatCannotBeReadHasNoBounds(t *testing.T) {
	_, err := Bounds([]history.Op{{Index: 3, Type: history.OK, F: "weigh"}})
	if err == nil || !strings.Contains(err.Error(), "operation 3: :f :weigh") {
		t.Errorf("%v", err)
	}
}
