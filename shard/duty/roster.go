package duty

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Owners holds the duties of this server. A nil *Owners belongs to a server without peers: it owns all duties.
// Safe for concurrent use.
type Owners struct {
	store storage.Shared

	mu        sync.Mutex
	leaseTerm uint64                // counts the lease terms of this server
	owned     map[string]*ownership // the duties that this server owns
	gone      map[string]*ownership // duties whose rows still name this server: not given back yet, or lost with the lease
}

// ownership is a duty of this server: the lease term and the epoch in which it was taken.
type ownership struct {
	leaseTerm, epoch uint64
}

// New returns the Owners of a store; nil if the store is not shared.
func New(s storage.Store) *Owners {
	shared := storage.AsShared(s)
	if shared == nil {
		return nil
	}
	return &Owners{store: shared, leaseTerm: 1, owned: map[string]*ownership{}, gone: map[string]*ownership{}}
}

// ErrLost is the error of a duty that this server does not own any more, because its lease expired. It is an
// ErrUnavailable, so that clients whose commands need the duty retry.
var ErrLost = fmt.Errorf("%w: the lease of this server was over, and another one may have taken over the work", storage.ErrUnavailable)

// LoseAll removes all duties from this server, because its lease expired. It must be called before any read or
// write under the next lease.
func (r *Owners) LoseAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaseTerm++
	for name, h := range r.owned {
		r.gone[name] = h // its row still names this server, which is alive
		delete(r.owned, name)
	}
}

// rowPrefix is the prefix of the names of the rows.
const rowPrefix = "duty."

func rowKey(name string) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaJob, []byte(rowPrefix+name))
}

// Row is the stored owner of a duty.
type Row struct {
	Name  string
	Owner storage.MemberID
	Epoch uint64 // how often the duty was taken
	Note  []byte
}

func (r Row) encode() []byte {
	b := binary.BigEndian.AppendUint64(bytes.Clone(r.Owner[:]), r.Epoch)
	return append(b, r.Note...)
}

func decodeRow(name string, v []byte) (r Row, err error) {
	if len(v) < len(r.Owner)+8 {
		return r, fmt.Errorf("the duty %s: %w", name, storage.ErrCorruption)
	}
	r.Name = name
	copy(r.Owner[:], v)
	r.Epoch, r.Note = binary.BigEndian.Uint64(v[len(r.Owner):]), bytes.Clone(v[len(r.Owner)+8:])
	return r, nil
}

// row reads the row of a duty; if there is none, its epoch is 0.
func row(ctx context.Context, r storage.Reader, name string) (Row, error) {
	v, err := r.Get(ctx, rowKey(name), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return Row{Name: name}, nil
	}
	if err != nil {
		return Row{}, err
	}
	return decodeRow(name, v)
}

// Owns reports whether this server owns a duty.
func (r *Owners) Owns(name string) bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owned[name] != nil
}

