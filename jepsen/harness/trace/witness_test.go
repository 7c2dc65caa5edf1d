// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReset: the client of a RST that tcpdump prints; any other line has none.
func TestReset(t *testing.T) {
	for text, want := range map[string]string{
		"1764363000.000042 eth0  Out IP 10.99.0.1.80 > 10.2.0.11.4444: Flags [R], seq 1, win 0, length 0": "1764363000000042000 10.2.0.11:4444",
		"1764363000.123456 eth0  Out IP 10.99.0.1.80 > 10.2.0.11.4444: Flags [R.], seq 0, ack 1, win 0":   "1764363000123456000 10.2.0.11:4444",
		"1764363000.123456 eth0  Out IP 10.99.0.1.80 > 10.2.0.11.4444: Flags [F.], seq 0, ack 1, win 0":   "0 ",
		"tcpdump: listening on any": "0 ",
		"":                          "0 ",
	} {
		if at, peer := reset(text); fmt.Sprint(at, " ", peer) != want {
			t.Errorf("%s: %d %s, want %s", text, at, peer, want)
		}
	}
}

// TestWitness: it tells the server side's counters and, when asked, the sockets with a client; a wrong command and a wrong
// peer are told as errors. It ends with its input.
func TestWitness(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	show := filepath.Join(t.TempDir(), "show")
	if err := os.WriteFile(show, []byte("#!/bin/sh\necho '{\"counters\": {\"drop_stale\": 7}}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		show, peer string
		ends       func(Line) bool
	}{
		{show, client.LocalAddr().String(), func(line Line) bool { return line.Counters["drop_stale"] == 7 }},
		{show, client.LocalAddr().String(), func(line Line) bool {
			return line.Peer == client.LocalAddr().String() && len(line.Sockets) == 1 && strings.HasPrefix(line.Sockets[0], "ESTAB") && line.Error == ""
		}},
		{show, "no:address", func(line Line) bool { return line.Peer == "no:address" && line.Error != "" }},
		{"/nowhere/show", "", func(line Line) bool { return strings.HasPrefix(line.Error, "/nowhere/show") }},
	} {
		in, asks := io.Pipe()
		said, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := Witness(Options{VIP: "127.0.0.1", Port: 1, Show: row.show}, in, out)
			_ = out.Close()
			ended <- err
		}()
		if row.peer != "" {
			_, _ = io.WriteString(asks, row.peer+"\n")
		}
		decoder := json.NewDecoder(said)
		for {
			var line Line
			if err := decoder.Decode(&line); err != nil {
				t.Fatalf("%+v: %v", row, err)
			}
			if row.ends(line) {
				break
			}
		}
		go func() { _, _ = io.Copy(io.Discard, said) }()
		_ = asks.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it does not end with its input")
		}
	}
}
