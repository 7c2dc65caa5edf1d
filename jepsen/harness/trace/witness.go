// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options of a witness, which runs on a server's node and reports what the server does.
type Options struct {
	VIP  string
	Port int
	Show string // the command that prints the server side's counters as JSON; "" for none
	ID   int    // of the service, by which it tells the generations that it knows
}

// Line is a line of a witness's standard output: exactly one of Reset, Counters, Peer and Error is set.
type Line struct {
	At       int64            `json:"at"`              // in Unix nanoseconds
	Reset    string           `json:"reset,omitempty"` // a RST was sent to this address and port
	Counters map[string]int64 `json:"counters,omitempty"`
	Seen     int64            `json:"seen,omitempty"` // beside the counters: the highest generation of the service
	Peer     string           `json:"peer,omitempty"` // the address and port that was asked for
	Sockets  []string         `json:"sockets,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// counterSeconds is how often counters are read.
const counterSeconds = 1

// Witness reports RSTs that the server sends from the service, its counters and, for each address and port that is a line
// of its input, the sockets with it. It ends when its input does.
func Witness(options Options, in io.Reader, out io.Writer) error {
	var lock sync.Mutex
	encoder := json.NewEncoder(out)
	say := func(line Line) {
		lock.Lock()
		defer lock.Unlock()
		if line.At == 0 {
			line.At = time.Now().UnixNano()
		}
		_ = encoder.Encode(line) // a reader that has gone has closed the input, too
	}
	capture := exec.Command("tcpdump", "-i", "any", "-l", "-n", "-tt",
		fmt.Sprintf("src host %s and tcp src port %d and tcp[tcpflags] & tcp-rst != 0", options.VIP, options.Port))
	seen, err := capture.StdoutPipe()
	if err != nil {
		return err
	}
	var said strings.Builder
	capture.Stderr = &said
	if err := capture.Start(); err != nil {
		say(Line{Error: err.Error()})
	} else {
		defer func() { _ = capture.Process.Kill() }()
		go func() {
			lines := bufio.NewScanner(seen)
			for lines.Scan() {
				if at, peer := reset(lines.Text()); peer != "" {
					say(Line{At: at, Reset: peer})
				}
			}
			_ = capture.Wait()
			say(Line{Error: "tcpdump has ended: " + said.String()})
		}()
	}
	over := make(chan struct{})
	defer close(over)
	if options.Show != "" {
		go count(strings.Fields(options.Show), strconv.Itoa(options.ID), say, over)
	}
	peers := bufio.NewScanner(in)
	for peers.Scan() {
		peer := peers.Text()
		// In brackets, as a listener of MPTCP may have sockets of IPv6.
		told, err := exec.Command("ss", "-tanHo", "dst", peer, "or", "dst", "[::ffff:"+strings.Replace(peer, ":", "]:", 1)).CombinedOutput()
		line := Line{Peer: peer}
		if err != nil {
			line.Error = fmt.Sprintf("%v: %s", err, told)
		}
		for _, each := range strings.Split(string(told), "\n") {
			if words := strings.Fields(each); len(words) > 0 {
				line.Sockets = append(line.Sockets, strings.Join(words, " "))
			}
		}
		say(line)
	}
	return peers.Err()
}

// count reports the counters, and the highest generation of a service, from time to time.
func count(command []string, service string, say func(Line), over <-chan struct{}) {
	for {
		told, err := exec.Command(command[0], command[1:]...).Output()
		var shown struct {
			Counters map[string]int64 `json:"counters"`
			Services map[string]struct {
				Generation int64 `json:"generation"`
			} `json:"services"`
		}
		if err == nil {
			err = json.Unmarshal(told, &shown)
		}
		if err == nil {
			say(Line{Counters: shown.Counters, Seen: shown.Services[service].Generation})
		} else {
			say(Line{Error: fmt.Sprintf("%s: %v", strings.Join(command, " "), err)})
		}
		select {
		case <-over:
			return
		case <-time.After(counterSeconds * time.Second):
		}
	}
}

var packet = regexp.MustCompile(`^(\d+)\.(\d{6}) .*?IP (\S+)\.(\d+) > (\S+)\.(\d+): Flags \[R`)

// reset reads a packet as tcpdump prints it: the time and the client's address and port; "" if it is none.
func reset(text string) (at int64, peer string) {
	parts := packet.FindStringSubmatch(text)
	if parts == nil {
		return 0, ""
	}
	var whole, micro int64
	if _, err := fmt.Sscan(parts[1], &whole); err != nil {
		return 0, ""
	}
	if _, err := fmt.Sscanf(parts[2], "%d", &micro); err != nil {
		return 0, ""
	}
	return whole*1e9 + micro*1e3, parts[5] + ":" + parts[6]
}
