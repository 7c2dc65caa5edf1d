// SPDX-License-Identifier: Apache-2.0

// Package scenario reads jepsen/scenarios.edn: cluster, workloads, faults, schedules and switches. jepsen/README.md says
// what each key means.
package scenario

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"olympos.io/encoding/edn"
)

// Scenario is the whole file.
type Scenario struct {
	Cluster   Cluster                  `edn:"cluster"`
	Workloads Workloads                `edn:"workloads"`
	Programs  map[edn.Keyword]string   `edn:"programs"` // by role; other roles have none
	Usual     Usual                    `edn:"usual"`
	Faults    map[edn.Keyword]Fault    `edn:"faults"`
	Schedules map[edn.Keyword]Schedule `edn:"schedules"`
	Switches  map[edn.Keyword]Switch   `edn:"switches"`
}

// Usual is what schedules and switches have that say nothing of it: Lives as in Schedule, and for how long a drawn one has
// no new fault at its end.
type Usual struct {
	Lives         []float64 `edn:"lives"`
	SettleSeconds float64   `edn:"settle-seconds"`
}

// Cluster has the keys that the runner needs; the others are for jepsen/bin.
type Cluster struct {
	WindowSeconds float64 `edn:"window-seconds"`
	HoldSeconds   float64 `edn:"hold-seconds"`
	BehindSeconds float64 `edn:"behind-seconds"`
	Steering      string  `edn:"steering"` // of the service; ring if absent
	P4Muxes       int     `edn:"p4-muxes"` // how many of the muxes are of kind p4
	Probes        bool    `edn:"probes"`   // whether probes run, and the service has a check
	Service       string  `edn:"service"`
	VIP           string  `edn:"vip"`
	Port          int     `edn:"port"`
}

// Places is how many former owners a bucket may have: fewer where two buckets meet in a packet.
func (c Cluster) Places() int {
	if c.Steering == steeringUsual {
		return 6
	}
	return 2
}

// Workloads has the parameters of each.
type Workloads struct {
	Config      Config      `edn:"config"`
	Generations Generations `edn:"generations"`
	Connections Connections `edn:"connections"`
	Balance     Balance     `edn:"balance"`
}

// Config: how many services, backends of each, writers, operations a second of all writers, seconds for one operation.
type Config struct {
	Services       int     `edn:"services"`
	Backends       int     `edn:"backends"`
	Writers        int     `edn:"writers"`
	Rate           float64 `edn:"rate"`
	TimeoutSeconds float64 `edn:"timeout-seconds"`
}

// Generations: how often ZooKeeper and the muxes are asked, and how long convergence may take after healing.
type Generations struct {
	PollMilliseconds float64 `edn:"poll-milliseconds"`
	ConvergeSeconds  float64 `edn:"converge-seconds"`
}

// Connections: the number of long-lived ones, the share of these that asks for MPTCP, the share that is silent all its
// life, requests a second on each other one, short ones a second, and when an answer counts as missing.
type Connections struct {
	Connections       int     `edn:"connections"`
	MPTCP             float64 `edn:"mptcp"`
	Idle              float64 `edn:"idle"`
	RequestsPerSecond float64 `edn:"requests-per-second"`
	ShortPerSecond    float64 `edn:"short-per-second"`
	AnswerSeconds     float64 `edn:"answer-seconds"`
}

// Balance: by how much a share of the buckets may differ, and how many connections are opened to count them.
type Balance struct {
	Tolerance   float64 `edn:"tolerance"`
	Connections int     `edn:"connections"`
}

// Fault is a kind of fault: its commands' words are strings, or keywords that the step fills in.
type Fault struct {
	On       map[edn.Keyword]bool        `edn:"on"`
	Defaults map[edn.Keyword]any         `edn:"defaults"`
	Start    [][]any                     `edn:"start"`
	Heal     [][]any                     `edn:"heal"`
	Alone    bool                        `edn:"alone"`
	MayBreak map[edn.Keyword]edn.Keyword `edn:"may-break"`
}

// Step is one fault of a schedule: when, for how long, which, on which role or node, and words for its commands.
type Step map[edn.Keyword]any

// Schedule has its steps, or says how to draw them. At Moves, in seconds, the weights of the connections' service change;
// without :moves, from time to time. Only Workloads run, all if there are none. Lives are the shortest and the longest of a
// connection, in windows. WindowSeconds, HoldSeconds, Steering, P4Muxes and Probes replace those of the cluster.
type Schedule struct {
	Seconds float64   `edn:"seconds"`
	Steps   []Step    `edn:"steps"`
	Moves   []float64 `edn:"moves"`

	Workloads     map[edn.Keyword]bool `edn:"workloads"`
	Lives         []float64            `edn:"lives"`
	WindowSeconds *float64             `edn:"window-seconds"`
	HoldSeconds   *float64             `edn:"hold-seconds"`
	Steering      string               `edn:"steering"`
	P4Muxes       *int                 `edn:"p4-muxes"`
	Probes        *bool                `edn:"probes"`

	Limits map[edn.Keyword]bool `edn:"limits"` // of the protocol, which the steps make connections meet

	Every   float64                 `edn:"every"`
	For     []float64               `edn:"for"`
	Overlap float64                 `edn:"overlap"`
	Weights map[edn.Keyword]float64 `edn:"weights"`
}

