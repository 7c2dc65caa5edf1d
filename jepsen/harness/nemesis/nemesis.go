// SPDX-License-Identifier: Apache-2.0

// Package nemesis runs a schedule: each step's commands at its time, on the node that has its role then, logged before
// and after.
package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
	"olympos.io/encoding/edn"
)

// roleWait is how long a step waits for a node with its role, such as :leader during an election. Tests shorten it.
var roleWait = 10 * time.Second

// Commander runs the programs of jepsen/bin.
type Commander interface {
	Run(program string, words ...string) (string, error)
	List() (cluster.Listing, error)
}

// Nemesis makes and heals faults.
type Nemesis struct {
	Cluster  Commander
	Faults   map[edn.Keyword]scenario.Fault
	Programs map[edn.Keyword]string // by role; other roles have none
	Recorder *history.Recorder
	Say      func(format string, args ...any)

	standing standing
}

// noNode is the error of a step that was not done: no node had its role.
type noNode string

func (n noNode) Error() string { return "no node is " + string(n) }

// Run runs all steps and returns when the last has healed, but not before `seconds` are over. Its errors are those of
// failed commands; a step that found no node of its role is no error, unless no step found one: then no fault was made.
func (n *Nemesis) Run(schedule scenario.Schedule, seed uint64) error {
	draw := scenario.NewDraw(seed)
	began := time.Now()
	var wait sync.WaitGroup
	failures := make(chan error, len(schedule.Steps))
	missed := 0
	for _, step := range schedule.Steps {
		drawn := draw.Next()
		wait.Add(1)
		go func() {
			defer wait.Done()
			time.Sleep(time.Until(began.Add(seconds(step.At()))))
			failures <- n.step(step, drawn)
		}()
	}
	time.Sleep(time.Until(began.Add(seconds(schedule.Seconds))))
	wait.Wait()
	close(failures)
	var first error
	for err := range failures {
		var none noNode
		switch {
		case errors.As(err, &none):
			missed++
		case first == nil:
			first = err
		}
	}
	if first == nil && missed > 0 && missed == len(schedule.Steps) {
		return fmt.Errorf("none of %d steps found a node of its role: nothing was hurt", missed)
	}
	return first
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func words(step scenario.Step) string {
	text := string(step.Fault())
	for _, key := range []edn.Keyword{"on", "node", "kind", "percent", "milliseconds", "seconds"} {
		if value, said := step[key]; said {
			text += fmt.Sprintf(" %v", value)
		}
	}
	return text
}

func (n *Nemesis) step(planned scenario.Step, drawn uint64) error {
	step := scenario.Step{}
	for key, value := range planned {
		step[key] = value
	}
	fault := n.Faults[step.Fault()]
	delete(step, "at")
	left, err := n.begin(step, fault, drawn)
	if err != nil {
		for _, key := range []edn.Keyword{"node", "program", "may-break"} { // its node before it had to wait
			delete(step, key)
		}
		n.Recorder.Fault("start", step, err)
		n.Say("%s: not done, %v", words(step), err)
		return err
	}
	defer left()
	if err := n.commands("start", fault, fault.Start, step); err != nil {
		return err
	}
	began := time.Now()
	time.Sleep(time.Until(began.Add(seconds(step.For()))))
	return n.commands("heal", fault, fault.Heal, step)
}

// claimed is the program that a step is on, if it is on one; for an upgrade all programs of its kind, such as "*/mux".
func (n *Nemesis) claimed(step scenario.Step, fault scenario.Fault) []string {
	kind, said := step["kind"]
	if !said {
		kind = fault.Defaults["kind"]
	}
	switch program, is := step["program"].(string); {
	case kind == "server":
		return []string{"*/nginx", "*/agent"}
	case kind != nil:
		return []string{"*/" + n.Programs[edn.Keyword(fmt.Sprint(kind))]}
	case is:
		return []string{program}
	}
	return nil
}

// begin waits until the step may run beside the active ones and resolves it again, since its role may have moved. It
// returns a function to call once the step has healed.
func (n *Nemesis) begin(step scenario.Step, fault scenario.Fault, drawn uint64) (func(), error) {
	for {
		if err := n.resolve(step, fault, drawn); err != nil {
			return nil, err
		}
		entered, changed := n.standing.enter(n.claimed(step, fault), fault.Alone)
		if entered != nil {
			return func() { n.standing.leave(entered) }, nil
		}
		<-changed
	}
}

// resolve finds the step's node and program, and what it may break; it asks again while no node has the role or the
// nodes cannot be listed.
func (n *Nemesis) resolve(step scenario.Step, fault scenario.Fault, drawn uint64) error {
	role, byRole := step["on"].(edn.Keyword)
	name, byName := step["on"].(string)
	if !byRole && !byName || role == "none" {
		step["may-break"] = fault.Breaks("none")
		return nil
	}
	deadline := time.Now().Add(roleWait)
	for {
		listing, err := n.Cluster.List()
		found := listing.With(string(role))
		if byName {
			found = nil
			for _, node := range listing.Nodes {
				if node.Node == name {
					found = append(found, node)
					role = ownRole(node, fault)
				}
			}
		}
		if len(found) > 0 {
			node := found[drawn%uint64(len(found))]
			step["node"] = node.Node
			if program, has := n.Programs[role]; has {
				step["program"] = node.Node + "/" + program
			}
			step["may-break"] = fault.Breaks(role)
			return nil
		}
		if time.Now().After(deadline) {
			if err != nil {
				return err
			}
			return noNode(string(role) + name)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// ownRole is the first of a node's roles that the fault can be made on.
func ownRole(node cluster.Node, fault scenario.Fault) edn.Keyword {
	at := slices.IndexFunc(node.Roles, func(role string) bool { return fault.On[edn.Keyword(role)] })
	if at < 0 {
		return "none"
	}
	return edn.Keyword(node.Roles[at])
}

func (n *Nemesis) commands(f edn.Keyword, fault scenario.Fault, commands [][]any, step scenario.Step) error {
	n.Recorder.Fault(f, step, nil)
	n.Say("%s %s", f.String()[1:], words(step))
	var failure error
	for _, command := range commands {
		line, err := fault.Words(command, step)
		if err == nil {
			_, err = n.Cluster.Run(line[0], line[1:]...)
		}
		if err != nil && failure == nil {
			failure = err
		}
	}
	n.Recorder.Fault(f, step, failure)
	if failure != nil {
		n.Say("%s %s failed: %v", f.String()[1:], words(step), failure)
	}
	return failure
}

// Heal undoes all faults and starts dead programs.
func (n *Nemesis) Heal() error {
	value := map[edn.Keyword]any{"fault": edn.Keyword("all")}
	n.Recorder.Fault("heal", value, nil)
	_, err := n.Cluster.Run("fault-ctl", "heal")
	n.Recorder.Fault("heal", value, err)
	return err
}

// Describe returns the schedule, one line a step.
func Describe(schedule scenario.Schedule) string {
	var lines []string
	for _, step := range schedule.Steps {
		lines = append(lines, fmt.Sprintf("%6.1f s  %4.1f s  %s", step.At(), step.For(), words(step)))
	}
	return strings.Join(lines, "\n")
}
