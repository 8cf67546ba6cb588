// Package progress shows the progress of long work.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/top"
)

// Bar shows the progress, the rate and the remaining time of long work: on a terminal as a bar that is redrawn, in a
// file as a line every five seconds. For work of less than a second it shows nothing.
type Bar struct {
	out      io.Writer
	what     string // "documents"
	total    int64  // 0 when unknown
	terminal bool
	now      func() time.Time

	began, shown time.Time
	drawn        bool
}

const (
	after = time.Second // of work before anything is shown
	width = 24
)

// Show starts a Bar for work on total things that are named what, such as documents; total is 0 if the number is
// unknown.
func Show(out io.Writer, what string, total int64) *Bar {
	b := &Bar{out: out, what: what, total: total, terminal: top.IsTerminal(columns.Raw(out)), now: time.Now}
	b.begin()
	return b
}

// What returns the name of the things that are counted, such as documents.
func (b *Bar) What() string { return b.what }

// Backdate records that the work had begun that long before Show.
func (b *Bar) Backdate(by time.Duration) { b.began = b.began.Add(-by) }

// begin starts the clock.
func (b *Bar) begin() { b.began = b.now(); b.shown = b.began }

// At records how much is done.
func (b *Bar) At(done int64) {
	now := b.now()
	every := 200 * time.Millisecond
	if !b.terminal {
		every = 5 * time.Second
	}
	if now.Sub(b.began) < after || now.Sub(b.shown) < every {
		return
	}
	b.shown, b.drawn = now, true
	if b.terminal {
		fmt.Fprintf(columns.Raw(b.out), "\r%s\x1b[K", columns.Plain(b.line(done, now)))
		return
	}
	fmt.Fprintln(b.out, b.line(done, now))
}

// Logf prints a line above the bar.
func (b *Bar) Logf(format string, args ...any) {
	b.End()
	fmt.Fprintf(b.out, format+"\n", args...)
}

// End removes the bar.
func (b *Bar) End() {
	if b.drawn && b.terminal {
		fmt.Fprint(columns.Raw(b.out), "\r\x1b[K")
	}
}

// line returns the text of the bar: "[##### ] 21% 4200 of 20000 documents, 2100/s, 8s left".
func (b *Bar) line(done int64, now time.Time) string {
	rate := float64(done) / max(0.001, now.Sub(b.began).Seconds())
	if b.total <= 0 {
		return fmt.Sprintf("%d %s, %.0f/s", done, b.what, rate)
	}
	part := min(1, float64(done)/float64(b.total))
	full := int(part * width)
	left := "?"
	if rate > 0 {
		left = time.Duration(float64(max(0, b.total-done)) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("[%s%s] %d%% %d of %d %s, %.0f/s, %s left", strings.Repeat("#", full), strings.Repeat(" ", width-full), int(part*100), done, b.total, b.what, rate, left)
}

// Shared is a Bar for the work of several goroutines, which can also print messages above the bar.
type Shared struct {
	mu   sync.Mutex
	bar  *Bar
	done int64
}

// Share is like Show, for work of several goroutines.
func Share(out io.Writer, what string, total int64) *Shared {
	return &Shared{bar: Show(out, what, total)}
}

// Add records n more things as done.
func (s *Shared) Add(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += n
	s.bar.At(s.done)
}

// Logf prints a line.
func (s *Shared) Logf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar.Logf(format, args...)
}

// End removes the bar.
func (s *Shared) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar.End()
}
