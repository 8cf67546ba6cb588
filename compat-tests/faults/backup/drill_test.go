package backup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// momentsPerLife is the number of random moments of one life that the drill restores.
const momentsPerLife = 10

func TestDrill(t *testing.T) {
	testenv.SkipWithURI(t)
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	due := programme.Amount(t, "backup")
	seed, ok := testenv.Seed(t)
	if !ok {
		seed = uint64(time.Now().UnixNano())
	}
	moments, beside, lives, changes, reshapes := 0, 0, 0, 0, int64(0)
	programme.RecordAtEnd(t, "backup", seed, func() (int, string) {
		return moments, fmt.Sprintf("%d brought back beside a living server, of %d lives with %d kills, %d changes and %d splits and new shard keys; %s the model", beside, lives, lives*(kills+1), changes, reshapes, programme.None(t, "unlike"))
	})
	for moments < due {
		t.Logf("seed %d", seed)
		l := newLife(t, bin, seed)
		lives, reshapes = lives+1, reshapes+l.reshapes.Load()
		for _, w := range l.writers {
			changes += len(w.changes)
		}
		if out, err := exec.Command(bin, "backup", "verify", l.to).CombinedOutput(); err != nil && !contains(string(out), "unfinished") {
			t.Errorf("seed %d: %v\n%s", seed, err, out)
		}
		for range min(momentsPerLife, due-moments) {
			m := l.drawMoment()
			if l.rnd.IntN(10) < 3 {
				l.besides(m)
				beside++
			} else {
				l.whole(m)
			}
			if t.Failed() {
				t.Fatalf("seed %d, moment %v", seed, m)
			}
			moments++
		}
		seed++
	}
}

// whole restores all data of the life at a moment into a new folder, starts a server on it, and compares all
// databases.
func (l *life) whole(m moment) {
	l.t.Helper()
	dir := filepath.Join(l.t.TempDir(), "restored")
	if out, err := exec.Command(l.bin, "restore", "--from", l.to, "--at", m.String(), "--data", dir).CombinedOutput(); err != nil {
		l.t.Errorf("restore: %v\n%s", err, out)
		return
	}
	if l.rnd.IntN(3) == 0 {
		if out, err := exec.Command(l.bin, "check", "--data", dir).CombinedOutput(); err != nil {
			l.t.Errorf("check: %v\n%s", err, out)
		}
	}
	if why := l.wrong(l.bin, dir, m); why != "" {
		l.t.Error(why)
	}
	if err := os.RemoveAll(dir); err != nil {
		l.t.Error(err)
	}
}

// wrong starts a server on the folder dir and returns how the data of one writer differ from every state possible at a
// moment, or the error of starting or reading the server; "" if all data are right.
func (l *life) wrong(bin, dir string, m moment) string {
	s, err := harness.LaunchBinary(bin, harness.Options{Data: dir, Args: []string{"--cache-size", "16MB"}})
	if err != nil {
		return err.Error()
	}
	defer s.Kill()
	client, err := harness.Connect(s.URI)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer client.Disconnect(ctx)
	for _, w := range l.writers {
		have, _, err := read(ctx, client.Database(w.name))
		if err != nil {
			return err.Error()
		}
		if why := w.differs(m, have); why != "" {
			return why
		}
	}
	return ""
}

// differs returns the differences between a restored database and each state that the writer's database may have
// had at a moment, "" if it equals one of these states.
func (w *writer) differs(m moment, have database) string {
	var why []string
	for _, want := range w.at(m) {
		d := have.differs(want)
		if d == "" {
			return ""
		}
		why = append(why, d)
	}
	return fmt.Sprintf("%s at %v: %s", w.name, m, strings.Join(why, "; or "))
}

// besides restores the database of each writer at a moment, under another name, into a running new server.
func (l *life) besides(m moment) {
	l.t.Helper()
	s, err := harness.LaunchBinary(l.bin, harness.Options{})
	if err != nil {
		l.t.Error(err)
		return
	}
	defer s.Kill()
	client, err := harness.Connect(s.URI)
	if err != nil {
		l.t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer client.Disconnect(ctx)
	for _, w := range l.writers {
		out, err := exec.Command(l.bin, "restore", "--from", l.to, "--at", m.String(), "--ns", w.name, "--rename", w.name+"="+w.name+"_then", s.URI).CombinedOutput()
		if err != nil && !contains(string(out), "no selected collection existed at ") {
			l.t.Errorf("restore --ns: %v\n%s", err, out)
			return
		}
		have, _, err := read(ctx, client.Database(w.name+"_then"))
		if err != nil {
			l.t.Error(err)
			return
		}
		if why := w.differs(m, have); why != "" {
			l.t.Error(why)
		}
	}
}
