// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"
	"time"

	"olympos.io/encoding/edn"
)

// Recorder collects the operations of a run, by workload. What the nemesis does stands in each of them.
type Recorder struct {
	origin    time.Time
	lock      sync.Mutex
	workloads []string
	ops       map[string][]Op
}

// NewRecorder begins a run now.
func NewRecorder(workloads []string) *Recorder {
	return &Recorder{origin: time.Now(), workloads: workloads, ops: map[string][]Op{}}
}

// Now is the time of an operation, in nanoseconds since the run began.
func (r *Recorder) Now() int64 { return int64(time.Since(r.origin)) }

// Add records an operation as of now: invocations before they are sent, completions after they have come.
func (r *Recorder) Add(workload string, op Op) {
	r.lock.Lock()
	defer r.lock.Unlock()
	op.Time = r.Now()
	r.ops[workload] = append(r.ops[workload], op)
}

// AddAt records what happened at another time; histories are put in order when they are taken.
func (r *Recorder) AddAt(workload string, op Op) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.ops[workload] = append(r.ops[workload], op)
}

// Fault records what the nemesis does, as of now.
func (r *Recorder) Fault(f edn.Keyword, value any, failure error) {
	op := Op{Process: Nemesis, Type: Info, F: f, Value: Value(value)}
	if failure != nil {
		op.Error = failure.Error()
	}
	for _, workload := range r.workloads {
		r.Add(workload, op)
	}
}

// History is a workload's so far, in order of time.
func (r *Recorder) History(workload string) []Op {
	r.lock.Lock()
	defer r.lock.Unlock()
	ops := slices.Clone(r.ops[workload])
	slices.SortStableFunc(ops, func(a, b Op) int { return int(a.Time - b.Time) })
	for i := range ops {
		ops[i].Index = int64(i)
	}
	return ops
}
