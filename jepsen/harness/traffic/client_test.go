// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a client against a server; lines() ends it and returns its output.
func start(t *testing.T, options Options) (lines func() []Line, said <-chan Line) {
	t.Helper()
	in, stop := io.Pipe()
	from, out := io.Pipe()
	heard := make(chan Line, 100000)
	done := make(chan []Line)
	go func() {
		var all []Line
		decoder := json.NewDecoder(bufio.NewReader(from))
		for {
			var line Line
			if err := decoder.Decode(&line); err != nil {
				break
			}
			all = append(all, line)
			heard <- line
		}
		close(heard)
		done <- all
	}()
	go func() {
		if err := Run(options, in, out); err != nil {
			t.Error(err)
		}
		_ = out.Close()
	}()
	return func() []Line { _ = stop.Close(); return <-done }, heard
}

func options(address string) Options {
	return Options{Address: address, Connections: 5, Interval: 0.01, LifeLeast: 60, LifeMost: 60, AnswerSeconds: 20, Seed: 1}
}

// awaitEnd returns the first connection that ends.
func awaitEnd(t *testing.T, said <-chan Line) Ended {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line := <-said:
			if line.Ended != nil {
				return *line.Ended
			}
		case <-deadline:
			t.Fatal("no connection ended within 30 s")
		}
	}
}

func serve(t *testing.T, handle func(http.ResponseWriter, *http.Request)) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(handle)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), func() { _ = server.Close() }
}

// TestOrderly: connections are answered, name their server, and are closed in order.
func TestOrderly(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "server1") })
	lines, said := start(t, options(address))
	deadline := time.After(30 * time.Second)
	for open := 0; open < 5; {
		select {
		case line := <-said:
			if line.Second != nil {
				open = line.Second.Open
			}
		case <-deadline:
			t.Fatal("5 connections are not open within 30 s")
		}
	}
	ended := 0
	for _, line := range lines() {
		if line.Ended == nil {
			continue
		}
		ended++
		if each := *line.Ended; each.End != "closed" || len(each.Servers) != 1 || each.Servers[0] != "server1" || each.Requests == 0 || each.LastAnswer < each.From || each.To < each.LastAnswer {
			t.Errorf("%+v", each)
		}
	}
	if ended < 5 {
		t.Errorf("%d connections ended", ended)
	}
}

// bound: an address whose port the test holds, without a listener. A port that a listener has just freed may be
// another process's at once.
func bound(t *testing.T) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

// TestBroken: each way to break has its word.
func TestBroken(t *testing.T) {
	t.Run("another server", func(t *testing.T) {
		count := 0
		address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { count++; fmt.Fprintf(w, "server%d\n", 1+count/5%2) })
		with := options(address)
		with.Connections, with.LifeLeast, with.LifeMost, with.Interval = 1, 0.5, 0.5, 0.001
		lines, said := start(t, with)
		each := awaitEnd(t, said)
		lines()
		if len(each.Servers) != 2 || each.End != "closed" {
			t.Errorf("%+v", each)
		}
	})
	t.Run("the server ends it", func(t *testing.T) {
		answers := make(chan struct{}, 100000)
		address, stop := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "server1"); answers <- struct{}{} })
		lines, said := start(t, options(address))
		for range 20 {
			<-answers
		}
		stop()
		each := awaitEnd(t, said)
		lines()
		if each.End != "reset" || each.Requests == 0 {
			t.Errorf("%+v", each)
		}
	})
	t.Run("one slow answer", func(t *testing.T) {
		count := 0
		address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if count++; count == 3 {
				time.Sleep(2 * stallLeast)
			}
			fmt.Fprintln(w, "server1")
		})
		with := options(address)
		with.Connections, with.LifeLeast, with.LifeMost = 1, 2, 2
		lines, said := start(t, with)
		each := awaitEnd(t, said)
		lines()
		if long := slices.DeleteFunc(each.Stalls, func(s [2]int64) bool { return s[1]-s[0] < int64(2*stallLeast) }); len(long) == 0 || long[0][0] < each.From || long[0][1] > each.To {
			t.Errorf("%+v", each)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		with := options(address)
		with.AnswerSeconds = 0.2
		lines, said := start(t, with)
		each := awaitEnd(t, said)
		lines()
		if len(each.Stalls) != 1 || each.Stalls[0][0] != each.From || each.Stalls[0][1]-each.Stalls[0][0] < 2e8 {
			t.Errorf("stalls %v", each.Stalls)
		}
		if each.End != "timeout" || each.Requests != 0 || !strings.HasPrefix(each.Local, "127.0.0.1:") {
			t.Errorf("%+v", each)
		}
	})
	t.Run("no listener", func(t *testing.T) {
		lines, said := start(t, options(bound(t)))
		each := awaitEnd(t, said)
		lines()
		if each.End != "refused" || each.Requests != 0 || !strings.HasPrefix(each.Local, "127.0.0.1:") {
			t.Errorf("%+v", each)
		}
	})
	t.Run("something else", func(t *testing.T) {
		address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		lines, said := start(t, options(address))
		each := awaitEnd(t, said)
		lines()
		if each.End != "reset" || !strings.Contains(each.Why, "500") {
			t.Errorf("%+v", each)
		}
	})
}

