// SPDX-License-Identifier: Apache-2.0

package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// specified is a rule of jepsen/rules.edn.
type specified struct {
	Verdict   any         `edn:"verdict"` // false, :unknown, true or :refused
	Only      edn.Keyword `edn:"only"`
	Says      string      `edn:"says"`
	Histories []string    `edn:"histories"`
}

// readRules is by verdict, or :refused, and by name.
func readRules(t *testing.T) map[edn.Keyword]map[edn.Keyword]specified {
	t.Helper()
	text, err := os.ReadFile("../../rules.edn")
	if err != nil {
		t.Fatal(err)
	}
	var rules map[edn.Keyword]map[edn.Keyword]specified
	if err := edn.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

func outcome(verdict any) any {
	return map[any]any{true: True, false: False, edn.Keyword("unknown"): Unknown}[verdict]
}

// TestRules: the checkers report exactly the rules of jepsen/rules.edn that do not belong to the other runner, each rule
// has a history, each history pins a rule, and README.md lists what only one runner has.
func TestRules(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, match := range regexp.MustCompile("(?m)^- `(:[a-z-]+/[a-z-]+)`, (Go|Clojure)").FindAllStringSubmatch(string(readme), -1) {
		listed = append(listed, match[1]+" "+strings.ToLower(match[2]))
	}
	var reported, wanted, only []string
	for _, rule := range Rules {
		reported = append(reported, rule.Verdict+"/"+rule.Name+" "+rule.Outcome.String())
	}
	unpinned := map[string]bool{}
	paths, _ := filepath.Glob("../../histories/*.edn")
	for _, path := range paths {
		unpinned[strings.TrimSuffix(filepath.Base(path), ".edn")] = true
	}
	known := map[string]bool{}
	for name := range unpinned {
		known[name] = true
	}
	for verdict, rules := range readRules(t) {
		for name, rule := range rules {
			place := string(verdict) + "/" + string(name)
			if rule.Says == "" || len(rule.Histories) == 0 {
				t.Errorf("%s has no sentence or no history", place)
			}
			for _, history := range rule.Histories {
				if !known[history] {
					t.Errorf("%s names %s, which is not in histories", place, history)
				}
				delete(unpinned, history)
			}
			if rule.Only != "" {
				only = append(only, ":"+place+" "+string(rule.Only))
			}
			if found := outcome(rule.Verdict); rule.Only != "clojure" && (found == False || found == Unknown) {
				wanted = append(wanted, place+" "+found.(Outcome).String())
			}
		}
	}
	for name := range unpinned {
		t.Errorf("%s pins no rule", name)
	}
	for what, lists := range map[string][2][]string{"rules": {reported, wanted}, "rules of one runner in README.md": {listed, only}} {
		slices.Sort(lists[0])
		slices.Sort(lists[1])
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%s: %v; rules.edn has %v", what, lists[0], lists[1])
		}
	}
}

// TestShared judges each shared history: verdicts are as its header expects, by exactly the rules that name it.
func TestShared(t *testing.T) {
	paths, err := filepath.Glob("../../histories/*.edn")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no shared histories in jepsen/histories: %v", err)
	}
	rules := readRules(t)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".edn")
		if ofClojure(rules, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			header, ops, err := history.ReadShared(path)
			if err != nil {
				t.Fatal(err)
			}
			settings := Settings{Tolerance: header.Tolerance, Search: time.Duration(header.SearchMilliseconds) * time.Millisecond}
			verdicts, err := All(string(header.Workload), ops, settings)
			if header.Refused != "" {
				if err == nil || !strings.Contains(err.Error(), header.Refused) {
					t.Errorf("%v; expected an error with %q", err, header.Refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(header.Expect) != len(verdicts) {
				t.Errorf("it expects %d verdicts; %s has %d", len(header.Expect), header.Workload, len(verdicts))
			}
			for _, verdict := range verdicts {
				if wanted := outcome(header.Expect[edn.Keyword(verdict.Name)]); verdict.Valid != wanted {
					t.Errorf("%s is %v, expected %v: %s", verdict.Name, verdict.Valid, wanted, verdict.Why)
				}
				if verdict.Valid == False && len(verdict.Examples) == 0 {
					t.Errorf("%s is false without an example", verdict.Name)
				}
				var naming []string
				for rule, specified := range rules[edn.Keyword(verdict.Name)] {
					if slices.Contains(specified.Histories, name) {
						if outcome(specified.Verdict) != verdict.Valid {
							t.Errorf("%s/%s is a rule for %v, %s is %v", verdict.Name, string(rule), specified.Verdict, verdict.Name, verdict.Valid)
						}
						naming = append(naming, string(rule))
					}
				}
				slices.Sort(naming)
				if verdict.Valid != True && !slices.Equal(naming, verdict.Rules) {
					t.Errorf("%s is %v by %v; rules.edn has %v: %s", verdict.Name, verdict.Valid, verdict.Rules, naming, verdict.Why)
				}
			}
		})
	}
}

// ofClojure says whether a rule that only the other runner has names the history.
func ofClojure(rules map[edn.Keyword]map[edn.Keyword]specified, name string) bool {
	for _, ofVerdict := range rules {
		for _, rule := range ofVerdict {
			if rule.Only == "clojure" && slices.Contains(rule.Histories, name) {
				return true
			}
		}
	}
	return false
}
