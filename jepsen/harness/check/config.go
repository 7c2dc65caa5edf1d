// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// write is a change of one service's pool, or a read of it.
type write struct {
	kind    edn.Keyword
	backend int64
	weight  int64
	onlyIf  int64           // :conditional: the revision that the service must have
	weights map[int64]int64 // :apply: the whole pool; :read: the result
}

// configOp is an operation of the config workload: its invocation, and its completion if that is known.
type configOp struct {
	service  string
	write    write
	call     int64 // index of its invocation
	returned int64 // index of its completion; 0 for an unknown outcome
	revision int64 // after an acknowledged write, or as read
	final    bool
	op       history.Op
}

func (c configOp) known() bool { return c.returned != 0 }

// touches returns the state in which the operation leaves a backend: its weight, or that it is gone.
func (w write) touches(backend int64) (weight int64, there, touched bool) {
	switch w.kind {
	case "apply":
		weight, there = w.weights[backend]
		return weight, there, true
	case "remove":
		return 0, false, w.backend == backend
	case "add", "weight", "conditional":
		return w.weight, true, w.backend == backend
	}
	return 0, false, false
}

func decodeWrite(op history.Op) (string, write, int64, error) {
	result := write{kind: op.F}
	var payload struct {
		Backend  int64           `edn:"backend"`
		Weight   int64           `edn:"weight"`
		If       int64           `edn:"if"`
		Revision int64           `edn:"revision"`
		Weights  map[int64]int64 `edn:"weights"`
	}
	var service string
	var err error
	switch op.F {
	case "apply":
		service, err = op.Keyed(&result.weights)
	case "read":
		if op.Type == history.OK {
			service, err = op.Keyed(&payload)
		} else {
			service, err = op.Keyed(nil)
		}
		result.weights = payload.Weights
	case "add", "weight", "remove", "conditional":
		service, err = op.Keyed(&payload)
		result.backend, result.weight, result.onlyIf = payload.Backend, payload.Weight, payload.If
	default:
		err = fmt.Errorf("operation %d: :f :%s; allowed: :add :weight :remove :apply :conditional :read", op.Index, string(op.F))
	}
	return service, result, payload.Revision, err
}

// configOps pairs invocations with completions. It leaves out refused operations, which changed nothing, and reads
// without an answer. An operation whose completion is :info or missing has an unknown outcome.
func configOps(ops []history.Op) ([]configOp, error) {
	var done []configOp
	open := map[any]int{}
	for position, op := range ops {
		if op.IsNemesis() {
			continue
		}
		if op.Type == history.Invoke {
			if _, busy := open[op.Process]; busy {
				return nil, fmt.Errorf("operation %d: process %v has one under way already", op.Index, op.Process)
			}
			open[op.Process] = position
			continue
		}
		call, found := open[op.Process]
		if !found {
			return nil, fmt.Errorf("operation %d: process %v completes an operation that it never invoked", op.Index, op.Process)
		}
		delete(open, op.Process)
		if op.Type == history.Fail || op.F == "read" && op.Type != history.OK {
			continue
		}
		service, write, revision, err := decodeWrite(op)
		if err != nil {
			return nil, err
		}
		each := configOp{service: service, write: write, call: int64(call), revision: revision, final: op.Final, op: op}
		if op.F != "read" {
			each.revision = op.Revision
		}
		if op.Type == history.OK {
			each.returned = int64(position)
			if each.revision == 0 {
				return nil, fmt.Errorf("operation %d is acknowledged without :revision", op.Index)
			}
		}
		done = append(done, each)
	}
	for _, call := range open {
		op := ops[call]
		if op.F == "read" {
			continue
		}
		service, write, _, err := decodeWrite(op)
		if err != nil {
			return nil, err
		}
		done = append(done, configOp{service: service, write: write, call: int64(call), op: op})
	}
	slices.SortFunc(done, func(a, b configOp) int { return int(a.call - b.call) })
	return done, nil
}

// byService groups operations, and returns the services in alphabetical order.
func byService(done []configOp) (map[string][]configOp, []string) {
	groups := map[string][]configOp{}
	for _, each := range done {
		groups[each.service] = append(groups[each.service], each)
	}
	return groups, slices.Sorted(maps.Keys(groups))
}