// Switch breaks the system on purpose. Exactly the verdicts in Red must then be false; those in Entailed, which may
// follow from them, may be false.
type Switch struct {
	Red      map[edn.Keyword]bool `edn:"red"`
	Entailed map[edn.Keyword]bool `edn:"entailed"`
	Schedule
}

// Read decodes the file and refuses steps with unknown faults or roles.
func Read(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all Scenario
	if err := edn.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(all.Programs) == 0 {
		return nil, fmt.Errorf("%s: :programs is missing; allowed: the program of each role", path)
	}
	if lives := all.Usual.Lives; len(lives) != 2 || lives[0] <= 0 || lives[1] < lives[0] {
		return nil, fmt.Errorf("%s: :usual: :lives %v; allowed: the shortest and the longest, in windows, above 0", path, lives)
	}
	numbers := all.Workloads.Connections
	if share := numbers.MPTCP; share < 0 || share > 1 {
		return nil, fmt.Errorf("%s: workload :connections: :mptcp %g; allowed: 0..1, a share of the long-lived ones", path, share)
	}
	if share := numbers.Idle; share < 0 || share > 1-numbers.MPTCP {
		return nil, fmt.Errorf("%s: workload :connections: :idle %g; allowed: 0..%g, the share of the long-lived ones without :mptcp", path, share, 1-numbers.MPTCP)
	}
	for name, schedule := range all.Schedules {
		if err := all.check(fmt.Sprintf("schedule :%s", string(name)), schedule); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for name, each := range all.Switches {
		if err := all.check(fmt.Sprintf("switch :%s", string(name)), each.Schedule); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return &all, nil
}

func (s *Scenario) check(where string, schedule Schedule) error {
	if moves := schedule.Moves; len(moves) > 0 && moves[0] < 0 || !slices.IsSorted(moves) {
		return fmt.Errorf("%s: :moves %v; allowed: ascending seconds from 0", where, moves)
	}
	if lives := schedule.Lives; lives != nil && (len(lives) != 2 || lives[0] <= 0 || lives[1] < lives[0]) {
		return fmt.Errorf("%s: :lives %v; allowed: the shortest and the longest, in windows, above 0", where, lives)
	}
	for number, step := range schedule.Steps {
		name, ok := step["fault"].(edn.Keyword)
		fault, known := s.Faults[name]
		if !ok || !known {
			return fmt.Errorf("%s, step %d: fault '%v'; allowed: %s", where, number, step["fault"], names(s.Faults))
		}
		if role, ok := step["on"].(edn.Keyword); ok && !fault.On[role] {
			return fmt.Errorf("%s, step %d: :on '%v'; allowed for :%s: %s", where, number, role, string(name), names(fault.On))
		}
		if step.At() < 0 || step.For() < 0 {
			return fmt.Errorf("%s, step %d: :at %v, :for %v; allowed: seconds from 0", where, number, step["at"], step["for"])
		}
	}
	return nil
}

func names[V any](of map[edn.Keyword]V) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		words = append(words, ":"+string(name))
	}
	return strings.Join(words, " ")
}

// Wanted is how a schedule is drawn: for so many seconds, from a seed. Faults is how many, 0 for one each :every seconds.
// Moves is how often the weights of any schedule change, evenly, 0 for what the schedule says.
type Wanted struct {
	Seconds       float64
	Seed          uint64
	Faults, Moves int
}

// Schedule returns the schedule of that name, drawn if it says how to draw one. Only then Faults is allowed.
func (s *Scenario) Schedule(name string, wanted Wanted) (Schedule, error) {
	schedule, known := s.Schedules[edn.Keyword(name)]
	if !known {
		return schedule, fmt.Errorf("schedule '%s'; allowed: %s", name, names(s.Schedules))
	}
	if schedule.Every > 0 {
		schedule = s.draw(schedule, wanted)
	} else if wanted.Faults > 0 {
		drawn := maps.Clone(s.Schedules)
		maps.DeleteFunc(drawn, func(_ edn.Keyword, each Schedule) bool { return each.Every == 0 })
		return schedule, fmt.Errorf("schedule '%s' has steps of its own; allowed with a number of faults: %s", name, names(drawn))
	}
	if wanted.Moves > 0 {
		schedule.Moves = nil
	}
	for number := range wanted.Moves {
		schedule.Moves = append(schedule.Moves, round(schedule.Seconds*float64(number)/float64(wanted.Moves)))
	}
	return schedule, nil
}

