// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fairlead.dev/jepsen/history"
	"github.com/anishathalye/porcupine"
	"olympos.io/encoding/edn"
)

// log writes a history of one service.
type log struct {
	text  strings.Builder
	index int
}

func (l *log) add(process int, kind, f, payload, rest string) {
	fmt.Fprintf(&l.text, "{:index %d :time %d :process %d :type :%s :f :%s :value [\"a\" %s]%s}\n", l.index, l.index, process, kind, f, payload, rest)
	l.index++
}

func (l *log) judge(t *testing.T) Verdict {
	t.Helper()
	ops, err := history.Read(strings.NewReader(l.text.String()))
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := Linearizable(ops, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// TestManyUnknownOutcomes: fifty writes without an answer, one of which took effect, do not make the verdict unknown. A
// run of six minutes had as many, and was unknown after a minute of search.
func TestManyUnknownOutcomes(t *testing.T) {
	for _, row := range []struct {
		name    string
		effect  bool
		unknown int
		seen    int64 // by the last read
		want    Outcome
	}{
		{"none took effect", false, 50, 7, True},
		{"one did", true, 50, 7, True},
		{"no write explains the read", true, 8, 8, False},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			log := &log{}
			revision := 1
			acknowledge := func(weight int64) {
				payload := fmt.Sprintf("{:backend 1 :weight %d}", weight)
				revision++
				log.add(0, "invoke", "add", payload, "")
				log.add(0, "ok", "add", payload, fmt.Sprintf(" :revision %d", revision))
			}
			acknowledge(1)
			for i := range row.unknown {
				payload := fmt.Sprintf("{:backend 1 :weight %d}", 100+i)
				log.add(1+i, "invoke", "add", payload, "")
				log.add(1+i, "info", "add", payload, " :error \"time-out\"")
			}
			acknowledge(2)
			if row.effect {
				revision++
			}
			for weight := int64(3); weight <= 7; weight++ {
				acknowledge(weight)
			}
			log.add(0, "invoke", "read", "nil", "")
			log.add(0, "ok", "read", fmt.Sprintf("{:revision %d :weights {1 %d}}", revision, row.seen), "")
			if verdict := log.judge(t); verdict.Valid != row.want {
				t.Errorf("it is %v: %s", verdict.Valid, verdict.Why)
			}
		})
	}
}

// TestSearchIsExact: on short histories it finds what an exhaustive search finds, in which operations of unknown outcome
// change something or nothing at any place.
func TestSearchIsExact(t *testing.T) {
	everything := porcupine.Model{
		Init: func() any { return emptyPool },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(configOp)
			if op.known() {
				ok, next := state.(pool).step(op)
				return ok, next
			}
			next, _ := state.(pool).after(op.write)
			return true, next
		},
	}
	found := map[porcupine.CheckResult]int{}
	for seed := range uint64(2000) {
		draw := rand.New(rand.NewPCG(seed, 5))
		var operations []porcupine.Operation
		for i := range 1 + draw.IntN(6) {
			kinds := []edn.Keyword{"add", "weight", "remove", "apply", "read", "conditional"}
			op := configOp{revision: 1 + draw.Int64N(4), write: write{kind: "add", backend: 1 + draw.Int64N(2), weight: 1 + draw.Int64N(2), onlyIf: 1 + draw.Int64N(3)}}
			op.write.weights = map[int64]int64{1 + draw.Int64N(2): 1 + draw.Int64N(2)}
			op.write.kind = kinds[draw.IntN(len(kinds))]
			call := int64(draw.IntN(12))
			each := porcupine.Operation{ClientId: i, Call: call, Return: 1 << 62}
			if op.write.kind == "read" || draw.IntN(2) > 0 {
				op.returned = call + 1 + draw.Int64N(6)
				each.Return = op.returned
			}
			each.Input = op
			operations = append(operations, each)
		}
		want := porcupine.CheckOperationsTimeout(everything, operations, 0)
		got := search(operations, time.Minute)
		found[got]++
		if got != want {
			t.Fatalf("seed %d: %v, want %v: %+v", seed, got, want, operations)
		}
	}
	t.Logf("%v", found)
	if min(found[porcupine.Ok], found[porcupine.Illegal]) < 100 {
		t.Errorf("one-sided histories: %v", found)
	}
}
