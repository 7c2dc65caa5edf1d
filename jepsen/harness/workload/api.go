// SPDX-License-Identifier: Apache-2.0

// Package workload is what clients and operators do during the faults, recorded as histories.
package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// API asks controllers by REST.
type API struct {
	Controllers []string // URLs
	Token       string   // for all of them; empty: none
	Run         string   // drawn for this run: a prefix of every key, since controllers remember those of earlier runs
	client      *http.Client
}

// attemptSeconds is the time-out of one attempt, before another controller is asked.
const attemptSeconds = 4

// NewAPI returns the API of these controllers.
func NewAPI(controllers []string) *API {
	return &API{Controllers: controllers, client: &http.Client{Timeout: attemptSeconds * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 5 * time.Second}}}
}

// Answer is an answer with any status.
type Answer struct {
	Status int
	ETag   string
	Body   []byte
}

// Generation is the service's, from a write's answer or the ETag of a read.
func (a Answer) Generation() (int64, error) {
	var result struct {
		Generation int64 `json:"generation"`
	}
	if a.ETag != "" {
		parts := strings.Split(strings.Trim(a.ETag, `"`), "-")
		return strconv.ParseInt(parts[len(parts)-1], 10, 64)
	}
	if err := json.Unmarshal(a.Body, &result); err != nil {
		return 0, fmt.Errorf("%w: %.200s", err, a.Body)
	}
	if result.Generation == 0 {
		return 0, fmt.Errorf("no generation in %.200s", a.Body)
	}
	return result.Generation, nil
}

func (a Answer) problem() error {
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(a.Body, &problem)
	return fmt.Errorf("%d: %s", a.Status, problem.Detail)
}

// ErrUnknown: the request may have taken effect.
var ErrUnknown = errors.New("the outcome is unknown")

// ErrRefused: the request was refused and changed nothing.
var ErrRefused = errors.New("refused")

// Request is one of REST.
type Request struct {
	Method, Path string
	Body         any
	Headers      map[string]string
}

// send makes one attempt at one controller.
func (api *API) send(controller string, request Request) (Answer, error) {
	var body io.Reader
	if request.Body != nil {
		text, err := json.Marshal(request.Body)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(text)
	}
	asked, err := http.NewRequest(request.Method, controller+request.Path, body)
	if err != nil {
		return Answer{}, err
	}
	if request.Body != nil {
		asked.Header.Set("Content-Type", "application/json")
	}
	if api.Token != "" {
		asked.Header.Set("Authorization", "Bearer "+api.Token)
	}
	for name, value := range request.Headers {
		asked.Header.Set(name, value)
	}
	answer, err := api.client.Do(asked)
	if err != nil {
		return Answer{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return Answer{}, err
	}
	return Answer{answer.StatusCode, answer.Header.Get("ETag"), text}, nil
}

// Write sends a change to one controller after the other, beginning with number `first`, until it gets a definite answer.
// Under its key it takes effect once, however often it is sent. It returns ErrRefused only if all earlier attempts were
// answered: one without an answer may still be in progress.
func (api *API) Write(request Request, key string, first int, within time.Duration) (Answer, error) {
	if request.Headers == nil {
		request.Headers = map[string]string{}
	}
	request.Headers["Idempotency-Key"] = api.Run + key
	deadline := time.Now().Add(within)
	open := false
	var last error
	for attempt := first; ; attempt++ {
		answer, err := api.send(api.Controllers[attempt%len(api.Controllers)], request)
		switch {
		case err == nil && answer.Status < 300:
			return answer, nil
		case err == nil && answer.Status < 500:
			if open {
				return answer, fmt.Errorf("%w: an earlier attempt had no answer, then %w", ErrUnknown, answer.problem())
			}
			return answer, fmt.Errorf("%w: %w", ErrRefused, answer.problem())
		case err == nil:
			last, open = answer.problem(), true
		default:
			last = err
			open = open || !neverSent(err)
		}
		if time.Now().After(deadline) {
			return Answer{}, fmt.Errorf("%w: %w", ErrUnknown, last)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// neverSent reports whether the connection could not be made, so that nothing was sent on it.
func neverSent(err error) bool {
	return strings.Contains(err.Error(), "connect: connection refused") || strings.Contains(err.Error(), "connect: no route to host")
}

// Read asks one controller once for the latest committed state: it answers 503 if it cannot be sure to have it.
func (api *API) Read(path string, controller int) (Answer, error) {
	answer, err := api.send(api.Controllers[controller%len(api.Controllers)], Request{Method: "GET", Path: path, Headers: map[string]string{"Cache-Control": "no-cache"}})
	if err == nil && answer.Status != 200 {
		err = answer.problem()
	}
	return answer, err
}

// Await reads from one controller after the other until one answers.
func (api *API) Await(path string, within time.Duration) (Answer, error) {
	deadline := time.Now().Add(within)
	for attempt := 0; ; attempt++ {
		answer, err := api.Read(path, attempt)
		if err == nil {
			return answer, nil
		}
		if time.Now().After(deadline) {
			return answer, fmt.Errorf("GET %s was not answered within %s: %w", path, within, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Backend is a member of a service's pool.
type Backend struct {
	ID      int64  `json:"id"`
	Address string `json:"address"`
	Weight  int64  `json:"weight"`
	Buckets int64  `json:"buckets"`
}

// Backends decodes the list in an answer.
func (a Answer) Backends() ([]Backend, error) {
	var backends []Backend
	if err := json.Unmarshal(a.Body, &backends); err != nil {
		return nil, fmt.Errorf("%w: %.200s", err, a.Body)
	}
	return backends, nil
}
