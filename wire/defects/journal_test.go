package defects

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// deep panics below n calls.
func deep(n int, what any) {
	if n == 0 {
		panic(what)
	}
	deep(n-1, what)
}

// TestJournal checks that defects are counted, that of each kind the first and the tenth are logged, that the stack of
// the first is in a file or else in the log, and that the numbers of files and kinds and the size of files are bounded.
func TestJournal(t *testing.T) {
	var log bytes.Buffer
	j := &Journal{Log: zerolog.New(&log), Folder: filepath.Join(t.TempDir(), "defects"), Version: "1.2.3"}
	for i := range 25 {
		if j.Guard("command find", func() { deep(3, fmt.Sprint("a bug ", i)) }) {
			t.Fatal("well")
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 { // the first and the tenth
		t.Errorf("%d lines:\n%s", lines, log.String())
	}
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(j.Folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := files(); len(list) != 1 || !strings.Contains(log.String(), fmt.Sprintf("%q", list[0])) {
		t.Fatalf("%v is not in\n%s", list, log.String())
	}
	text, err := os.ReadFile(files()[0])
	for _, want := range []string{"cantle 1.2.3", "in: command find", "a bug 0", "defects.deep(", "journal_test.go:"} {
		if err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("without %q: %v\n%s", want, err, text)
		}
	}
	if strings.Contains(log.String(), "journal_test.go") {
		t.Errorf("the log has the stack, which a file has:\n%s", log.String())
	}
	log.Reset()
	for i := range 3 {
		j.Error("command insert", fmt.Errorf("nobody has foreseen %d", i))
	}
	if p, e := j.Counts(); p != 25 || e != 3 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), Mark) || len(files()) != 2 {
		t.Errorf("%d panics, %d errors, %d files\n%s", p, e, len(files()), log.String())
	}
	for i := range 2 * filesMax {
		j.Error("command insert", errors.New(strings.Repeat("x", i+1)+strings.Repeat("y", 2*fileBytesMax)))
	}
	if n := len(files()); n != filesMax {
		t.Errorf("%d files", n)
	}
	for _, path := range files() {
		if info, err := os.Stat(path); err != nil || info.Size() > fileBytesMax {
			t.Error(info, err)
		}
	}
	if j.Error("a job", mongoerr.Recovered("late")); len(files()) != filesMax {
		t.Errorf("%d files", len(files()))
	}
	if p, _ := j.Counts(); p != 26 {
		t.Errorf("%d panics", p)
	}
	for i := range 2 * kindsMax {
		j.Error("command insert", errors.New(strings.Repeat("z", i+1)))
	}
	if len(j.kinds) != kindsMax {
		t.Errorf("%d kinds", len(j.kinds))
	}
	log.Reset()
	folder := filepath.Join(t.TempDir(), "defects")
	for range 2 { // the second time a folder is in the way of the file
		log.Reset()
		j = &Journal{Log: zerolog.New(&log), Folder: folder}
		j.Guard("the job delete", func() { deep(1, "a bug") })
		list, err := filepath.Glob(filepath.Join(folder, "*.txt"))
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		_ = os.Remove(list[0])
		if err := os.MkdirAll(filepath.Join(list[0], "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), "journal_test.go:") || !strings.Contains(log.String(), "notWritten") {
		t.Errorf("the log lacks the stack that no file has:\n%s", log.String())
	}
	log.Reset()
	j = &Journal{Log: zerolog.New(&log)} // without a folder
	j.Guard("the job delete", func() { deep(1, "a bug") })
	if !strings.Contains(log.String(), "journal_test.go:") {
		t.Errorf("the log lacks the stack:\n%s", log.String())
	}
}
