// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/jepsen/history"
)

var (
	neverCommitted   = newRule("prefix", "never-committed", False)
	wentBack         = newRule("prefix", "back", False)
	skipped          = newRule("prefix", "skipped", False)
	prefixTooLittle  = newRule("prefix", "too-little", Unknown)
	unseenCommit     = newRule("prefix", "unseen-commit", Unknown)
	logGap           = newRule("prefix", "log-gap", Unknown)
	muxUnseen        = newRule("prefix", "mux-unseen", Unknown)
	otherRing        = newRule("image", "other-ring", False)
	twoSums          = newRule("image", "two-sums", False)
	imageTooLittle   = newRule("image", "too-little", Unknown)
	nothingCompared  = newRule("image", "nothing-compared", Unknown)
	silent           = newRule("converged", "silent", False)
	behind           = newRule("converged", "behind", False)
	nothingConverges = newRule("converged", "too-little", Unknown)
	epochBack        = newRule("fenced", "epoch-back", False)
	epochBackByZxid  = newRule("fenced", "epoch-back-by-zxid", False)
	noCommit         = newRule("fenced", "no-commit", Unknown)
	noEpoch          = newRule("fenced", "no-epoch", Unknown)
)

// Commit is a generation that ZooKeeper holds, as the runner read it.
type Commit struct {
	Service    string `edn:"service"`
	Generation int64  `edn:"generation"`
	Sum        string `edn:"sum"`
	Epoch      int64  `edn:"epoch"`
	Zxid       int64  `edn:"zxid,omitempty"` // of the commit: ZooKeeper's order of everything
}

// Applied is a generation that a mux serves, or served.
type Applied struct {
	Mux        string `edn:"mux"`
	Service    string `edn:"service"`
	Generation int64  `edn:"generation"`
	Sum        string `edn:"sum"`
	How        string `edn:"how,omitempty"`  // "snapshot" or "delta"
	Boot       string `edn:"boot,omitempty"` // of the mux's process
	Final      bool   `edn:"-"`
}

// generations is what a history of that workload holds, in its order.
type generations struct {
	commits []Commit
	applied []Applied
	muxes   []string                    // that applied anything, or were asked after healing
	gaps    []string                    // muxes whose log was not seen completely
	known   map[string]map[int64]string // sums by service and generation
	last    map[string]int64            // the highest committed generation by service
}

// decodeGenerations reads the operations of the workload; an operation of another one is an error.
func decodeGenerations(ops []history.Op) (generations, error) {
	all := generations{known: map[string]map[int64]string{}, last: map[string]int64{}}
	asked := map[string]bool{}
	for _, op := range ops {
		if op.IsNemesis() {
			continue
		}
		if op.F == "applied" && op.Final {
			var mux Applied
			if err := op.Into(&mux); err != nil {
				return all, err
			}
			asked[mux.Mux] = true
		}
		if op.Type != history.OK {
			continue
		}
		switch op.F {
		case "commit":
			var commit Commit
			if err := op.Into(&commit); err != nil {
				return all, err
			}
			all.commits = append(all.commits, commit)
			if all.known[commit.Service] == nil {
				all.known[commit.Service] = map[int64]string{}
			}
			if _, twice := all.known[commit.Service][commit.Generation]; !twice {
				all.known[commit.Service][commit.Generation] = commit.Sum
			}
			all.last[commit.Service] = max(all.last[commit.Service], commit.Generation)
		case "applied":
			each := Applied{Final: op.Final}
			if err := op.Into(&each); err != nil {
				return all, err
			}
			all.applied = append(all.applied, each)
			asked[each.Mux] = true
		case "gap":
			var mux Applied
			if err := op.Into(&mux); err != nil {
				return all, err
			}
			all.gaps = append(all.gaps, mux.Mux)
		default:
			return all, fmt.Errorf("operation %d: :f :%s; allowed: :commit :applied :gap", op.Index, string(op.F))
		}
	}
	all.muxes = slices.Sorted(maps.Keys(asked))
	return all, nil
}

