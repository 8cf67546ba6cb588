package backup

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
)

// FirstTerm is the term of a server that was never promoted.
const FirstTerm = 1

// termPrefix begins the names of the files that begin terms.
const termPrefix = "term-"

// Term is a time in which one server is the primary of an archive: from its promotion to the next one. A file of the
// archive begins it (Archive.Claim), whose content is final: which writes of the former primary count does not depend on
// when that server notices it. A term without timelines is void: no server is or was the primary in it.
type Term struct {
	Number   int64             `json:"term"`     // FirstTerm + 1 for the first promotion
	Timeline string            `json:"timeline"` // of the promoted server
	By       string            `json:"server"`   // name of the promoted server
	Begun    time.Time         `json:"begun"`
	Former   string            `json:"former"` // timeline of the former primary
	Next     uint64            `json:"next"`   // sequence number of the first write of the former primary that does not count
	Time     storage.Timestamp `json:"time"`   // timestamp of the last one that counts
}

// DeposedError is the error of a backup by a server that is the primary no more: a term has begun after its own.
type DeposedError struct{ Term Term }

func (e *DeposedError) Error() string {
	return fmt.Sprintf("this server is the primary no more: %s was promoted at %s, and took over the writes up to %s",
		e.Term.By, e.Term.Begun.Format(time.RFC3339), MomentText(e.Term.Time))
}

func termName(number int64) string { return fmt.Sprintf("%s%08d", termPrefix, number) }

