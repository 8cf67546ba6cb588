package top

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/cantledb/cantle/cmd/cantle/columns"

	"golang.org/x/term"
)

// onceWidth is the width, in characters, of a picture that is printed once, not drawn on a terminal.
const onceWidth = 120

// Show shows the load of a server: on a terminal until a key or ctx ends it; elsewhere, or with --once or --json,
// once.
// Errors: wrong options; errors of the first request.
func Show(ctx context.Context, c *Client, o Options, in io.Reader, out io.Writer) error {
	if o.Once || o.JSON || !IsTerminal(in) || !IsTerminal(out) {
		return once(ctx, c, o, columns.PlainWriter(out))
	}
	return live(ctx, c, o, in.(*os.File), out.(*os.File))
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(s any) bool {
	f, ok := s.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// live updates the screen until a key or ctx ends it.
func live(ctx context.Context, c *Client, o Options, in, out *os.File) error {
	v, err := o.view()
	if err != nil {
		return err
	}
	p, err := c.fetchPicture(ctx, v)
	if err != nil {
		return err
	}
	v.setCollections(p)
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal cannot read single keys (%w): use --once", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }()
	// The terminal's alternate screen, without a cursor, which is left again at the end.
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l")
	defer fmt.Fprint(out, "\x1b[?25h\x1b[?1049l")
	keys := make(chan string)
	go readKeys(ctx, in, keys)
	l := loop{client: c, view: v, out: out, last: p}
	l.draw()
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for !v.ended {
		select {
		case <-ctx.Done():
			return nil
		case key, ok := <-keys:
			if !ok {
				return nil
			}
			asked := *v
			v.press(key)
			if v.ns != asked.ns || v.at != asked.at || v.span != asked.span {
				l.refresh(ctx)
			}
			l.draw()
		case <-tick.C:
			if !v.resting {
				l.refresh(ctx)
			}
			l.draw()
		}
	}
	return nil
}

// loop holds the state of the screen.
type loop struct {
	client *Client
	view   *view
	out    *os.File
	last   *picture // the last answer
	fault  error    // the error since then, nil if there is none
}

// refresh requests a new picture from the console. If the server does not answer, the error is shown, and the next
// refresh retries.
func (l *loop) refresh(ctx context.Context) {
	p, err := l.client.fetchPicture(ctx, l.view)
	if l.fault = err; err == nil {
		l.last = p
		l.view.setCollections(p)
	}
}

// draw repaints the screen line by line, without clearing it first, so that it does not flicker.
func (l *loop) draw() {
	width, height, err := term.GetSize(int(l.out.Fd()))
	if err != nil || width < 1 {
		width, height = 80, 24
	}
	s := screen{width: width, height: height, colour: os.Getenv("NO_COLOR") == ""}
	lines := s.render(l.last, l.view)
	if l.fault != nil {
		lines[0] = s.style(alarm, s.cut(l.fault.Error(), width))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(shown(line) + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	_, _ = io.WriteString(l.out, b.String())
}

// styles matches the only escape sequences that a line of the screen may contain: those of colours.
var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// shown returns a line for the terminal: escape sequences that come from names in it are escaped, those of colours
// stay.
func shown(line string) string {
	var b strings.Builder
	at := 0
	for _, m := range styles.FindAllStringIndex(line, -1) {
		b.WriteString(columns.Plain(line[at:m[0]]) + line[m[0]:m[1]])
		at = m[1]
	}
	return b.String() + columns.Plain(line[at:])
}

// readKeys reads the terminal and sends the name of each pressed key; an arrow is one key.
func readKeys(ctx context.Context, in io.Reader, keys chan<- string) {
	defer close(keys)
	r := bufio.NewReader(in)
	for {
		key, _, err := r.ReadRune()
		if err != nil {
			return
		}
		text := string(key)
		if key == '\x1b' && r.Buffered() >= 2 {
			rest := make([]byte, 2)
			if _, err := io.ReadFull(r, rest); err != nil {
				return
			}
			text += string(rest)
		}
		select {
		case keys <- text:
		case <-ctx.Done():
			return
		}
	}
}

// once prints one picture.
func once(ctx context.Context, c *Client, o Options, out io.Writer) error {
	v, err := o.view()
	if err != nil {
		return err
	}
	if o.JSON {
		all, err := c.raw(ctx, v)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(all)
	}
	p, err := c.fetchPicture(ctx, v)
	if err != nil {
		return err
	}
	s := screen{width: onceWidth}
	for _, line := range s.render(p, v) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