// enough is false, with an unknown verdict, unless there are commits and applied generations.
func (g generations) enough(tooLittle *Rule) (Verdict, bool) {
	if len(g.commits) == 0 || len(g.applied) == 0 {
		return unknown(tooLittle, "%d commits and %d applied generations were seen", len(g.commits), len(g.applied)), false
	}
	return Verdict{}, true
}

// Prefix checks that each mux applied, of each service, committed generations only, in order and without a gap.
//
// Assumes: the runner saw every commit, and what each mux applied in the mux's order. Steps, for each mux and service:
// each applied generation was committed; within one process (:boot) a delta leads to the next generation, a snapshot to
// any later one; another process may begin at any committed generation. Final reads are no steps, but the generations
// in them must be committed, too. What can mislead: nothing that the runner knows it missed; a commit that was not seen
// although a later one was, a gap in a mux's log, and a mux whose log was never seen leave the verdict unknown.
func Prefix(ops []history.Op, _ Settings) (Verdict, error) {
	all, err := decodeGenerations(ops)
	if err != nil {
		return Verdict{}, err
	}
	if verdict, ok := all.enough(prefixTooLittle); !ok {
		return verdict, nil
	}
	type place struct{ mux, service string }
	latest := map[place]Applied{}
	watched := map[string]bool{}
	var against violations
	missed := map[*Rule]string{}
	for _, each := range all.applied {
		name := fmt.Sprintf("%s applied generation %d of %s", each.Mux, each.Generation, each.Service)
		if _, committed := all.known[each.Service][each.Generation]; !committed {
			if each.Generation > all.last[each.Service] || each.Generation < 1 {
				against.add(neverCommitted, "%s, which was never committed; the last one is %d", name, all.last[each.Service])
			} else {
				missed[unseenCommit] = name + ", whose commit was not seen"
			}
		}
		if each.Final {
			continue
		}
		watched[each.Mux] = true
		before, any := latest[place{each.Mux, each.Service}]
		latest[place{each.Mux, each.Service}] = each
		if !any || before.Boot != each.Boot {
			continue
		}
		switch {
		case each.Generation <= before.Generation:
			against.add(wentBack, "%s after generation %d", name, before.Generation)
		case each.Generation > before.Generation+1 && each.How != "snapshot":
			against.add(skipped, "%s after generation %d, and no snapshot", name, before.Generation)
		}
	}
	if len(all.gaps) > 0 {
		missed[logGap] = fmt.Sprintf("not all that %s applied was seen", all.gaps[0])
	}
	if i := slices.IndexFunc(all.muxes, func(mux string) bool { return !watched[mux] }); i >= 0 {
		missed[muxUnseen] = fmt.Sprintf("nothing that %s applied was seen", all.muxes[i])
	}
	for _, rule := range []*Rule{unseenCommit, logGap, muxUnseen} {
		if why, any := missed[rule]; any && len(against.sentences) == 0 {
			return unknown(rule, "%s", why), nil
		}
	}
	return judged(against, fmt.Sprintf("%d generations applied by %d muxes, of %d committed", len(all.applied), len(all.muxes), len(all.commits))), nil
}

// Image checks that each applied ring is the one that was committed as that generation, by the sums of both.
//
// Assumes: sums cover whole rings (jepsen/README.md), and the runner computes its own from the committed snapshots and
// deltas. Steps: each committed generation has one sum, and the same one wherever a mux applied it. What can mislead:
// CRC-32C detects accidents, not malice; generations that were never committed are left to Prefix; of a large ring
// muxes report a sum only in final reads.
func Image(ops []history.Op, _ Settings) (Verdict, error) {
	all, err := decodeGenerations(ops)
	if err != nil {
		return Verdict{}, err
	}
	if verdict, ok := all.enough(imageTooLittle); !ok {
		return verdict, nil
	}
	var against violations
	for _, commit := range all.commits {
		if sum := all.known[commit.Service][commit.Generation]; sum != commit.Sum {
			against.add(twoSums, "generation %d of %s was committed as %s and as %s", commit.Generation, commit.Service, sum, commit.Sum)
		}
	}
	compared := 0
	for _, each := range all.applied {
		sum, committed := all.known[each.Service][each.Generation]
		if !committed || each.Sum == "" {
			continue
		}
		compared++
		if sum != each.Sum {
			against.add(otherRing, "%s has %s as generation %d of %s, committed was %s", each.Mux, each.Sum, each.Generation, each.Service, sum)
		}
	}
	if compared == 0 {
		return unknown(nothingCompared, "no applied generation is among the commits that were seen"), nil
	}
	return judged(against, fmt.Sprintf("%d applied rings are those that were committed", compared)), nil
}

