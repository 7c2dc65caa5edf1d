// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/jepsen/history"
	"olympos.io/encoding/edn"
)

var (
	unexcused        = newRule("unbroken", "unexcused", False)
	unbrokenNoAnswer = newRule("unbroken", "no-answer", Unknown)
	unbrokenUnended  = newRule("unbroken", "unended", Unknown)
	twoServers       = newRule("sticky", "two-servers", False)
	stickyNoAnswer   = newRule("sticky", "no-answer", Unknown)
	stickyUnended    = newRule("sticky", "unended", Unknown)
)

// ends are the ways in which a connection may end.
var ends = []edn.Keyword{"closed", "alive", "reset", "timeout", "refused"}

// Connection is one connection's life. Times are those of the history, in nanoseconds.
type Connection struct {
	ID         int64       `edn:"id"`
	Client     string      `edn:"client"`
	Kind       edn.Keyword `edn:"kind"`
	Requests   int64       `edn:"requests"`           // that got an answer
	Servers    []string    `edn:"servers"`            // that answered, each once, in order
	Subflows   int64       `edn:"subflows,omitempty"` // of MPTCP: the most further ones at once
	End        edn.Keyword `edn:"end"`
	From       int64       `edn:"from"`
	To         int64       `edn:"to"`
	LastAnswer int64       `edn:"last-answer"` // 0: there was none
	Local      string      `edn:"local,omitempty"`
	Stalls     [][2]int64  `edn:"stalls,omitempty"` // waits for an answer of 200 ms and more, of an open too: from, to
	Limit      edn.Keyword `edn:"limit,omitempty"`  // of the protocol, which it met in a run that makes connections meet limits
}

// Broke says whether the connection has ended in another way than clients want.
func (c Connection) Broke() bool { return c.End != "closed" && c.End != "alive" }

// Fault is one fault's stretch of time, from before its start to after its heal.
type Fault struct {
	Fault    edn.Keyword `edn:"fault"`
	Node     string      `edn:"node"`
	MayBreak edn.Keyword `edn:"may-break"`
	Left     string      `edn:"left,omitempty"` // of halves that a step names: nodes, with commas between
	Right    string      `edn:"right,omitempty"`
	From, To int64       `edn:"-"`
	healed   bool
}

// Faults reads the nemesis' log: each :start opens a fault of its node, each :heal ends it. The log has each operation
// twice, when it begins and when it is done; a fault lasts from the first :start to the last :heal. A :start with
// :error opens none: either the step was not done, or its first :start has opened it.
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

// excuses says whether the connection may have died of the fault: one that was answered after the heal survived it.
func (f *Fault) excuses(c Connection) bool {
	if f.MayBreak != "connections-of-node" || c.To < f.From || f.To < c.From || f.To < c.LastAnswer {
		return false
	}
	return len(c.Servers) == 0 || slices.Contains(c.Servers, f.Node)
}

// On is the fault's node, or its halves.
func (f *Fault) On() string {
	if f.Left != "" {
		return f.Left + " and " + f.Right
	}
	return f.Node
}

// Cuts says whether no packet passes between two nodes while the fault lasts, wherever in the network they meet.
func (f *Fault) Cuts(one, other string) bool {
	left, right := strings.Split(f.Left, ","), strings.Split(f.Right, ",")
	return f.Fault == "halves" && (slices.Contains(left, one) && slices.Contains(right, other) || slices.Contains(left, other) && slices.Contains(right, one))
}

// Loses says whether packets between two nodes may be lost while the fault lasts.
func (f *Fault) Loses(one, other string) bool {
	return f.Cuts(one, other) || f.Fault == "loss" && (f.Node == one || f.Node == other)
}

// Excuse returns the first fault that excuses the connection, or nil.
func Excuse(faults []*Fault, c Connection) *Fault {
	if at := slices.IndexFunc(faults, func(f *Fault) bool { return f.excuses(c) }); at >= 0 {
		return faults[at]
	}
	return nil
}

