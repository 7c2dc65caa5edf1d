// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fairlead.dev/jepsen/history"
	"github.com/anishathalye/porcupine"
)

// searchLimit is how long the search for an order may take, for each service.
const searchLimit = time.Minute

var (
	noOrder             = newRule("linearizable", "no-order", False)
	nothingAcknowledged = newRule("linearizable", "nothing-acknowledged", Unknown)
	outOfTime           = newRule("linearizable", "out-of-time", Unknown)
)

// pool is a service's state: its revision, and the weights in the form "1=100 2=50". It is over once all acknowledged
// operations have their place (see end).
type pool struct {
	revision int64
	weights  string
	over     bool
}

// emptyPool is a service that was created and nothing more.
var emptyPool = pool{revision: 1}

func text(weights map[int64]int64) string {
	words := make([]string, 0, len(weights))
	for _, backend := range slices.Sorted(maps.Keys(weights)) {
		words = append(words, fmt.Sprintf("%d=%d", backend, weights[backend]))
	}
	return strings.Join(words, " ")
}

func (p pool) parsed() map[int64]int64 {
	weights := map[int64]int64{}
	for _, word := range strings.Fields(p.weights) {
		var backend, weight int64
		fmt.Sscanf(word, "%d=%d", &backend, &weight)
		weights[backend] = weight
	}
	return weights
}

// after returns the state that the write leads to; false if it would be refused.
func (p pool) after(w write) (pool, bool) {
	weights := p.parsed()
	_, there := weights[w.backend]
	switch w.kind {
	case "add":
		weights[w.backend] = w.weight
	case "conditional":
		if p.revision != w.onlyIf || !there {
			return p, false
		}
		weights[w.backend] = w.weight
	case "weight":
		if !there {
			return p, false
		}
		weights[w.backend] = w.weight
	case "remove":
		if !there {
			return p, false
		}
		delete(weights, w.backend)
	case "apply":
		weights = w.weights
	}
	next := text(weights)
	if next == p.weights {
		return p, true
	}
	return pool{revision: p.revision + 1, weights: next}, true
}

// end is an operation after all acknowledged ones.
const end = "end"

// step performs one operation on a service. An operation of unknown outcome changes something at its place, or comes
// after the end: then it was refused, never arrived, or changed nothing. If that were possible at any place, each such
// operation would double the search.
func (p pool) step(op configOp) (bool, pool) {
	switch {
	case op.write.kind == end:
		p.over = true
		return true, p
	case op.write.kind == "read":
		return p.revision == op.revision && p.weights == text(op.write.weights), p
	case p.over:
		return !op.known(), p
	}
	next, possible := p.after(op.write)
	if !op.known() {
		return next != p, next
	}
	return possible && next.revision == op.revision, next
}

// Linearizable checks that the acknowledged writes and reads of each service have an order that agrees with real time
// and in which each answer is the one that a single pool would have given.
//
// Assumes: each service begins with revision 1 and no backends; only these operations change it; a change raises the
// revision by one, and a write that changes nothing leaves it. Steps: leave out refused operations (they changed nothing;
// the reason is not checked), let those of unknown outcome end never, search with porcupine, service by service;
// operations that never took effect come after all acknowledged ones. What can mislead: times are the clients', so all
// processes must share one clock; many unknown outcomes make the search long, and then the verdict is unknown; a missing
// read proves nothing; reads must be sent with Cache-Control: no-cache, since others may be stale by design.
func Linearizable(ops []history.Op, settings Settings) (Verdict, error) {
	limit := settings.Search
	if limit == 0 {
		limit = searchLimit
	}
	done, err := configOps(ops)
	if err != nil {
		return Verdict{}, err
	}
	services, names := byService(done)
	var against violations
	var undecided []string
	known := 0
	for _, name := range names {
		var operations []porcupine.Operation
		for client, each := range services[name] {
			end := each.returned
			if each.known() {
				known++
			} else {
				end = math.MaxInt64
			}
			operations = append(operations, porcupine.Operation{ClientId: client, Input: each, Call: each.call, Return: end})
		}
		switch search(operations, limit) {
		case porcupine.Unknown:
			undecided = append(undecided, fmt.Sprintf("%s: no order of %d operations was found within %s, nor that there is none", name, len(operations), limit))
		case porcupine.Illegal:
			against.add(noOrder, "%s: no order explains %s", name, firstUnexplained(operations, limit/10))
		}
	}
	if known == 0 {
		return unknown(nothingAcknowledged, "nothing was acknowledged"), nil
	}
	if len(against.sentences) == 0 && len(undecided) > 0 {
		return unknown(outOfTime, "%s", undecided[0]), nil
	}
	return judged(against, fmt.Sprintf("%d answers about %d services have an order", known, len(names))), nil
}

// search looks for an order of the operations, with an end after all acknowledged ones: first for one in which operations
// of unknown outcome lead only to revisions that no acknowledged write has. Usually there is one, and few orders are
// tried; otherwise it looks for any order. An operation that leads to a higher revision than any answer has comes after
// the end.
func search(operations []porcupine.Operation, limit time.Duration) porcupine.CheckResult {
	last, highest := int64(0), int64(0)
	claimed := map[int64]bool{} // revisions of acknowledged writes
	for _, each := range operations {
		last = max(last, each.Call)
		if op := each.Input.(configOp); op.known() {
			last = max(last, each.Return)
			claimed[op.revision] = claimed[op.revision] || op.write.kind != "read"
			highest = max(highest, op.revision)
		}
	}
	ended := porcupine.Operation{ClientId: len(operations), Input: configOp{write: write{kind: end}}, Call: last + 1, Return: last + 2}
	operations = append(slices.Clone(operations), ended)
	model := func(excluded map[int64]bool) porcupine.Model {
		return porcupine.Model{
			Init: func() any { return emptyPool },
			Step: func(state, input, _ any) (bool, any) {
				op := input.(configOp)
				ok, next := state.(pool).step(op)
				if !op.known() && !next.over && (excluded[next.revision] || next.revision > highest) {
					return false, next
				}
				return ok, next
			},
		}
	}
	// A search that timed out may still run for a moment: the second one shares nothing with it.
	if result := porcupine.CheckOperationsTimeout(model(claimed), operations, limit/2); result == porcupine.Ok {
		return result
	}
	return porcupine.CheckOperationsTimeout(model(nil), operations, limit/2)
}

// firstUnexplained names the first completion up to which no order exists: the history before it has one.
func firstUnexplained(operations []porcupine.Operation, limit time.Duration) string {
	ends := []int64{}
	for _, each := range operations {
		if each.Return != math.MaxInt64 {
			ends = append(ends, each.Return)
		}
	}
	slices.Sort(ends)
	at, _ := slices.BinarySearchFunc(ends, 0, func(end int64, _ int) int {
		var prefix []porcupine.Operation
		for _, each := range operations {
			if each.Call > end {
				continue
			}
			input := each.Input.(configOp)
			if each.Return > end {
				if input.write.kind == "read" {
					continue
				}
				input.returned, each.Return = 0, math.MaxInt64
			}
			each.Input = input
			prefix = append(prefix, each)
		}
		if search(prefix, limit) == porcupine.Illegal {
			return 1
		}
		return -1
	})
	for _, each := range operations {
		if at < len(ends) && each.Return == ends[at] {
			op := each.Input.(configOp).op
			return fmt.Sprintf("operation %d: process %v :%s %s at revision %d", op.Index, op.Process, string(op.F), op.Value, each.Input.(configOp).revision)
		}
	}
	return "all answers together"
}
