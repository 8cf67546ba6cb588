package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress shows how far a long scan is, at what rate, and how long it will
// take: a bar that is drawn over and over on a terminal, a line now and then in a
// file. Short work shows nothing.
type progress struct {
	out      io.Writer
	what     string // "documents"
	total    int64  // 0 when unknown
	terminal bool
	now      func() time.Time

	began, shown time.Time
	drawn        bool
}

const (
	progressAfter = time.Second // of work before anything is shown
	progressBar   = 24
)

// begin starts the clock.
func (p *progress) begin() { p.began = p.now(); p.shown = p.began }

// at tells how much is done.
func (p *progress) at(done int64) {
	now := p.now()
	every := 200 * time.Millisecond
	if !p.terminal {
		every = 5 * time.Second
	}
	if now.Sub(p.began) < progressAfter || now.Sub(p.shown) < every {
		return
	}
	p.shown, p.drawn = now, true
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\x1b[K", p.line(done, now))
		return
	}
	fmt.Fprintln(p.out, p.line(done, now))
}

// end removes the bar.
func (p *progress) end() {
	if p.drawn && p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// line is "[#####     ] 21% 4200 of 20000 documents, 2100/s, 8s left".
func (p *progress) line(done int64, now time.Time) string {
	rate := float64(done) / max(0.001, now.Sub(p.began).Seconds())
	if p.total <= 0 {
		return fmt.Sprintf("%d %s, %.0f/s", done, p.what, rate)
	}
	part := min(1, float64(done)/float64(p.total))
	full := int(part * progressBar)
	left := "?"
	if rate > 0 {
		left = time.Duration(float64(max(0, p.total-done)) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("[%s%s] %d%% %d of %d %s, %.0f/s, %s left", strings.Repeat("#", full), strings.Repeat(" ", progressBar-full), int(part*100), done, p.total, p.what, rate, left)
}

// shared is progress that several goroutines make, and the stream of messages above it.
type shared struct {
	mu   sync.Mutex
	p    *progress
	done int64
}

// share prepares the progress of work on several things at once.
func share(errs io.Writer, what string, total int64) *shared {
	return &shared{p: show(errs, what, total)}
}

func (s *shared) add(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += n
	s.p.at(s.done)
}

// say prints a line.
func (s *shared) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p.end()
	fmt.Fprintf(s.p.out, format+"\n", args...)
}

func (s *shared) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p.end()
}
