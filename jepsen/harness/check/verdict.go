// SPDX-License-Identifier: Apache-2.0

// Package check judges histories: one file for each property. jepsen/histories/README.md has the rules, which
// the Clojure checkers follow as well; the shared histories beside it are judged by both.
package check

import (
	"fmt"
	"strings"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// Outcome of a judgement. Unknown is not green: the history does not say enough.
type Outcome int

const (
	Unknown Outcome = iota
	True
	False
)

func (o Outcome) String() string { return [...]string{":unknown", "true", "false"}[o] }

// Verdict is a property's judgement: why in a sentence, and examples of what speaks against it.
type Verdict struct {
	Name     string
	Valid    Outcome
	Why      string
	Examples []string
}

// Settings are what a verdict needs to know of the run beside its history.
type Settings struct {
	Tolerance float64 // of a backend's share of the buckets, absolute
}

// Checker judges one property of a history.
type Checker func(ops []history.Op, settings Settings) (Verdict, error)

// Checkers of each workload, by the verdict's name.
var Checkers = map[string]map[string]Checker{
	"config":      {"linearizable": Linearizable, "durable": Durable},
	"generations": {"prefix": Prefix, "image": Image, "converged": Converged, "fenced": Fenced},
	"connections": {"unbroken": Unbroken, "sticky": Sticky},
	"balance":     {"balanced": Balanced},
}

// Workloads in the order in which they are shown, and the verdicts of each.
var Workloads = []string{"config", "generations", "connections", "balance"}
var Order = []string{"linearizable", "durable", "prefix", "image", "converged", "fenced", "unbroken", "sticky", "balanced"}

// All judges each property of a workload's history, in order. A history that cannot be read is an error, no verdict.
func All(workload string, ops []history.Op, settings Settings) ([]Verdict, error) {
	checkers, known := Checkers[workload]
	if !known {
		return nil, fmt.Errorf("workload %q; allowed: %s", workload, strings.Join(Workloads, ", "))
	}
	var verdicts []Verdict
	for _, name := range Order {
		checker, ours := checkers[name]
		if !ours {
			continue
		}
		verdict, err := checker(ops, settings)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		verdict.Name = name
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

const examplesMax = 8

// judged makes a verdict of what speaks against it: nothing is True with the sentence `why`.
func judged(against []string, why string) Verdict {
	if len(against) == 0 {
		return Verdict{Valid: True, Why: why}
	}
	shown := against[:min(len(against), examplesMax)]
	return Verdict{Valid: False, Why: fmt.Sprintf("%d violations, the first: %s", len(against), against[0]), Examples: shown}
}

func unknown(why string, args ...any) Verdict {
	return Verdict{Valid: Unknown, Why: fmt.Sprintf(why, args...)}
}

// EDN is the verdict as a report has it.
func (v Verdict) EDN() map[edn.Keyword]any {
	valid := map[Outcome]any{Unknown: edn.Keyword("unknown"), True: true, False: false}[v.Valid]
	return map[edn.Keyword]any{"valid?": valid, "why": v.Why, "examples": append([]string{}, v.Examples...)}
}