// TestUnopened: a SYN that no server answers has a port, too, once it has timed out.
func TestUnopened(t *testing.T) {
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(listener) }()
	if err := errors.Join(syscall.Bind(listener, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(listener, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(listener)
	if err != nil {
		t.Fatal(err)
	}
	with := options(fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port))
	with.AnswerSeconds = 0.3 // its backlog has room for one; the others' SYNs are dropped
	lines, said := start(t, with)
	unopened := false
	for range with.Connections {
		each := awaitEnd(t, said)
		if each.End != "timeout" || !strings.HasPrefix(each.Local, "127.0.0.1:") {
			t.Errorf("%+v", each)
		}
		unopened = unopened || strings.HasPrefix(each.Why, "dial ")
	}
	lines()
	if !unopened {
		t.Error("all connections opened")
	}
}

// TestCount: so many connections with one request, then the end.
func TestCount(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "server1") })
	with := options(address)
	with.Count = 50
	_, said := start(t, with)
	ended := 0
	for line := range said {
		if line.Ended != nil && line.Ended.End == "closed" && line.Ended.Requests == 1 {
			ended++
		}
	}
	if ended != 50 {
		t.Errorf("%d of 50 connections were answered once", ended)
	}
}

// TestIdle: an idle connection sends a request at the beginning and the end of its life, also if the client stops before.
func TestIdle(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "server1") })
	with := options(address)
	with.Connections, with.Idle, with.LifeLeast, with.LifeMost = 2, 2, 1.5, 1.5
	lines, said := start(t, with)
	for range 4 {
		if each := awaitEnd(t, said); each.Kind != Idle || each.Requests != 2 || each.End != "closed" || each.To-each.From < int64(time.Second)/2 {
			t.Errorf("%+v", each)
		}
	}
	lines()
	with.LifeLeast, with.LifeMost = 600, 600
	lines, said = start(t, with)
	deadline := time.After(30 * time.Second)
	for open := 0; open < 2; {
		select {
		case line := <-said:
			if line.Second != nil {
				open = line.Second.Open
			}
		case <-deadline:
			t.Fatal("2 connections are not open within 30 s")
		}
	}
	ended := 0
	for _, line := range lines() {
		if line.Ended != nil && line.Ended.Requests == 2 && line.Ended.End == "closed" {
			ended++
		}
	}
	if ended != 2 {
		t.Errorf("%d of 2 connections were asked once more", ended)
	}
}

// TestKinds: as many connections as asked for use MPTCP, including those that replace others.
func TestKinds(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "server1") })
	with := options(address)
	with.MPTCP, with.LifeLeast, with.LifeMost = 2, 0.1, 0.1
	lines, said := start(t, with)
	for range 20 {
		awaitEnd(t, said)
	}
	open, most := map[Kind]int{}, map[Kind]int{}
	kinds := map[int64]Kind{}
	for _, line := range lines() {
		switch {
		case line.Opened != nil:
			kinds[line.Opened.ID] = line.Opened.Kind
			open[line.Opened.Kind]++
			most[line.Opened.Kind] = max(most[line.Opened.Kind], open[line.Opened.Kind])
		case line.Ended != nil:
			each := *line.Ended
			open[each.Kind]--
			if each.Kind != kinds[each.ID] || each.End != "closed" || each.Kind == TCP && each.Subflows != 0 {
				t.Errorf("%+v, opened by %s", each, kinds[each.ID])
			}
		}
	}
	if most[TCP] != 3 || most[MPTCP] != 2 {
		t.Errorf("at most %v were open at once", most)
	}
}
