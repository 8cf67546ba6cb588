package lint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/agg"
)

// Bounds of lengths, in bytes.
const (
	wholeMax = 16 << 20 // bytes of a file that is one document or array over several lines
	lineMax  = 48 << 20 // of a line
)

// File checks a file with documents or pipelines, one a line, alone or in an array, or with the log of a server.
// Errors: errors of the file and the context; a document that cannot be read.
func (l *Linter) File(ctx context.Context, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, wholeMax+1))
	if err != nil {
		return err
	}
	if done, err := l.whole(ctx, name, head); done || err != nil {
		return err
	}
	return l.lines(ctx, name, io.MultiReader(bytes.NewReader(head), file))
}

// whole checks a file of at most wholeMax bytes that is a single document, array of documents or pipeline, over any
// number of lines. For other files it does nothing, and done is false. Errors: an element of an array is not a
// document; errors of the checks.
func (l *Linter) whole(ctx context.Context, name string, text []byte) (done bool, err error) {
	trimmed := bytes.TrimSpace(text)
	if len(text) > wholeMax || len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return false, nil
	}
	v, err := ejson.ParseValue(string(trimmed))
	if err != nil {
		return false, nil // perhaps its lines can be read
	}
	at := location{in: name, line: 1 + bytes.Count(text[:bytes.IndexByte(text, trimmed[0])], []byte("\n"))}
	if doc, ok := v.Doc(); ok {
		return true, l.document(ctx, at, doc)
	}
	list, _ := v.Array()
	if isPipeline(list) {
		return true, l.pipeline(ctx, at, v)
	}
	n := 0
	for v := range list.Values() {
		n++
		doc, ok := v.Doc()
		if !ok {
			return true, fmt.Errorf("%s: element %d of the array is not a document", name, n)
		}
		if err := l.document(ctx, location{in: fmt.Sprintf("%s[%d]", name, n-1)}, doc); err != nil {
			return true, err
		}
	}
	return true, nil
}

// isPipeline reports whether an array consists of stages.
func isPipeline(list bson.Raw) bool {
	for v := range list.Values() {
		doc, _ := v.Doc()
		if first, ok := doc.First(); !ok || !bytes.HasPrefix(first.Name, []byte("$")) || isUpdate(string(first.Name)) && agg.FindStage(string(first.Name)) == nil {
			return false
		}
	}
	return !list.IsEmpty()
}

// lines checks a file line by line: each line is a document or a pipeline. Empty lines, comments (// or #) and, in a
// log, lines that do not concern commands are skipped.
func (l *Linter) lines(ctx context.Context, name string, text io.Reader) error {
	in := bufio.NewScanner(text)
	in.Buffer(make([]byte, 64<<10), lineMax)
	log := false
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") {
			continue
		}
		at := location{in: name, line: n}
		_, attr, isConsole := strings.Cut(line, " attr={")
		if isConsole && !strings.HasPrefix(line, "{") {
			log, line = true, "{"+attr
		} else if log && !strings.HasPrefix(line, "{") {
			continue
		}
		var err error
		if strings.HasPrefix(line, "[") {
			err = l.stages(ctx, at, line)
		} else {
			err = l.line(ctx, at, line, &log)
		}
		var bad *unreadableError
		switch {
		case errors.As(err, &bad) && log:
			l.note(at, "%v", err)
		case errors.As(err, &bad):
			return fmt.Errorf("%s: %w", at, err)
		case err != nil:
			return err
		}
	}
	return in.Err()
}

// unreadableError is a line that is not extended JSON.
type unreadableError struct{ error }

// stages checks a line that is an array of pipeline stages.
// Errors: unreadableError; errors of pipeline.
func (l *Linter) stages(ctx context.Context, at location, line string) error {
	v, err := ejson.ParseValue(line)
	if err != nil {
		return &unreadableError{err}
	}
	return l.pipeline(ctx, at, v)
}

// line checks a line that is a document. At the first line of a server's log, it sets *log.
// Errors: unreadableError; errors of document.
func (l *Linter) line(ctx context.Context, at location, line string, log *bool) error {
	doc, err := ejson.Parse(line)
	if err != nil {
		return &unreadableError{err}
	}
	if isLogged(doc) {
		*log = true
		attr, ok := doc.Get("attr").Doc()
		if !ok || attr.Get("command").IsMissing() {
			return nil
		}
		doc = attr
	} else if *log && doc.Get("command").IsMissing() {
		return nil
	}
	return l.document(ctx, at, doc)
}

// isLogged reports whether a document is a line of the structured log of mongod or of Cantle.
// Manual: reference/log-messages.
func isLogged(doc bson.Raw) bool {
	return !doc.Get("t").IsMissing() && !doc.Get("msg").IsMissing() || !doc.Get("level").IsMissing() && !doc.Get("message").IsMissing()
}
