// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// run brings a cluster up, runs `conduct` on its node `runner`, and takes it down, whatever the outcome.
func run(words []string) (int, error) {
	o, err := parse("run", words)
	if err != nil {
		return 2, err
	}
	if _, err := prepare(o); err != nil {
		return 2, err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // SIGHUP: the terminal was closed
	ours := o.Instance == ""
	if ours {
		began := time.Now()
		up := []string{"up"}
		if o.breaks != "" {
			up = append(up, "--switch", o.breaks)
		} else {
			up = append(up, "--schedule", o.schedule)
		}
		said, err := o.Cluster.Run("nodes", up...)
		if err != nil {
			return 1, err
		}
		o.Instance = strings.TrimSpace(said)
		fmt.Printf("cluster %s is up after %.0f s\n", o.Instance, time.Since(began).Seconds())
	}
	code, err := o.conductInside(interrupts)
	if code != 0 || err != nil {
		if _, failed := o.Cluster.Run("nodes", "logs", filepath.Join(o.out, "logs")); failed != nil {
			err = errors.Join(err, failed)
		} else {
			fmt.Printf("logs:   %s/logs\n", o.out)
		}
	}
	last := []string{"fault-ctl", "heal"} // an interrupted run has not healed
	if ours {
		last = []string{"nodes", "down"}
	}
	if _, failed := o.Cluster.Run(last[0], last[1:]...); failed != nil {
		err = errors.Join(err, failed)
	}
	return code, err
}

// conductInside runs this program again, on the node that reaches all others.
func (o *options) conductInside(interrupts <-chan os.Signal) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	words := []string{self, "conduct", "--bin", o.Bin, "--cluster", o.File, "--instance", o.Instance, "--schedule", o.schedule, "--switch", o.breaks,
		"--workload", o.workloads, "--seed", fmt.Sprint(o.seed), "--out", o.out}
	if o.breaks == "" {
		words = append(words, "--minutes", fmt.Sprint(o.minutes), "--faults", fmt.Sprint(o.faults), "--moves", fmt.Sprint(o.moves))
	}
	command := o.Cluster.Exec("runner", words...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return exit.ExitCode(), nil
			}
			return 0, err
		case <-interrupts:
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
			fmt.Println("interrupted")
		}
	}
}