// steeringUsual is that of services of which nothing is said.
const steeringUsual = "ring"

// Needs returns the cluster as the schedule needs it, and the lives of its connections, in windows.
func (s *Scenario) Needs(schedule Schedule) (Cluster, []float64) {
	cluster, lives := s.Cluster, s.Usual.Lives
	if schedule.WindowSeconds != nil {
		cluster.WindowSeconds = *schedule.WindowSeconds
	}
	if schedule.HoldSeconds != nil {
		cluster.HoldSeconds = *schedule.HoldSeconds
	}
	if schedule.Steering != "" {
		cluster.Steering = schedule.Steering
	}
	if cluster.Steering == "" {
		cluster.Steering = steeringUsual
	}
	if schedule.P4Muxes != nil {
		cluster.P4Muxes = *schedule.P4Muxes
	}
	if schedule.Probes != nil {
		cluster.Probes = *schedule.Probes
	}
	if schedule.Lives != nil {
		lives = schedule.Lives
	}
	return cluster, lives
}

// Switch returns the switch of that name.
func (s *Scenario) Switch(name string) (Switch, error) {
	found, known := s.Switches[edn.Keyword(name)]
	if !known {
		return found, fmt.Errorf("switch '%s'; allowed: %s", name, names(s.Switches))
	}
	return found, nil
}

// draw makes steps: each begins when the one before has healed, or, with probability :overlap, half of :every sooner,
// while that one may still be active. With a number of faults they share the time evenly, and none is left out.
func (s *Scenario) draw(how Schedule, wanted Wanted) Schedule {
	drawn, draw := how, NewDraw(wanted.Seed)
	drawn.Seconds = wanted.Seconds
	every := how.Every
	if wanted.Faults > 0 {
		every = (wanted.Seconds - s.Usual.SettleSeconds) / float64(wanted.Faults)
	}
	var total float64
	faults := slices.Sorted(maps.Keys(how.Weights))
	for _, name := range faults {
		total += how.Weights[name]
	}
	healed := 0.0 // when all steps so far have
	left := func(at float64) bool {
		if wanted.Faults > 0 {
			return len(drawn.Steps) < wanted.Faults
		}
		return at < wanted.Seconds-s.Usual.SettleSeconds
	}
	for at := every / 2; left(at); at += every {
		rest := draw.Float() * total
		name := faults[len(faults)-1]
		for _, each := range faults {
			if rest -= how.Weights[each]; rest < 0 {
				name = each
				break
			}
		}
		fault := s.Faults[name]
		roles := slices.Sorted(maps.Keys(fault.On))
		role := roles[draw.Below(len(roles))]
		lasts := how.For[0] + draw.Float()*(how.For[1]-how.For[0])
		overlaps := draw.Float() < how.Overlap
		begins := at
		if fault.Alone || !overlaps {
			begins = max(at, healed+1)
		} else if healed > 0 {
			begins = max(at-every/2, 0)
		}
		step := Step{"at": round(begins), "fault": name}
		if role != "none" {
			step["on"] = role
		}
		if len(fault.Heal) > 0 {
			step["for"] = round(lasts)
		}
		drawn.Steps = append(drawn.Steps, step)
		healed = max(healed, begins+lasts)
		if fault.Alone {
			at = max(at, healed-every/2)
		}
	}
	return drawn
}

func round(seconds float64) float64 { return float64(int(seconds*10)) / 10 }

// At is when the step begins, in seconds from the start of the schedule.
func (s Step) At() float64 { return number(s["at"]) }

// For is how long the fault is active, in seconds.
func (s Step) For() float64 { return number(s["for"]) }

// Fault is its name.
func (s Step) Fault() edn.Keyword { name, _ := s["fault"].(edn.Keyword); return name }

func number(value any) float64 {
	switch each := value.(type) {
	case int64:
		return float64(each)
	case float64:
		return each
	}
	return 0
}

// Words fills in a command: the values of keywords are taken from the step, then from the fault's defaults.
func (f Fault) Words(command []any, step Step) ([]string, error) {
	var words []string
	for _, word := range command {
		if key, ok := word.(edn.Keyword); ok {
			value, said := step[key]
			if !said {
				value, said = f.Defaults[key]
			}
			if !said {
				return nil, fmt.Errorf("step %v has no :%s", step, string(key))
			}
			word = value
		}
		words = append(words, fmt.Sprint(word))
	}
	return words, nil
}

// Breaks returns which connections the fault may break on a node of that role.
func (f Fault) Breaks(role edn.Keyword) edn.Keyword {
	if broken, said := f.MayBreak[role]; said {
		return broken
	}
	if broken, said := f.MayBreak["default"]; said {
		return broken
	}
	return "nothing"
}
