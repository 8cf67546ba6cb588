package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// all runs the lines of steps at the same time, and the steps of each line in order. A step also waits for the steps
// that its field after names. The output is printed in the order of the steps, and the counts are added up.
func (r *run) all(chosen []step) {
	runs, ended := make([]*run, len(chosen)), map[string]chan struct{}{}
	var before *page
	for i, s := range chosen {
		one := *r
		one.count, one.env, one.out = tally{}, slices.Clone(r.env), &page{}
		if before == nil {
			one.out.open()
		} else {
			before.next = one.out
		}
		runs[i], before, ended[s.name] = &one, one.out, make(chan struct{})
	}
	walk := func(l line) {
		for i, s := range chosen {
			if s.line != l {
				continue
			}
			for _, name := range s.after {
				if done, ok := ended[name]; ok {
					<-done
				}
			}
			runs[i].do(s)
			runs[i].out.close()
			close(ended[s.name])
		}
	}
	var all sync.WaitGroup
	for l := range lines {
		all.Go(func() { walk(l) })
	}
	all.Wait()
	for _, one := range runs {
		r.count.add(&one.count)
		r.cpu += one.cpu
	}
}

// do runs one step and counts its result. A step that returns an error is one failure, unless it had nothing to do,
// needs a missing program, or the run has ended; a step that counts no tests itself and returns nil is one pass.
func (r *run) do(s step) {
	if r.ctx.Err() != nil {
		r.count.miss(s.name, context.Cause(r.ctx).Error())
		return
	}
	fmt.Fprintf(r.out, "\n=== %s: %s\n", s.name, s.what)
	before, start := r.count.total(), time.Now()
	err := s.run(r)
	took := fmt.Sprintf("%s, %s of CPU", time.Since(start).Round(100*time.Millisecond), r.cpu.Round(100*time.Millisecond))
	var needs lacking
	switch {
	case errors.Is(err, errNothing):
		fmt.Fprintln(r.out, "--- nothing to do")
	case errors.As(err, &needs):
		fmt.Fprintf(r.out, "--- not run: %s: %v\n", s.name, needs)
		r.count.miss(s.name, needs.Error())
	case err != nil && r.ctx.Err() != nil:
		fmt.Fprintf(r.out, "--- cut off: %s (%s): %v\n", s.name, took, context.Cause(r.ctx))
		r.count.miss("the rest of "+s.name, context.Cause(r.ctx).Error())
	case err != nil:
		fmt.Fprintf(r.out, "--- FAIL %s (%s): %v\n", s.name, took, err)
		r.count.fail(s.name + ": " + err.Error())
	default:
		if r.count.total() == before {
			r.count.passed++
		}
		fmt.Fprintf(r.out, "--- done %s (%s)\n", s.name, took)
	}
}

// page holds the output of a step. Steps run at the same time: a page is kept until the pages before it are
// complete, and from then on is written to standard output.
type page struct {
	mu     sync.Mutex
	opened bool
	closed bool
	kept   bytes.Buffer
	next   *page // nil for the last
}

// Write keeps or prints the bytes.
func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened {
		return os.Stdout.Write(b)
	}
	return p.kept.Write(b)
}

// open prints the output that the page has kept, and makes later output go directly to standard output. If the page
// is complete, it opens the next page.
func (p *page) open() {
	p.mu.Lock()
	p.opened = true
	_, _ = os.Stdout.Write(p.kept.Bytes())
	p.kept = bytes.Buffer{}
	follow := p.closed
	p.mu.Unlock()
	if follow && p.next != nil {
		p.next.open()
	}
}

// close marks the page as complete.
func (p *page) close() {
	p.mu.Lock()
	p.closed = true
	follow := p.opened
	p.mu.Unlock()
	if follow && p.next != nil {
		p.next.open()
	}
}