// Converged checks that after healing each mux serves the last committed generation of each service.
//
// Assumes: the runner asked each mux after everything had healed and all writers had stopped, and waited long enough
// before it accepted a mux's answer as final. Steps: each mux that applied anything or was asked has, for each service, a
// final read of the highest committed generation. What can mislead: a mux that no operation names is not missed.
func Converged(ops []history.Op, _ Settings) (Verdict, error) {
	all, err := decodeGenerations(ops)
	if err != nil {
		return Verdict{}, err
	}
	if len(all.commits) == 0 || len(all.muxes) == 0 {
		return unknown(nothingConverges, "%d commits were seen, %d muxes", len(all.commits), len(all.muxes)), nil
	}
	type place struct{ mux, service string }
	final := map[place]int64{}
	for _, each := range all.applied {
		if each.Final {
			final[place{each.Mux, each.Service}] = each.Generation
		}
	}
	var against violations
	for _, mux := range all.muxes {
		for _, service := range slices.Sorted(maps.Keys(all.last)) {
			generation, there := final[place{mux, service}]
			if !there {
				against.add(silent, "%s reports no ring of %s after healing; the last commit is %d", mux, service, all.last[service])
			} else if generation != all.last[service] {
				against.add(behind, "%s serves generation %d of %s after healing; the last commit is %d", mux, generation, service, all.last[service])
			}
		}
	}
	return judged(against, fmt.Sprintf("%d muxes serve the last generation of %d services", len(all.muxes), len(all.last))), nil
}

// Fenced checks that a replaced leader commits nothing.
//
// Assumes: each commit has the epoch in which it was made, from the record that ZooKeeper took in the same transaction.
// Steps: in ZooKeeper's order (:zxid, if all commits have it), and for each service in order of generations, epochs
// never go back. What can mislead: a commit of a replaced leader before the first one of its successor is not seen.
func Fenced(ops []history.Op, _ Settings) (Verdict, error) {
	all, err := decodeGenerations(ops)
	if err != nil {
		return Verdict{}, err
	}
	if len(all.commits) == 0 {
		return unknown(noCommit, "no commit was seen"), nil
	}
	ordered := true
	for _, commit := range all.commits {
		if commit.Epoch == 0 {
			return unknown(noEpoch, "generation %d of %s has no epoch", commit.Generation, commit.Service), nil
		}
		ordered = ordered && commit.Zxid != 0
	}
	var against violations
	epochs := map[int64]bool{}
	walk := func(rule *Rule, commits []Commit) {
		for i, commit := range commits {
			epochs[commit.Epoch] = true
			if i > 0 && commit.Epoch < commits[i-1].Epoch {
				before := commits[i-1]
				against.add(rule, "generation %d of %s was committed in epoch %d, after generation %d of %s in epoch %d",
					commit.Generation, commit.Service, commit.Epoch, before.Generation, before.Service, before.Epoch)
			}
		}
	}
	services := map[string][]Commit{}
	for _, commit := range all.commits {
		services[commit.Service] = append(services[commit.Service], commit)
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		slices.SortStableFunc(services[name], func(a, b Commit) int { return int(a.Generation - b.Generation) })
		walk(epochBack, services[name])
	}
	if ordered {
		commits := slices.Clone(all.commits)
		slices.SortStableFunc(commits, func(a, b Commit) int { return int(a.Zxid - b.Zxid) })
		walk(epochBackByZxid, commits)
	}
	return judged(against, fmt.Sprintf("%d commits in %d epochs, one after the other", len(all.commits), len(epochs))), nil
}