// readTerms reads the files of terms with these names, the oldest first.
func readTerms(ctx context.Context, a Archive, names []string) (terms []Term, err error) {
	slices.Sort(names)
	for _, name := range names {
		data, err := readFile(ctx, a, name)
		if err != nil {
			return nil, err
		}
		var t Term
		if text, ok := cutChecksum(data); !ok || json.Unmarshal(text, &t) != nil || termName(t.Number) != name {
			return nil, fmt.Errorf("%s is damaged", a.Within(name).Location())
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// terms returns the terms of an archive, without the first, which has no file. Errors: ErrNoBackup, ErrFormat; errors of the
// archive.
func terms(ctx context.Context, a Archive) ([]Term, error) {
	f, _, err := list(ctx, a)
	if err != nil {
		return nil, err
	}
	return readTerms(ctx, a, f.terms)
}

// termNames returns the names of the files that begin terms among those of an archive.
func termNames(entries []Entry) (names []string) {
	for _, e := range entries {
		if !e.Folder && isTerm(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// deposing returns the term by which the server with a timeline is the primary no more, nil if there is none.
func (f *Folder) deposing(ctx context.Context, timeline string) (*Term, error) {
	all, err := readTerms(ctx, f.archive, f.terms)
	return deposing(all, timeline), err
}

// DeposedBy returns the term by which the server with the store in the folder dir is the primary of an archive no more, nil if it
// still is, or never was the primary of any. Errors: ErrNoBackup, ErrFormat; errors of the archive and of the file system.
func DeposedBy(ctx context.Context, a Archive, dir string) (*Term, error) {
	id, err := storedIdentity(keptFolder(dir))
	if err != nil || id == nil {
		return nil, err
	}
	f, _, err := list(ctx, a)
	if err != nil {
		return nil, err
	}
	return f.deposing(ctx, id.Timeline)
}

// deposing returns the first term after that of the server with a timeline, nil if there is none.
func deposing(terms []Term, timeline string) *Term {
	if i := slices.IndexFunc(terms, func(t Term) bool { return t.Former == timeline }); i >= 0 {
		return &terms[i]
	}
	return nil
}

// Terms are the terms of an archive, as far as they concern the server with one store.
type Terms struct {
	Newest  int64 // number; FirstTerm without promotions
	Deposed *Term // the term by which the server is the primary no more; nil = it still is, or never was
	// Other is the newest term of an archive into which the store has never been backed up: its primary is another server. nil = none
	Other *Term
}

// ReadTerms returns the terms of an archive for the server with the store in the folder dir. Errors: errors of the archive and of
// the file system.
func ReadTerms(ctx context.Context, a Archive, dir string) (t Terms, err error) {
	t.Newest = FirstTerm
	all, err := terms(ctx, a)
	if errors.Is(err, ErrNoBackup) {
		return t, nil
	}
	if err != nil || len(all) == 0 {
		return t, err
	}
	t.Newest = all[len(all)-1].Number
	id, err := storedIdentity(keptFolder(dir))
	if err != nil {
		return t, err
	}
	if id != nil {
		t.Deposed = deposing(all, id.Timeline)
		return t, nil
	}
	for i := range all {
		if all[i].Timeline != "" { // not void
			t.Other = &all[i]
		}
	}
	return t, nil
}

// KeepTerm begins void terms in an archive up to one with a number, so that promotions of followers have higher ones. Drivers of the clients
// of a restored server have seen the terms of the archive that it was restored from.
func KeepTerm(ctx context.Context, a Archive, number int64) error {
	if err := a.Prepare(ctx); err != nil {
		return err
	}
	void := Term{Number: number}
	err := void.claim(ctx, a)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// NewestTerm returns the number of the newest term of a backup folder; FirstTerm without promotions.
func (f *Folder) NewestTerm() (newest int64) {
	newest = FirstTerm
	for _, name := range f.terms {
		if n, err := strconv.ParseInt(strings.TrimPrefix(name, termPrefix), 10, 64); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

// claim begins a term. Errors: fs.ErrExist if another server has begun one of that number.
func (t *Term) claim(ctx context.Context, a Archive) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return a.Claim(ctx, termName(t.Number), withChecksum(text))
}

// newTerm returns the term by which a follower at a position becomes the primary. Errors: ErrTimeline if another one was
// promoted before.
func (f *Follower) newTerm(ctx context.Context, by string) (t Term, err error) {
	all, err := terms(ctx, f.archive)
	if err != nil {
		return t, err
	}
	at := f.store.Position()
	if deposing(all, at.Timeline) != nil {
		return t, fmt.Errorf("the folder %s: %w", f.archive.Location(), ErrTimeline)
	}
	t = Term{Number: FirstTerm + 1, Timeline: hex.EncodeToString(random()), By: by, Begun: f.now().UTC(), Former: at.Timeline, Next: at.Next, Time: at.Time}
	if n := len(all); n > 0 {
		t.Number = all[n-1].Number + 1
	}
	return t, nil
}

// ErrNotBegun: the archive has not accepted the term of a promotion, which is given up: the follower goes on.
var ErrNotBegun = errors.New("the promotion was given up, because the place of backups did not accept it; this server follows on")

// Promote makes the follower the primary of its archive. It takes the right to write from the former primary, applies what
// the archive has, records the term (Keep), and begins it there.
// After success Run ends, and the store must be opened again as one that follows no other (Options.EndFollow).
// If it is not certain whether the term has begun, because the archive does not answer, Run applies nothing until that is certain.
// Errors: ErrTimeline if another server was promoted; ErrNotBegun; errors of Keep, of the store and of the archive.
func (f *Follower) Promote(ctx context.Context, by string) error {
	select {
	case f.work <- struct{}{}:
		defer func() { <-f.work }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.Promoted() != nil {
		return nil
	}
	if f.pending != nil { // of an earlier attempt
		if err := f.settle(ctx); !errors.Is(err, ErrNotBegun) {
			return err
		}
	}
	if err := f.prepare(ctx, by); err != nil {
		return err
	}
	err := f.pending.claim(ctx, f.archive)
	if err == nil {
		f.promote()
		return nil
	}
	switch settled := f.settle(ctx); {
	case settled == nil, errors.Is(settled, ErrTimeline):
		return settled
	default:
		return errors.Join(settled, err)
	}
}

// prepare takes the right to write from the primary, applies the rest of its writes, and records the term that is to begin.
func (f *Follower) prepare(ctx context.Context, by string) error {
	if _, err := f.newTerm(ctx, by); err != nil { // before anything is changed
		return err
	}
	if err := f.lookForTimelines(ctx); err != nil {
		return err
	}
	if err := f.archive.Seize(ctx); err != nil {
		return err
	}
	for before := uint64(0); before != f.store.Position().Next; { // until a listing has no more
		before = f.store.Position().Next
		if err := f.step(ctx); err != nil {
			return err
		}
	}
	if err := f.store.Harden(ctx); err != nil { // the term begins at the position, which a crash must not move back
		return err
	}
	t, err := f.newTerm(ctx, by)
	if err == nil {
		err = f.Keep(&t)
	}
	if err == nil {
		f.pending = &t
	}
	return err
}

// KeepsLease reports whether the primary shows that it runs, by the lease of the archive.
func (f *Follower) KeepsLease() bool { return f.archive.KeepsLock() }

// Sign returns a text that changes every few seconds while a primary keeps the lease of the archive.
func (f *Follower) Sign(ctx context.Context) (string, error) { return f.archive.Sign(ctx) }

// Resume makes Run complete a promotion that was recorded before a crash, if the archive has its term, and else give it up.
// It must be called before Run.
func (f *Follower) Resume(t Term) { f.pending = &t }

// settle completes the pending promotion if its term has begun, and else gives it up. The archive is never requested a second time
// to begin the term: the former primary may have written more since. Errors: ErrTimeline if another server was promoted, ErrNotBegun;
// after other errors the promotion is still pending.
func (f *Follower) settle(ctx context.Context) error {
	all, err := terms(ctx, f.archive)
	if err != nil {
		return err
	}
	if f.pending.in(all) == nil {
		// A void term in its place makes a request fail that is still on its way.
		void := Term{Number: f.pending.Number}
		_ = void.claim(ctx, f.archive) // this fails as well in a place that cannot be written
		if all, err = terms(ctx, f.archive); err != nil {
			return err
		}
	}
	there := f.pending.in(all)
	switch at := f.store.Position(); {
	case there == nil || there.Timeline != f.pending.Timeline:
	case at.Next < there.Next || at.Timeline != there.Former:
		return fmt.Errorf("%w: a promotion at the write %d cannot be completed at the write %d", storage.ErrCorruption, there.Next, at.Next)
	default:
		f.promote()
		return nil
	}
	former := f.pending.Former
	f.pending = nil
	if err := f.Keep(nil); err != nil {
		f.log("the record of a promotion that was given up could not be removed; the next start does that", err)
	}
	if deposing(all, former) != nil {
		return fmt.Errorf("the folder %s: %w", f.archive.Location(), ErrTimeline)
	}
	return ErrNotBegun
}

// in returns the term with the same number, nil if there is none.
func (t *Term) in(all []Term) *Term {
	if i := slices.IndexFunc(all, func(x Term) bool { return x.Number == t.Number }); i >= 0 {
		return &all[i]
	}
	return nil
}

// promote ends Run: the pending term has begun.
func (f *Follower) promote() {
	f.mu.Lock()
	f.promoted = f.pending
	f.mu.Unlock()
}

// Promoted returns the term that Promote has begun, nil if there is none.
func (f *Follower) Promoted() *Term {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.promoted
}

// BeginTimeline makes the store in the folder dir, which no process has open, one whose backups begin the timeline of a term.
func BeginTimeline(dir, timeline string) error {
	kept := keptFolder(dir)
	id, err := storedIdentity(kept)
	if err != nil || id != nil { // done before; perhaps the folder was copied and has begun another one since
		return err
	}
	if err := makeKept(dir); err != nil {
		return err
	}
	id = identityIn(kept)
	id.Timeline = timeline
	return id.save()
}

// isTerm reports whether a file of an archive begins a term.
func isTerm(name string) bool {
	return strings.HasPrefix(name, termPrefix) && !strings.HasSuffix(name, partSuffix)
}
