// SPDX-License-Identifier: Apache-2.0

// Package check judges histories: one file for each property. jepsen/rules.edn is the specification of the rules here
// and in the Clojure runner; each names the histories in jepsen/histories that pin it.
package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// Outcome of a judgement. Unknown is not green: the history does not show enough.
type Outcome int

const (
	Unknown Outcome = iota
	True
	False
)

func (o Outcome) String() string { return [...]string{":unknown", "true", "false"}[o] }

// Verdict is a property's judgement: the reason as a sentence, and examples of violations.
type Verdict struct {
	Name     string
	Valid    Outcome
	Rules    []string // by which it is False or Unknown, sorted
	Why      string
	Examples []string
}

// Rule is a way for a history to fail a verdict, or to leave it unknown; jepsen/rules.edn says which.
type Rule struct {
	Verdict, Name string
	Outcome       Outcome
}

// Rules are all that the checkers report, in no order.
var Rules []*Rule

func newRule(verdict, name string, outcome Outcome) *Rule {
	rule := &Rule{verdict, name, outcome}
	Rules = append(Rules, rule)
	return rule
}

// Settings are what a verdict depends on beside the history.
type Settings struct {
	Tolerance float64       // of a backend's share of the buckets, absolute; 0 for 0.01
	Search    time.Duration // the limit of the search for an order, for each service; 0 for a minute
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

// All judges each property of a workload's history, in order. A history that cannot be read is an error.
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

// violations are sentences, each once, and the rules that they break.
type violations struct {
	sentences []string
	seen      map[string]bool
	rules     map[string]bool
}

func (v *violations) add(rule *Rule, format string, args ...any) {
	if v.seen == nil {
		v.seen, v.rules = map[string]bool{}, map[string]bool{}
	}
	v.rules[rule.Name] = true
	if sentence := fmt.Sprintf(format, args...); !v.seen[sentence] {
		v.seen[sentence] = true
		v.sentences = append(v.sentences, sentence)
	}
}

// judged is True with the sentence `why` if there are no violations.
func judged(against violations, why string) Verdict {
	if len(against.sentences) == 0 {
		return Verdict{Valid: True, Why: why}
	}
	return Verdict{
		Valid: False, Rules: slices.Sorted(maps.Keys(against.rules)),
		Why:      fmt.Sprintf("%d violations, the first: %s", len(against.sentences), against.sentences[0]),
		Examples: against.sentences[:min(len(against.sentences), examplesMax)],
	}
}

func unknown(rule *Rule, why string, args ...any) Verdict {
	return Verdict{Valid: Unknown, Rules: []string{rule.Name}, Why: fmt.Sprintf(why, args...)}
}

// EDN is the verdict in the form that verdicts.edn has.
func (v Verdict) EDN() map[edn.Keyword]any {
	valid := map[Outcome]any{Unknown: edn.Keyword("unknown"), True: true, False: false}[v.Valid]
	rules := []edn.Keyword{}
	for _, rule := range v.Rules {
		rules = append(rules, edn.Keyword(rule))
	}
	return map[edn.Keyword]any{"valid?": valid, "rules": rules, "why": v.Why, "examples": append([]string{}, v.Examples...)}
}
