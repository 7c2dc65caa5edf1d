// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/jepsen/history"
)

var (
	olderRead      = newRule("durable", "older-read", False)
	sharedRevision = newRule("durable", "shared-revision", False)
	lostWrite      = newRule("durable", "lost", False)
	nothingWritten = newRule("durable", "nothing-written", Unknown)
	noFinalRead    = newRule("durable", "no-final-read", Unknown)
)

// Durable checks that the final reads show every acknowledged write.
//
// Assumes: revisions order a service's changes; final reads come after everything has healed and all writers have
// stopped. Steps, for each service: no final read has a lower revision than an acknowledged write; two acknowledged
// writes at one revision do not leave a backend in different states; in each final read each backend is as its last
// acknowledged write (by revision) left it, or as a write of unknown outcome would have. What can mislead: Linearizable
// alone sees a lost write that a later one covers, and many writes of unknown outcome excuse much.
func Durable(ops []history.Op, _ Settings) (Verdict, error) {
	done, err := configOps(ops)
	if err != nil {
		return Verdict{}, err
	}
	services, names := byService(done)
	var against violations
	writes := 0
	for _, name := range names {
		var finals []configOp
		acknowledged := false
		for _, each := range services[name] {
			if each.final && each.write.kind == "read" {
				finals = append(finals, each)
			} else if each.write.kind != "read" && each.known() {
				acknowledged = true
				writes++
			}
		}
		if len(finals) == 0 && acknowledged {
			return unknown(noFinalRead, "%s has acknowledged writes, and no final read", name), nil
		}
		for _, final := range finals {
			against.lost(name, services[name], final)
		}
	}
	if writes == 0 {
		return unknown(nothingWritten, "no write was acknowledged"), nil
	}
	return judged(against, fmt.Sprintf("%d acknowledged writes are there", writes)), nil
}

func (v *violations) lost(name string, ops []configOp, final configOp) {
	backends := map[int64]bool{}
	for _, each := range ops {
		if each.write.kind == "read" {
			continue
		}
		if each.known() && each.revision > final.revision {
			v.add(olderRead, "%s: operation %d was acknowledged with revision %d, the final read shows %d", name, each.op.Index, each.revision, final.revision)
		}
		backends[each.write.backend] = true
		for backend := range each.write.weights {
			backends[backend] = true
		}
	}
	delete(backends, 0)
	for backend := range final.write.weights {
		backends[backend] = true
	}
	for _, backend := range slices.Sorted(maps.Keys(backends)) {
		v.lostBackend(name, ops, final, backend)
	}
}

func (v *violations) lostBackend(name string, ops []configOp, final configOp, backend int64) {
	type value struct {
		weight int64
		there  bool
	}
	type write struct {
		value
		op history.Op
	}
	acknowledged := map[int64][]write{} // by revision; different values, the first write of each
	unknown := map[value]bool{}
	highest := int64(0)
	for _, each := range ops {
		weight, there, touched := each.write.touches(backend)
		if !touched {
			continue
		}
		made := value{weight, there}
		if !each.known() {
			unknown[made] = true
			continue
		}
		highest = max(highest, each.revision)
		same := acknowledged[each.revision]
		if slices.ContainsFunc(same, func(other write) bool { return other.value == made }) {
			continue
		}
		if len(same) > 0 {
			v.add(sharedRevision, "%s: operations %d and %d were both acknowledged with revision %d, and differ about backend %d", name, same[0].op.Index, each.op.Index, each.revision, backend)
		}
		acknowledged[each.revision] = append(same, write{made, each.op})
	}
	wanted := acknowledged[highest]
	weight, there := final.write.weights[backend]
	found := value{weight, there}
	if unknown[found] || slices.ContainsFunc(wanted, func(last write) bool { return last.value == found }) || len(wanted) == 0 && !there {
		return
	}
	shown := func(v value) string {
		if v.there {
			return fmt.Sprintf("weight %d", v.weight)
		}
		return "gone"
	}
	should := "gone (as the service began)"
	if len(wanted) > 0 {
		should = fmt.Sprintf("%s (operation %d was acknowledged)", shown(wanted[0].value), wanted[0].op.Index)
	}
	v.add(lostWrite, "%s: backend %d should be %s, the final read shows it %s", name, backend, should, shown(found))
}
