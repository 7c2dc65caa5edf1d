// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"fairlead.dev/jepsen/history"
)

// Durable asks whether every acknowledged write is still there in the final reads.
//
// Assumes: revisions order a service's changes; final reads come after everything has healed and all writers have ended.
// Steps, for each service: no final read shows a lower revision than any that was acknowledged; two
// acknowledged writes at one revision do not make different things of one backend; in each final read each backend is what
// its last acknowledged write (by revision) made of it, or what a write of unknown outcome would have made of it. What can
// mislead: a lost write that a later one covers is not seen here (by Linearizable it is), and unknown writes excuse much.
func Durable(ops []history.Op, _ Settings) (Verdict, error) {
	done, err := configOps(ops)
	if err != nil {
		return Verdict{}, err
	}
	services, names := byService(done)
	var against []string
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
			return unknown("%s has acknowledged writes, and no final read", name), nil
		}
		seen := map[string]bool{} // a sentence once, whichever reads show it
		for _, final := range finals {
			for _, sentence := range lost(name, services[name], final) {
				if !seen[sentence] {
					seen[sentence] = true
					against = append(against, sentence)
				}
			}
		}
	}
	if writes == 0 {
		return unknown("no write was acknowledged"), nil
	}
	return judged(against, fmt.Sprintf("%d acknowledged writes are there", writes)), nil
}

func lost(name string, ops []configOp, final configOp) (against []string) {
	backends := map[int64]bool{}
	for _, each := range ops {
		if each.write.kind == "read" {
			continue
		}
		if each.known() && each.revision > final.revision {
			against = append(against, fmt.Sprintf("%s: operation %d was acknowledged with revision %d, the final read shows %d", name, each.op.Index, each.revision, final.revision))
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
	for backend := range backends {
		against = append(against, lostBackend(name, ops, final, backend)...)
	}
	return against
}

func lostBackend(name string, ops []configOp, final configOp, backend int64) (against []string) {
	type value struct {
		weight int64
		there  bool
	}
	var last *configOp
	var wanted value // as a service begins: without it
	allowed := map[value]bool{}
	for _, each := range ops {
		weight, there, touched := each.write.touches(backend)
		if !touched {
			continue
		}
		made := value{weight, there}
		switch {
		case !each.known():
			allowed[made] = true
		case last == nil || each.revision > last.revision:
			last, wanted = &each, made
		case each.revision == last.revision && made != wanted:
			against = append(against, fmt.Sprintf("%s: operations %d and %d were both acknowledged with revision %d, and differ about backend %d", name, last.op.Index, each.op.Index, each.revision, backend))
		}
	}
	weight, there := final.write.weights[backend]
	found := value{weight, there}
	if found == wanted || allowed[found] {
		return against
	}
	shown := func(v value) string {
		if v.there {
			return fmt.Sprintf("weight %d", v.weight)
		}
		return "gone"
	}
	by := "the service began so"
	if last != nil {
		by = fmt.Sprintf("operation %d was acknowledged", last.op.Index)
	}
	return append(against, fmt.Sprintf("%s: backend %d should be %s (%s), the final read shows it %s", name, backend, shown(wanted), by, shown(found)))
}
