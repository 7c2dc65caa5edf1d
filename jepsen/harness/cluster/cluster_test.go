// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// executables writes shell scripts by name and returns their directory.
func executables(t *testing.T, programs map[string]string) string {
	t.Helper()
	bin := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func TestRun(t *testing.T) {
	bin := executables(t, map[string]string{
		"says":    `printf '%s\n' "$@"`,
		"refuses": `echo out; echo "refuses: node 'mux9' is not in the cluster" >&2; exit 1`,
	})
	for _, each := range []struct {
		name     string
		instance string
		program  string
		out, err string
	}{
		{"with an instance", "ab12", "says", "--cluster\nmy.edn\n--instance\nab12\nkill\na b\n", ""},
		{"without", "", "says", "--cluster\nmy.edn\nkill\na b\n", ""},
		{"refused", "", "refuses", "", "refuses kill a b: refuses: node 'mux9' is not in the cluster (exit status 1)"},
		{"missing", "", "nothing", "", "no such file or directory"},
	} {
		t.Run(each.name, func(t *testing.T) {
			out, err := Cluster{Bin: bin, File: "my.edn", Instance: each.instance}.Run(each.program, "kill", "a b")
			if out != each.out {
				t.Errorf("it printed %q, want %q", out, each.out)
			}
			if said := errorText(err); (said == "") != (each.err == "") || !strings.Contains(said, each.err) {
				t.Errorf("error %q, want %q", said, each.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestExec(t *testing.T) {
	bin := executables(t, map[string]string{"nodes": `cat; printf '%s ' "$@"; exit 7`})
	command := Cluster{Bin: bin, File: "my.edn", Instance: "ab12"}.Exec("client1", "harness", "client", "--count", "5")
	command.Stdin = strings.NewReader("in ")
	out, _ := command.Output()
	if want := "in --cluster my.edn --instance ab12 exec client1 -- harness client --count 5 "; string(out) != want {
		t.Errorf("it was called with %q, want %q", out, want)
	}
	if code := command.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

const listing = `{"instance": "ab12", "over": "lab", "service": "web", "vip": "10.99.0.1", "port": 80,
 "zookeeper": {"connect": "10.1.0.5:2181", "scheme": "digest", "login": "/run/login"},
 "nodes": [{"node": "controller", "address": "10.1.0.5", "roles": ["controller", "leader", "zookeeper"], "rest": "http://10.1.0.5:8080",
            "programs": {"controller": "running", "zookeeper": "paused"}},
           {"node": "controller2", "address": "10.1.0.6", "roles": ["controller", "follower"], "programs": {"controller": "running"}},
           {"node": "mux1", "address": "10.1.0.11", "roles": ["mux"], "programs": {"mux": "dead"}, "http": "http://10.1.0.11:9108"}]}`

func TestList(t *testing.T) {
	listed, err := Cluster{Bin: executables(t, map[string]string{"nodes": "cat <<'END'\n" + listing + "\nEND"})}.List()
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]string{"controller": "controller controller2", "leader": "controller", "mux": "mux1", "server": ""} {
		var names []string
		for _, node := range listed.With(role) {
			names = append(names, node.Node)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("nodes with role %s: %q, want %q", role, got, want)
		}
	}
	first, mux := listed.Nodes[0], listed.Nodes[2]
	if listed.ZooKeeper.Login != "/run/login" || listed.Port != 80 || first.Programs["zookeeper"] != "paused" || first.REST == "" || mux.HTTP == "" {
		t.Errorf("%+v", listed)
	}
}

func TestListRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"echo table":                             "nodes list -o json: invalid character",
		"echo 'nodes: no lab is up' >&2; exit 1": "nodes: no lab is up",
	} {
		if _, err := (Cluster{Bin: executables(t, map[string]string{"nodes": text})}).List(); !strings.Contains(errorText(err), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
