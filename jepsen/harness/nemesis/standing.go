// SPDX-License-Identifier: Apache-2.0

package nemesis

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// standing are the steps that have begun and are not healed yet. A schedule keeps apart what must not meet, but on a slow
// machine a step takes longer than planned: a program that starts would be stopped by the next step, and be taken for one
// that cannot start.
type standing struct {
	lock    sync.Mutex
	steps   []*stands
	changed chan struct{} // closed when one leaves
}

type stands struct {
	programs []string // "*/mux" if it is on all muxes
	alone    bool
}

// enter adds a step if it may begin beside those that stand: not on the same program, and not where either stands alone.
// Otherwise it returns nil and a channel that is closed when it may be tried again.
func (s *standing) enter(programs []string, alone bool) (*stands, <-chan struct{}) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, each := range s.steps {
		if alone || each.alone || meet(programs, each.programs) {
			return nil, s.changed
		}
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	entered := &stands{programs, alone}
	s.steps = append(s.steps, entered)
	return entered, nil
}

// meet says whether two steps are on the same program.
func meet(all, others []string) bool {
	return slices.ContainsFunc(all, func(a string) bool {
		return slices.ContainsFunc(others, func(b string) bool {
			every := strings.HasPrefix(a, "*/") || strings.HasPrefix(b, "*/")
			return a == b || every && path.Base(a) == path.Base(b)
		})
	})
}

// leave takes a step out that has healed.
func (s *standing) leave(left *stands) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for i, each := range s.steps {
		if each == left {
			s.steps = append(s.steps[:i], s.steps[i+1:]...)
			break
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}
