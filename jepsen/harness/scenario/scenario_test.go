// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"olympos.io/encoding/edn"
)

const file = "../../scenarios.edn"

// TestDraw: the numbers of SplitMix64's reference implementation for seed 1234567.
func TestDraw(t *testing.T) {
	draw := NewDraw(1234567)
	for _, wanted := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := draw.Next(); got != wanted {
			t.Errorf("drew %d, not %d", got, wanted)
		}
	}
}

// TestSchedules: the file's schedules can be read, and each step's commands can be filled in.
func TestSchedules(t *testing.T) {
	all, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	schedules := map[string]Schedule{}
	for name := range all.Schedules {
		schedule, err := all.Schedule(string(name), Wanted{Seconds: 1800, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		schedules[string(name)] = schedule
	}
	for name, each := range all.Switches {
		if each.Red == nil || len(each.Workloads) == 0 {
			t.Errorf("switch %v says neither what turns red nor which workloads run: %+v", name, each)
		}
		schedules[string(name)] = each.Schedule
	}
	for name, schedule := range schedules {
		if schedule.Seconds <= 0 {
			t.Errorf("schedule %s lasts %g s", name, schedule.Seconds)
		}
		for _, step := range schedule.Steps {
			step["node"], step["program"] = "n", "n/p"
			fault := all.Faults[step.Fault()]
			for _, command := range append(fault.Start, fault.Heal...) {
				if _, err := fault.Words(command, step); err != nil {
					t.Errorf("schedule %s: %v", name, err)
				}
			}
		}
	}
}

// TestDrawn: the same seed draws the same steps, another seed others, and a fault that is :alone overlaps with none.
func TestDrawn(t *testing.T) {
	all, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := all.Schedule("long", Wanted{Seconds: 1800, Seed: 7})
	again, _ := all.Schedule("long", Wanted{Seconds: 1800, Seed: 7})
	other, _ := all.Schedule("long", Wanted{Seconds: 1800, Seed: 8})
	if !reflect.DeepEqual(first, again) || reflect.DeepEqual(first, other) || len(first.Steps) < 50 {
		t.Errorf("%d steps of seed 7, %d of seed 8", len(first.Steps), len(other.Steps))
	}
	for seed := range uint64(50) {
		drawn, _ := all.Schedule("long", Wanted{Seconds: 900, Seed: seed})
		for i, step := range drawn.Steps {
			if !all.Faults[step.Fault()].Alone {
				continue
			}
			for j, each := range drawn.Steps {
				if i != j && each.At() < step.At()+step.For() && step.At() < each.At()+each.For() {
					t.Errorf("seed %d: %v overlaps with %v", seed, step, each)
				}
			}
		}
	}
}

// drawnFile is jepsen/drawn.edn.
type drawnFile struct {
	Scenarios Scenario `edn:"scenarios"`
	Drawn     []struct {
		Schedule      edn.Keyword
		Seconds       float64
		Seed          uint64
		Faults, Moves int
		Steps         []Step
		Moved         []float64
	} `edn:"drawn"`
}

func readDrawn(t *testing.T) drawnFile {
	t.Helper()
	text, err := os.ReadFile("../../drawn.edn")
	if err != nil {
		t.Fatal(err)
	}
	var shared drawnFile
	if err := edn.Unmarshal(text, &shared); err != nil {
		t.Fatal(err)
	}
	return shared
}

// differences are what is drawn otherwise than the file says, each as a sentence.
func (shared drawnFile) differences(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, each := range shared.Drawn {
		wanted := Wanted{Seconds: each.Seconds, Seed: each.Seed, Faults: each.Faults, Moves: each.Moves}
		drawn, err := shared.Scenarios.Schedule(string(each.Schedule), wanted)
		if err != nil {
			t.Fatal(err)
		}
		got, want := fmt.Sprint(drawn.Steps), fmt.Sprint(each.Steps)
		if got != want || each.Moves > 0 && !slices.Equal(drawn.Moves, each.Moved) {
			found = append(found, fmt.Sprintf("%+v: drawn %s, moves %v, want %s", wanted, got, drawn.Moves, want))
		}
	}
	return found
}

// TestDrawnAlike: jepsen/drawn.edn has what both runners draw.
func TestDrawnAlike(t *testing.T) {
	shared := readDrawn(t)
	if len(shared.Drawn) < 3 {
		t.Fatalf("only %d schedules are drawn", len(shared.Drawn))
	}
	for _, difference := range shared.differences(t) {
		t.Error(difference)
	}
}

// TestDrawnShowsEachWeight: with any weight one higher or lower, something else than jepsen/drawn.edn has is drawn.
func TestDrawnShowsEachWeight(t *testing.T) {
	shared := readDrawn(t)
	for name, schedule := range shared.Scenarios.Schedules {
		for fault, weight := range schedule.Weights {
			for _, other := range []float64{weight - 1, weight + 1} {
				schedule.Weights[fault] = other
				if len(shared.differences(t)) == 0 {
					t.Errorf("schedule %v draws the same with %v %v in place of %v", name, fault, other, weight)
				}
			}
			schedule.Weights[fault] = weight
		}
	}
}

// TestWanted: as many faults and moves are drawn as are asked for, also where a fault is :alone, and what else the schedule
// says stays. A schedule with steps of its own has as many moves as are asked for, and refuses a number of faults.
func TestWanted(t *testing.T) {
	all, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		for _, name := range []string{"harder", "long"} {
			drawn, err := all.Schedule(name, Wanted{Seconds: 120, Seed: seed, Faults: 13, Moves: 9})
			if err != nil || len(drawn.Steps) != 13 || len(drawn.Moves) != 9 || drawn.Seconds != 120 {
				t.Fatalf("%s of seed %d: %+v, %v", name, seed, drawn, err)
			}
		}
	}
	drawn, _ := all.Schedule("harder", Wanted{Seconds: 120, Seed: 3})
	if cluster, lives := all.Needs(drawn); cluster.WindowSeconds != 8 || cluster.HoldSeconds != 600 || lives[1] <= 4 || drawn.Moves != nil {
		t.Errorf("harder needs %+v, lives %v, moves %v", cluster, lives, drawn.Moves)
	}
	for name, moves := range map[string][]float64{"brief": {0, 9, 18, 27}, "hunt": {0, 12.5, 25, 37.5}, "health": {0, 23, 46, 69}} {
		before, _ := all.Schedule(name, Wanted{})
		given, err := all.Schedule(name, Wanted{Seconds: 600, Moves: 4})
		if err != nil || !slices.Equal(given.Moves, moves) || given.Seconds != before.Seconds || len(given.Steps) != len(before.Steps) {
			t.Errorf("%s with moves: %+v, %v", name, given, err)
		}
		if again, _ := all.Schedule(name, Wanted{}); !slices.Equal(again.Moves, before.Moves) {
			t.Errorf("%s without moves: %v, want %v", name, again.Moves, before.Moves)
		}
		if _, err := all.Schedule(name, Wanted{Faults: 1}); err == nil || !strings.HasSuffix(err.Error(), "allowed with a number of faults: :harder :long") {
			t.Errorf("%s with faults: %v", name, err)
		}
	}
}

// TestNeeds: a schedule or a switch that says nothing takes the cluster as it is.
func TestNeeds(t *testing.T) {
	all, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	holds, err := all.Schedule("holds", Wanted{Seconds: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := all.Schedule("arrays", Wanted{Seconds: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	hunt, err := all.Schedule("hunt", Wanted{Seconds: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p4, err := all.Schedule("p4", Wanted{Seconds: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	health, err := all.Schedule("health", Wanted{Seconds: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if health.Moves == nil {
		t.Error("the schedule health has weights changed from time to time; want never")
	}
	off, err := all.Switch("hold-off")
	if err != nil {
		t.Fatal(err)
	}
	all.Cluster.HoldSeconds = 7
	for _, row := range []struct {
		schedule     Schedule
		steering     string
		window, hold float64
		lives        []float64
		p4Muxes      int
		probes       bool
	}{
		{Schedule{}, "ring", 120, 7, []float64{0.15, 0.5}, 0, false},
		{p4, "ring", 120, 7, []float64{0.15, 0.5}, 1, false},
		{health, "ring", 120, 7, []float64{0.15, 0.5}, 0, true},
		{holds, "ring", 8, 600, []float64{3, 4}, 0, false},
		{arrays, "othello", 20, 7, []float64{2.5, 3}, 0, false},
		{hunt, "hunt", 8, 600, []float64{3, 4}, 0, false},
		{off.Schedule, "ring", 8, 0, []float64{3, 4}, 0, false},
	} {
		cluster, lives := all.Needs(row.schedule)
		if cluster.Steering != row.steering || cluster.WindowSeconds != row.window || cluster.HoldSeconds != row.hold || cluster.P4Muxes != row.p4Muxes || cluster.Probes != row.probes || !slices.Equal(lives, row.lives) {
			t.Errorf("%+v, %v; want %+v", cluster, lives, row)
		}
	}
}

// TestRefused: the error names each defect, and what is allowed.
func TestRefused(t *testing.T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ old, new, says string }{
		{":fault :kill :on :mux", ":fault :explode :on :mux", "fault ':explode'; allowed: :corrupt"},
		{":fault :kill :on :mux", ":fault :kill :on :router", ":on ':router'; allowed for :kill: :agent :controller"},
		{":fault :kill :on :mux", ":fault :kill :on :mux :at -1", "allowed: seconds from 0"},
		{":moves [8 13]", ":moves [10 4]", "switch :hello-off: :moves [10 4]; allowed: ascending seconds from 0"},
		{":moves [8 13]", ":moves [-1 4]", ":moves [-1 4]; allowed: ascending seconds from 0"},
		{":lives          [3 4]", ":lives [5 3]", "schedule :holds: :lives [5 3]; allowed: the shortest and the longest"},
		{":lives          [3 4]", ":lives [3]", ":lives [3]; allowed"},
		{":lives          [3 4]", ":lives [0 1]", ":lives [0 1]; allowed"},
		{":programs", ":others", ":programs is missing; allowed: the program of each role"},
		{"{:lives [0.15 0.5]", "{:lives [0.5 0.15]", ":usual: :lives [0.5 0.15]; allowed"},
		{"{:cluster", "{:cluster #", "scenarios"},
	} {
		path := filepath.Join(t.TempDir(), "scenarios.edn")
		changed := strings.Replace(string(text), row.old, row.new, 1)
		if row.new != "" && strings.Contains(row.new, ":at -1") {
			changed = strings.Replace(string(text), "{:at 20", "{:at -20", 1)
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v; expected '%s'", row.new, err, row.says)
		}
	}
	all, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Schedule("endless", Wanted{Seconds: 1, Seed: 1}); err == nil || !strings.Contains(err.Error(), "allowed: :agents :arrays :brief :harder :health :holds :hunt :long :maat :p4 :short") {
		t.Error(err)
	}
	if broken := all.Faults["kill"].Breaks("server"); broken != edn.Keyword("connections-of-node") {
		t.Error(broken)
	}
	if broken := all.Faults["kill"].Breaks("mux"); broken != edn.Keyword("nothing") {
		t.Error(broken)
	}
}
