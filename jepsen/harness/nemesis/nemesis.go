// SPDX-License-Identifier: Apache-2.0

// Package nemesis carries a schedule out: each step's commands when its time has come, on whom its role then names, and
// logged before and after.
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

// roleWait is how long a role that no node has, such as :leader during an election, is asked for again. Tests shorten it.
var roleWait = 10 * time.Second

// programs of the roles; a role that is not here has none.
var programs = map[string]string{
	"controller": "controller", "leader": "controller", "follower": "controller",
	"zookeeper": "zookeeper", "zookeeper-leader": "zookeeper", "zookeeper-follower": "zookeeper",
	"mux": "mux", "server": "nginx",
}

// Commander runs the programs of jepsen/bin.
type Commander interface {
	Run(program string, words ...string) (string, error)
	List() (cluster.Listing, error)
}

// Nemesis makes and heals faults.
type Nemesis struct {
	Cluster  Commander
	Faults   map[edn.Keyword]scenario.Fault
	Recorder *history.Recorder
	Say      func(format string, args ...any)

	standing standing
}

// nobody is why a step was not done: no node had its role.
type nobody string

func (n nobody) Error() string { return "no node is " + string(n) }

// Run carries all steps out and returns when the last has healed, no sooner than after `seconds`. Its errors are commands that
// failed; steps that found nobody of their role are no error, unless all did: then nothing was hurt.
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
		var none nobody
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
		for _, key := range []edn.Keyword{"node", "program", "may-break"} { // found before it had to wait
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

// claimed is the program that a step is on; of an upgrade that of all nodes of its kind, "*/mux".
func claimed(step scenario.Step, fault scenario.Fault) string {
	kind, said := step["kind"]
	if !said {
		kind = fault.Defaults["kind"]
	}
	if name, is := kind.(string); is {
		return "*/" + programs[name]
	}
	program, _ := step["program"].(string)
	return program
}

// begin resolves the step when it may stand beside those that do; who has its role may be another one then. It returns
// what to call once the step is healed.
func (n *Nemesis) begin(step scenario.Step, fault scenario.Fault, drawn uint64) (func(), error) {
	for {
		if err := n.resolve(step, fault, drawn); err != nil {
			return nil, err
		}
		entered, changed := n.standing.enter(claimed(step, fault), fault.Alone)
		if entered != nil {
			return func() { n.standing.leave(entered) }, nil
		}
		<-changed
	}
}

// resolve finds the step's node and program, and what it may break; it asks again while nobody is found, or nobody can
// be asked.
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
			if program, has := programs[string(role)]; has {
				step["program"] = node.Node + "/" + program
			}
			step["may-break"] = fault.Breaks(role)
			return nil
		}
		if time.Now().After(deadline) {
			if err != nil {
				return err
			}
			return nobody(string(role) + name)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// ownRole is the first of a node's roles that the fault can befall.
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

// Heal undoes everything that stands, and starts what is dead.
func (n *Nemesis) Heal() error {
	value := map[edn.Keyword]any{"fault": edn.Keyword("all")}
	n.Recorder.Fault("heal", value, nil)
	_, err := n.Cluster.Run("fault-ctl", "heal")
	n.Recorder.Fault("heal", value, err)
	return err
}

// Describe is the schedule in one line a step.
func Describe(schedule scenario.Schedule) string {
	var lines []string
	for _, step := range schedule.Steps {
		lines = append(lines, fmt.Sprintf("%6.1f s  %4.1f s  %s", step.At(), step.For(), words(step)))
	}
	return strings.Join(lines, "\n")
}