// TryAcquire reports whether this server owns a duty from now on: it did before, or the duty had no living owner.
// Calls for the same duty must not be concurrent.
// Errors: those of the store.
func (r *Owners) TryAcquire(ctx context.Context, name string, note []byte) (bool, error) {
	if r == nil || r.Owns(name) {
		return true, nil
	}
	r.mu.Lock()
	stint := r.leaseTerm
	r.mu.Unlock()
	s, err := r.store.Snapshot(ctx, 0)
	if err != nil {
		return false, err
	}
	was, err := row(ctx, s, name)
	s.Close()
	if err != nil {
		return false, err
	}
	if was.Epoch > 0 && was.Owner != r.store.Member() { // an owner without a lease now has lost the duty that the row gave it
		if alive, err := r.alive(ctx, was.Owner); alive || err != nil {
			return false, err
		}
	}
	t, err := r.store.Begin(ctx, storage.TxnOptions{Essential: true})
	if err != nil {
		return false, err
	}
	defer t.Close()
	now, err := row(ctx, t, name)
	if err != nil || now.Epoch != was.Epoch || now.Owner != was.Owner {
		return false, err
	}
	next := Row{Owner: r.store.Member(), Epoch: was.Epoch + 1, Note: note}
	if err := t.Set(rowKey(name), next.encode()); err != nil {
		return false, err
	}
	if _, err := t.Commit(ctx, storage.Synced); err != nil {
		if errors.Is(err, storage.ErrConflict) {
			return false, nil // a peer was faster
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.gone[name] = &ownership{stint, next.Epoch} // the commit may have succeeded
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaseTerm != stint {
		r.gone[name] = &ownership{stint, next.Epoch}
		return false, nil
	}
	r.owned[name] = &ownership{stint, next.Epoch}
	delete(r.gone, name)
	return true, nil
}

// alive reports whether a member has a valid lease.
func (r *Owners) alive(ctx context.Context, id storage.MemberID) (bool, error) {
	_, list, err := r.store.Members(ctx)
	for _, m := range list {
		if m.ID == id {
			return true, nil
		}
	}
	return false, err
}

// Alive returns the members with a valid lease. Transactions of all other servers have been committed by the
// time of the call, or never will be.
func (r *Owners) Alive(ctx context.Context) (map[storage.MemberID]bool, error) {
	_, list, err := r.store.Members(ctx)
	out := map[storage.MemberID]bool{}
	for _, m := range list {
		out[m.ID] = true
	}
	return out, err
}

// Member returns the identifier of this server among the members of the store.
func (r *Owners) Member() storage.MemberID { return r.store.Member() }

// Guard fails if this server has lost a duty. Transactions of the duty call it after they have begun: if the
// duty is lost later, the store refuses the commit.
// Errors: ErrLost.
func (r *Owners) Guard(name string) error {
	if r.Owns(name) {
		return nil
	}
	return ErrLost
}

// Release gives a duty back. If the store does not answer now, a later ReleasePending gives the duty back; until then
// peers cannot take it.
func (r *Owners) Release(ctx context.Context, name string) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	h := r.owned[name]
	delete(r.owned, name)
	if h != nil {
		r.gone[name] = h
	}
	r.mu.Unlock()
	if h == nil {
		return nil
	}
	return r.tryRelease(ctx, name, h)
}

func (r *Owners) tryRelease(ctx context.Context, name string, h *ownership) error {
	err := r.updateRow(ctx, name, h, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if (err == nil || errors.Is(err, ErrLost)) && r.gone[name] == h {
		delete(r.gone, name)
	}
	return err
}

// ReleasePending gives back the duties that could not be given back before.
func (r *Owners) ReleasePending(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	names := make([]string, 0, len(r.gone))
	for name := range r.gone {
		names = append(names, name)
	}
	r.mu.Unlock()
	var errs []error
	for _, name := range names {
		r.mu.Lock()
		h := r.gone[name]
		r.mu.Unlock()
		if h != nil {
			errs = append(errs, r.tryRelease(ctx, name, h))
		}
	}
	return errors.Join(errs...)
}

// ReleaseAll gives all duties back, before this server stops.
func (r *Owners) ReleaseAll(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	for name, h := range r.owned {
		r.gone[name] = h
		delete(r.owned, name)
	}
	r.mu.Unlock()
	return r.ReleasePending(ctx)
}

// updateRow changes the note of a duty of this server, or removes the row if note is nil.
// Errors: ErrLost if a peer owns the duty; those of the store.
func (r *Owners) updateRow(ctx context.Context, name string, h *ownership, note func(was []byte) []byte) error {
	return storage.RetryConflicts(ctx, func() error {
		t, err := r.store.Begin(ctx, storage.TxnOptions{Essential: true})
		if err != nil {
			return err
		}
		defer t.Close()
		now, err := row(ctx, t, name)
		switch {
		case err != nil:
			return err
		case now.Owner != r.store.Member() || now.Epoch != h.epoch:
			return ErrLost
		case note == nil:
			err = t.Delete(rowKey(name))
		default:
			next := note(now.Note)
			if bytes.Equal(next, now.Note) {
				return nil
			}
			now.Note = next
			err = t.Set(rowKey(name), now.encode())
		}
		if err == nil {
			_, err = t.Commit(ctx, storage.Synced)
		}
		return err
	})
}

// UpdateNote changes the note of a duty that this server owns. Errors: ErrLost; those of the store.
func (r *Owners) UpdateNote(ctx context.Context, name string, note func(was []byte) []byte) error {
	r.mu.Lock()
	h := r.owned[name]
	r.mu.Unlock()
	if h == nil {
		return ErrLost
	}
	return r.updateRow(ctx, name, h, note)
}

// Request changes the note of a duty of any owner; found is false if the duty has no row.
func (r *Owners) Request(ctx context.Context, name string, note func(was []byte) []byte) (found bool, err error) {
	err = storage.RetryConflicts(ctx, func() error {
		t, err := r.store.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			return err
		}
		defer t.Close()
		now, err := row(ctx, t, name)
		if found = now.Epoch > 0; err != nil || !found {
			return err
		}
		now.Note = note(now.Note)
		if err := t.Set(rowKey(name), now.encode()); err != nil {
			return err
		}
		_, err = t.Commit(ctx, storage.Synced)
		return err
	})
	return found, err
}

// List reads the rows of the duties whose names begin with a prefix.
func (r *Owners) List(ctx context.Context, prefix string) (list []Row, err error) {
	s, err := r.store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	it, err := s.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaJob, []byte(rowPrefix+prefix)), storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Next() {
		_, name, _ := keyspace.SplitMeta(it.Key())
		one, err := decodeRow(string(name[len(rowPrefix):]), it.Value())
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, it.Err()
}
