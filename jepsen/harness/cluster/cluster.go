// SPDX-License-Identifier: Apache-2.0

// Package cluster is the system under test as jepsen/bin shows it: nodes, their programs, and commands on them.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Cluster calls the executables of jepsen/bin for one instance.
type Cluster struct {
	Bin      string // its directory
	File     string // jepsen/scenarios.edn
	Instance string // "" for the only one
}

// Node is a line of `nodes list -o json`.
type Node struct {
	Node     string            `json:"node"`
	Address  string            `json:"address"`
	Roles    []string          `json:"roles"`
	Programs map[string]string `json:"programs"`
	REST     string            `json:"rest"` // of a controller
	HTTP     string            `json:"http"` // of a mux
	Show     string            `json:"show"` // of a server, the command that prints its counters
}

// Listing is all of `nodes list -o json`.
type Listing struct {
	Instance  string `json:"instance"`
	Over      string `json:"over"`
	Service   string `json:"service"`
	VIP       string `json:"vip"`
	Port      int    `json:"port"`
	ZooKeeper struct {
		Connect string `json:"connect"`
		Scheme  string `json:"scheme"`
		Login   string `json:"login"`
	} `json:"zookeeper"`
	Token string `json:"token"` // the file of the controllers' token
	Nodes []Node `json:"nodes"`
}

// Bearer is the token by which controllers are asked; empty if they take every caller.
func (l Listing) Bearer() (string, error) {
	if l.Token == "" {
		return "", nil
	}
	token, err := os.ReadFile(l.Token)
	return strings.TrimSpace(string(token)), err
}

// With returns the nodes that have a role, in the list's order.
func (l Listing) With(role string) (nodes []Node) {
	for _, node := range l.Nodes {
		if slices.Contains(node.Roles, role) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// commandSeconds bounds every command: a rolling upgrade of all nodes takes longest.
const commandSeconds = 300

// Run runs a program of jepsen/bin and returns its output; the error has the sentence that it printed.
func (c Cluster) Run(program string, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandSeconds*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(c.Bin, program), append(c.options(), words...)...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		sentence := strings.TrimSpace(said.String())
		if ctx.Err() != nil {
			sentence = fmt.Sprintf("did not end within %d s; %s", commandSeconds, sentence)
		}
		return "", fmt.Errorf("%s %s: %s (%w)", program, strings.Join(words, " "), sentence, err)
	}
	return out.String(), nil
}

func (c Cluster) options() []string {
	words := []string{"--cluster", c.File}
	if c.Instance != "" {
		words = append(words, "--instance", c.Instance)
	}
	return words
}

// Exec is a command on a node, not yet started.
func (c Cluster) Exec(node string, words ...string) *exec.Cmd {
	return exec.Command(filepath.Join(c.Bin, "nodes"), append(append(c.options(), "exec", node, "--"), words...)...)
}

// List asks for the nodes and what runs on them.
func (c Cluster) List() (Listing, error) {
	var listing Listing
	out, err := c.Run("nodes", "list", "-o", "json")
	if err != nil {
		return listing, err
	}
	if err := json.Unmarshal([]byte(out), &listing); err != nil {
		return listing, fmt.Errorf("nodes list -o json: %w: %.200s", err, out)
	}
	return listing, nil
}
