// SPDX-License-Identifier: Apache-2.0

// Package history reads and writes histories in Jepsen's form: one map in EDN a line, an operation each.
package history

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"olympos.io/encoding/edn"
)

// The types of an operation. An unknown outcome is Info, never Fail.
const (
	Invoke = edn.Keyword("invoke")
	OK     = edn.Keyword("ok")
	Fail   = edn.Keyword("fail")
	Info   = edn.Keyword("info")
)

// Nemesis is the process that makes faults; all others are numbers.
const Nemesis = edn.Keyword("nemesis")

// Op is one line: an invocation, its completion, or an observation. Time is in nanoseconds since the run began.
type Op struct {
	Index    int64          `edn:"index"`
	Time     int64          `edn:"time"`
	Process  any            `edn:"process"`
	Type     edn.Keyword    `edn:"type"`
	F        edn.Keyword    `edn:"f"`
	Value    edn.RawMessage `edn:"value"`
	Revision int64          `edn:"revision,omitempty"` // of the service after an acknowledged write
	Final    bool           `edn:"final,omitempty"`    // seen after everything had healed
	Error    string         `edn:"error,omitempty"`
}

// IsNemesis reports whether the operation is the nemesis'.
func (op Op) IsNemesis() bool { return op.Process == Nemesis }

// Into decodes the value; the error names the operation.
func (op Op) Into(value any) error {
	if err := edn.Unmarshal(op.Value, value); err != nil {
		return fmt.Errorf("operation %d, :%s %s: %w", op.Index, string(op.F), op.Value, err)
	}
	return nil
}

// Keyed decodes a value [service payload].
func (op Op) Keyed(payload any) (service string, err error) {
	var pair []edn.RawMessage
	if err := op.Into(&pair); err != nil {
		return "", err
	}
	if len(pair) != 2 {
		return "", fmt.Errorf("operation %d: value %s; allowed: [service payload]", op.Index, op.Value)
	}
	if err := edn.Unmarshal(pair[0], &service); err != nil {
		return "", fmt.Errorf("operation %d: service %s: %w", op.Index, pair[0], err)
	}
	if payload == nil {
		return service, nil
	}
	if err := edn.Unmarshal(pair[1], payload); err != nil {
		return "", fmt.Errorf("operation %d: payload %s: %w", op.Index, pair[1], err)
	}
	return service, nil
}

// Value encodes an operation's value. It panics if EDN has no form for it, which is a defect of the caller.
func Value(value any) edn.RawMessage {
	text, err := edn.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// Pair is the value [service payload].
func Pair(service string, payload any) edn.RawMessage {
	return Value([]any{service, payload})
}

// Header is the first form of a shared history: its workload, the settings to judge it with, and the expected verdicts.
type Header struct {
	Workload           edn.Keyword         `edn:"workload"`
	Why                string              `edn:"why"`
	Expect             map[edn.Keyword]any `edn:"expect"`              // true, false or :unknown
	Refused            string              `edn:"refused"`             // in the error, of a history that cannot be judged
	Tolerance          float64             `edn:"tolerance"`           // of a share of buckets, as a share of all
	SearchMilliseconds int64               `edn:"search-milliseconds"` // the limit of the search for an order
}

// Read decodes operations, one a line; it skips lines that are empty or comments.
func Read(from io.Reader) ([]Op, error) {
	var ops []Op
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == ';' {
			continue
		}
		var op Op
		if err := edn.Unmarshal(line, &op); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if _, ok := op.Process.(int64); !ok && op.Process != Nemesis {
			return nil, fmt.Errorf("line %d: process %v; allowed: a number, :nemesis", number, op.Process)
		}
		ops = append(ops, op)
	}
	return ops, lines.Err()
}

// ReadShared decodes a shared history: the header on its own line, after any comments, then operations.
func ReadShared(path string) (Header, []Op, error) {
	var header Header
	text, err := os.ReadFile(path)
	if err != nil {
		return header, nil, err
	}
	for {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		text = rest
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != ';' {
			if err := edn.Unmarshal(line, &header); err != nil {
				return header, nil, fmt.Errorf("%s: header: %w", path, err)
			}
			break
		}
		if !more {
			return header, nil, fmt.Errorf("%s: no header; its first form must be {:workload … :expect …}", path)
		}
	}
	ops, err := Read(bytes.NewReader(text))
	if err != nil {
		return header, nil, fmt.Errorf("%s: %w", path, err)
	}
	return header, ops, nil
}

// Write encodes operations, one a line.
func Write(to io.Writer, ops []Op) error {
	out := bufio.NewWriter(to)
	for _, op := range ops {
		line, err := edn.Marshal(op)
		if err != nil {
			return fmt.Errorf("operation %d: %w", op.Index, err)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
