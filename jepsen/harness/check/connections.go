// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

// Connection is one connection's life. Times are those of the history, in nanoseconds.
type Connection struct {
	ID         int64       `edn:"id"`
	Client     string      `edn:"client"`
	Kind       edn.Keyword `edn:"kind"`
	Requests   int64       `edn:"requests"`           // that were answered
	Servers    []string    `edn:"servers"`            // who answered, each once, in order
	Subflows   int64       `edn:"subflows,omitempty"` // of MPTCP: further ones that it had at once, at most
	End        edn.Keyword `edn:"end"`
	From       int64       `edn:"from"`
	To         int64       `edn:"to"`
	LastAnswer int64       `edn:"last-answer"` // 0: there was none
}

// Fault is one fault's stretch of time, from before its start to after its heal.
type Fault struct {
	Fault    edn.Keyword `edn:"fault"`
	Node     string      `edn:"node"`
	MayBreak edn.Keyword `edn:"may-break"`
	From, To int64       `edn:"-"`
	healed   bool
}

// Faults reads the nemesis' log: each :start opens a stretch for its fault and node, each :heal ends it. An operation
// that stands twice, when it begins and when it is done, counts from the first :start to the last :heal. A :start with
// :error opens none: either the step was not done, or the fault stands since its first :start.
func Faults(ops []history.Op) ([]*Fault, error) {
	var all []*Fault
	for _, op := range ops {
		if !op.IsNemesis() || op.F != "start" && op.F != "heal" {
			continue
		}
		var named Fault
		if err := op.Into(&named); err != nil {
			return nil, err
		}
		var open *Fault
		for _, each := range all {
			if each.Fault == named.Fault && each.Node == named.Node {
				open = each
			}
		}
		switch {
		case op.F == "heal" && open != nil:
			open.To, open.healed = op.Time, true
		case op.F == "start" && op.Error == "" && (open == nil || open.healed):
			named.From, named.To = op.Time, 1<<62
			all = append(all, &named)
		}
	}
	return all, nil
}

// excuses says whether the fault is one that the connection may have died of: what was answered after it had healed has
// outlived it.
func (f *Fault) excuses(c Connection) bool {
	if f.MayBreak != "connections-of-node" || c.To < f.From || f.To < c.From || f.To < c.LastAnswer {
		return false
	}
	return len(c.Servers) == 0 || slices.Contains(c.Servers, f.Node)
}

func connections(ops []history.Op) ([]Connection, error) {
	var all []Connection
	for _, op := range ops {
		if op.IsNemesis() || op.Type == history.Invoke {
			continue
		}
		if op.F != "connection" {
			return nil, fmt.Errorf("operation %d: :f :%s; allowed: :connection", op.Index, string(op.F))
		}
		var each Connection
		if err := op.Into(&each); err != nil {
			return nil, err
		}
		all = append(all, each)
	}
	return all, nil
}

func (c Connection) String() string {
	return fmt.Sprintf("connection %d of %s (%s, %.3f s to %.3f s, answered %d times by %v) ended by %s",
		c.ID, c.Client, string(c.Kind), float64(c.From)/1e9, float64(c.To)/1e9, c.Requests, c.Servers, string(c.End))
}

// answered counts the connections that somebody answered: a history without any proves nothing.
func answered(all []Connection) (count int) {
	for _, each := range all {
		if each.Requests > 0 {
			count++
		}
	}
	return count
}

// Unbroken asks whether any connection died that no fault excuses.
//
// Assumes: the clients end connections in order only (:closed), keep them shorter than the service's window, and call a
// connection broken that has no answer for the workload's :answer-seconds. Steps: each connection that ended by :reset,
// :timeout or :refused needs a fault that stood while it was open, after which it got no answer any more, and that says
// :may-break :connections-of-node, of the server that answered it, or of any if nobody had answered yet. What can
// mislead: a connection that dies of something else while its server's fault stands is excused with the others.
func Unbroken(ops []history.Op, _ Settings) (Verdict, error) {
	all, err := connections(ops)
	if err != nil {
		return Verdict{}, err
	}
	faults, err := Faults(ops)
	if err != nil {
		return Verdict{}, err
	}
	var against, excused []string
	by := map[string]int{}
	for _, each := range all {
		switch each.End {
		case "closed", "alive":
			continue
		case "reset", "timeout", "refused":
		default:
			return Verdict{}, fmt.Errorf("connection %d: end :%s; allowed: :closed :alive :reset :timeout :refused", each.ID, string(each.End))
		}
		found := slices.IndexFunc(faults, func(f *Fault) bool { return f.excuses(each) })
		if found < 0 {
			against = append(against, each.String()+", which no fault excuses")
			continue
		}
		fault := faults[found]
		name := fmt.Sprintf("%s of %s", string(fault.Fault), fault.Node)
		by[name]++
		excused = append(excused, fmt.Sprintf("excused: %s, by %s from %.3f s", each, name, float64(fault.From)/1e9))
	}
	if answered(all) == 0 {
		return unknown("none of %d connections was answered", len(all)), nil
	}
	good := fmt.Sprintf("%d connections, none broken but %d that faults excuse", len(all), len(excused))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		good += fmt.Sprintf("; %s: %d", name, by[name])
	}
	verdict := judged(against, good)
	if verdict.Valid == True {
		verdict.Examples = excused[:min(len(excused), examplesMax)]
	}
	return verdict, nil
}

// Sticky asks whether each connection was answered by one server all its life.
//
// Assumes: each answer names its server. Steps: no connection has two. What can mislead: a connection that is
// answered once, or never, cannot change.
func Sticky(ops []history.Op, _ Settings) (Verdict, error) {
	all, err := connections(ops)
	if err != nil {
		return Verdict{}, err
	}
	var against []string
	for _, each := range all {
		distinct := slices.Clone(each.Servers)
		slices.Sort(distinct)
		if len(slices.Compact(distinct)) > 1 {
			against = append(against, each.String())
		}
	}
	if answered(all) == 0 {
		return unknown("none of %d connections was answered", len(all)), nil
	}
	return judged(against, fmt.Sprintf("%d connections, each with one server", len(all))), nil
}
