// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"sync"
	"time"

	"olympos.io/encoding/edn"
)

// Recorder collects the operations of a run, by workload. Each workload has the nemesis' operations, too.
type Recorder struct {
	origin    time.Time
	lock      sync.Mutex
	workloads []string
	ops       map[string][]Op
}

// NewRecorder returns a recorder of a run that begins now.
func NewRecorder(workloads []string) *Recorder {
	return &Recorder{origin: time.Now(), workloads: workloads, ops: map[string][]Op{}}
}

// Now is the time of an operation, in nanoseconds since the run began.
func (r *Recorder) Now() int64 { return int64(time.Since(r.origin)) }

// Since is a time as that of an operation.
func (r *Recorder) Since(at time.Time) int64 { return at.UnixNano() - r.origin.UnixNano() }

// Add records an operation as of now: invocations before they are sent, completions after they have arrived.
func (r *Recorder) Add(workload string, op Op) {
	r.lock.Lock()
	defer r.lock.Unlock()
	op.Time = r.Now()
	r.ops[workload] = append(r.ops[workload], op)
}

// AddAt records an operation of another time; History sorts them.
func (r *Recorder) AddAt(workload string, op Op) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.ops[workload] = append(r.ops[workload], op)
}

// Fault records an operation of the nemesis as of now.
func (r *Recorder) Fault(f edn.Keyword, value any, failure error) {
	op := Op{Process: Nemesis, Type: Info, F: f, Value: Value(value)}
	if failure != nil {
		op.Error = failure.Error()
	}
	for _, workload := range r.workloads {
		r.Add(workload, op)
	}
}

// History returns a workload's operations so far, in order of time.
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