// connections are those that ended, and the first operation that completed without telling how, if there is one.
func connections(ops []history.Op) (all []Connection, unended *history.Op, err error) {
	for _, op := range ops {
		if op.IsNemesis() || op.Type == history.Invoke {
			continue
		}
		if op.F != "connection" {
			return nil, nil, fmt.Errorf("operation %d: :f :%s; allowed: :connection", op.Index, string(op.F))
		}
		var each Connection
		if err := op.Into(&each); err != nil {
			return nil, nil, err
		}
		switch {
		case each.End == "" && op.Type == history.Info:
			if unended == nil {
				unended = &op
			}
		case !slices.Contains(ends, each.End):
			return nil, nil, fmt.Errorf("operation %d: end :%s; allowed: %v", op.Index, string(each.End), ends)
		default:
			all = append(all, each)
		}
	}
	return all, unended, nil
}

func (c Connection) String() string {
	return fmt.Sprintf("connection %d of %s (%s, %.3f s to %.3f s, answered %d times by %v) ended by %s",
		c.ID, c.Client, string(c.Kind), float64(c.From)/1e9, float64(c.To)/1e9, c.Requests, c.Servers, string(c.End))
}

// answered counts the connections that a server answered: a history without any proves nothing.
func answered(all []Connection) (count int) {
	for _, each := range all {
		if each.Requests > 0 {
			count++
		}
	}
	return count
}

// Unbroken checks that no connection died that the faults do not excuse.
//
// Assumes: clients close connections in order only (:closed), keep them shorter than the service's window or hold, and
// count a connection without an answer for :answer-seconds of the workload as broken. Steps: each connection that ended by
// :reset, :timeout or :refused needs a :limit, or a fault with :may-break :connections-of-node that was active while it was open,
// after whose heal it got no answer, on the server that answered it, or on any server if none had answered yet. What can
// mislead: a connection that dies of another cause during its server's fault is excused, too.
func Unbroken(ops []history.Op, _ Settings) (Verdict, error) {
	all, unended, err := connections(ops)
	if err != nil {
		return Verdict{}, err
	}
	faults, err := Faults(ops)
	if err != nil {
		return Verdict{}, err
	}
	var against violations
	var excused []string
	by := map[string]int{}
	for _, each := range all {
		if !each.Broke() {
			continue
		}
		fault := Excuse(faults, each)
		if fault == nil && each.Limit == "" {
			against.add(unexcused, "%s, which no fault excuses", each)
			continue
		}
		if fault == nil {
			by[string(each.Limit)]++
			excused = append(excused, fmt.Sprintf("excused: %s, by the limit %s", each, string(each.Limit)))
			continue
		}
		name := fmt.Sprintf("%s of %s", string(fault.Fault), fault.Node)
		by[name]++
		excused = append(excused, fmt.Sprintf("excused: %s, by %s from %.3f s", each, name, float64(fault.From)/1e9))
	}
	if answered(all) == 0 {
		return unknown(unbrokenNoAnswer, "none of %d connections was answered", len(all)), nil
	}
	if unended != nil && len(against.sentences) == 0 {
		return unknown(unbrokenUnended, "how the connection of operation %d ended is unknown: %s", unended.Index, unended.Error), nil
	}
	idle := 0
	for _, each := range all {
		if each.Kind == "idle" {
			idle++
		}
	}
	good := fmt.Sprintf("%d connections, %d of them idle, none broken but %d that faults or limits excuse", len(all), idle, len(excused))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		good += fmt.Sprintf("; %s: %d", name, by[name])
	}
	verdict := judged(against, good)
	if verdict.Valid == True {
		verdict.Examples = excused[:min(len(excused), examplesMax)]
	}
	return verdict, nil
}

// Sticky checks that each connection was answered by one server all its life.
//
// Assumes: each answer names its server. Steps: no connection has two. What can mislead: a connection that is
// answered once, or never, cannot change.
func Sticky(ops []history.Op, _ Settings) (Verdict, error) {
	all, unended, err := connections(ops)
	if err != nil {
		return Verdict{}, err
	}
	var against violations
	for _, each := range all {
		distinct := slices.Clone(each.Servers)
		slices.Sort(distinct)
		if len(slices.Compact(distinct)) > 1 {
			against.add(twoServers, "%s", each)
		}
	}
	if answered(all) == 0 {
		return unknown(stickyNoAnswer, "none of %d connections was answered", len(all)), nil
	}
	if unended != nil && len(against.sentences) == 0 {
		return unknown(stickyUnended, "how the connection of operation %d ended is unknown: %s", unended.Index, unended.Error), nil
	}
	return judged(against, fmt.Sprintf("%d connections, each with one server", len(all))), nil
}
