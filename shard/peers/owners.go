package peers

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

// Owners holds the jobs of this server. A server that has the store exclusively owns all jobs, without rows.
// Safe for concurrent use.
type Owners struct {
	store     storage.Store
	members   storage.Membership
	exclusive bool

	mu        sync.Mutex
	leaseTerm uint64                // counts the lease terms of this server
	owned     map[string]*ownership // by name; the jobs that this server owns
	toRelease map[string]*ownership // jobs whose rows still name this server: not given back yet, or lost with the lease
}

// ownership is the epoch of a job's row with which this server took the job.
type ownership struct{ epoch uint64 }

// NewOwners returns the Owners of a store.
func NewOwners(s storage.Store) *Owners {
	return &Owners{store: s, members: storage.MembershipOf(s), exclusive: storage.Exclusive(s), leaseTerm: 1, owned: map[string]*ownership{}, toRelease: map[string]*ownership{}}
}

// ErrOwnershipLost is the error of a job that this server does not own, usually because its lease expired. It is an
// ErrUnavailable, so that clients whose commands need the job retry.
var ErrOwnershipLost = fmt.Errorf("%w: the lease of this server was over, and another one may have taken over the work", storage.ErrUnavailable)

// LoseAll removes all jobs from this server, because its lease expired. It must be called before any read or
// write under the next lease.
func (o *Owners) LoseAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaseTerm++
	for name, h := range o.owned {
		o.toRelease[name] = h // its row still names this server, which is alive
		delete(o.owned, name)
	}
}

// jobPrefix is the prefix of the names of the rows.
const jobPrefix = "duty."

func jobKey(name string) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaJob, []byte(jobPrefix+name))
}

// Job holds the stored owner of a background job.
type Job struct {
	Name  string
	Owner storage.MemberID
	Epoch uint64 // how often the job was taken
	Note  []byte
}

func (j Job) encode() []byte {
	b := binary.BigEndian.AppendUint64(bytes.Clone(j.Owner[:]), j.Epoch)
	return append(b, j.Note...)
}

func decodeJob(name string, v []byte) (j Job, err error) {
	if len(v) < len(j.Owner)+8 {
		return j, fmt.Errorf("the duty %s: %w", name, storage.ErrCorruption)
	}
	j.Name = name
	copy(j.Owner[:], v)
	j.Epoch, j.Note = binary.BigEndian.Uint64(v[len(j.Owner):]), bytes.Clone(v[len(j.Owner)+8:])
	return j, nil
}

// readJob reads the row of a job; if there is none, its epoch is 0.
func readJob(ctx context.Context, r storage.Reader, name string) (Job, error) {
	v, err := r.Get(ctx, jobKey(name), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return Job{Name: name}, nil
	}
	if err != nil {
		return Job{}, err
	}
	return decodeJob(name, v)
}

// Owns reports whether this server owns a job.
func (o *Owners) Owns(name string) bool {
	if o.exclusive {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.owned[name] != nil
}

// TryAcquire makes this server the owner of a job, unless a living peer is, and reports whether it owns the job now. The
// job's row gets note, bytes of the caller, unless this server owned the job already. If a peer was
// faster, or the lease expired meanwhile, the result is false without an error. Calls for the same job must not be
// concurrent. Errors: errors of the store.
func (o *Owners) TryAcquire(ctx context.Context, name string, note []byte) (bool, error) {
	if o.Owns(name) {
		return true, nil
	}
	o.mu.Lock()
	term := o.leaseTerm
	o.mu.Unlock()
	s, err := o.store.Snapshot(ctx, 0)
	if err != nil {
		return false, err
	}
	was, err := readJob(ctx, s, name)
	s.Close()
	if err != nil {
		return false, err
	}
	if was.Epoch > 0 && was.Owner != o.members.Member() { // an owner that has no lease now has lost the job, even if it rejoins
		if alive, err := o.alive(ctx, was.Owner); alive || err != nil {
			return false, err
		}
	}
	t, err := o.store.Begin(ctx, storage.TxnOptions{Essential: true})
	if err != nil {
		return false, err
	}
	defer t.Close()
	now, err := readJob(ctx, t, name)
	if err != nil || now.Epoch != was.Epoch || now.Owner != was.Owner {
		return false, err
	}
	next := Job{Owner: o.members.Member(), Epoch: was.Epoch + 1, Note: note}
	if err := t.Set(jobKey(name), next.encode()); err != nil {
		return false, err
	}
	if _, err := t.Commit(ctx, storage.Synced); err != nil {
		if errors.Is(err, storage.ErrConflict) {
			return false, nil // a peer was faster
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.toRelease[name] = &ownership{next.Epoch} // the commit may have succeeded
		return false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leaseTerm != term {
		o.toRelease[name] = &ownership{next.Epoch}
		return false, nil
	}
	o.owned[name] = &ownership{next.Epoch}
	delete(o.toRelease, name)
	return true, nil
}

// alive reports whether a member has a valid lease.
func (o *Owners) alive(ctx context.Context, id storage.MemberID) (bool, error) {
	_, list, err := o.members.Members(ctx)
	for _, m := range list {
		if m.ID == id {
			return true, nil
		}
	}
	return false, err
}

// Alive returns the members with a valid lease. Transactions of all other servers have been committed by the
// time of the call, or never will be.
func (o *Owners) Alive(ctx context.Context) (map[storage.MemberID]bool, error) {
	_, list, err := o.members.Members(ctx)
	out := map[storage.MemberID]bool{}
	for _, m := range list {
		out[m.ID] = true
	}
	return out, err
}

// Member returns the identifier of this server among the members of the store.
func (o *Owners) Member() storage.MemberID { return o.members.Member() }

// Guard fails if this server does not own a job. Transactions of the job call it after they have begun: if the job is
// lost later, the store refuses the commit. Errors: ErrOwnershipLost.
func (o *Owners) Guard(name string) error {
	if o.Owns(name) {
		return nil
	}
	return ErrOwnershipLost
}

// Release gives a job back. If the store does not answer now, a later ReleasePending gives the job back; until then
// peers cannot take it while this server has its lease.
func (o *Owners) Release(ctx context.Context, name string) error {
	o.mu.Lock()
	h := o.owned[name]
	delete(o.owned, name)
	if h != nil {
		o.toRelease[name] = h
	}
	o.mu.Unlock()
	if h == nil {
		return nil
	}
	return o.tryRelease(ctx, name, h)
}

func (o *Owners) tryRelease(ctx context.Context, name string, h *ownership) error {
	err := o.updateRow(ctx, name, h, nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	if (err == nil || errors.Is(err, ErrOwnershipLost)) && o.toRelease[name] == h {
		delete(o.toRelease, name)
	}
	return err
}

// ReleasePending gives back the jobs that could not be given back before.
func (o *Owners) ReleasePending(ctx context.Context) error {
	o.mu.Lock()
	names := make([]string, 0, len(o.toRelease))
	for name := range o.toRelease {
		names = append(names, name)
	}
	o.mu.Unlock()
	var errs []error
	for _, name := range names {
		o.mu.Lock()
		h := o.toRelease[name]
		o.mu.Unlock()
		if h != nil {
			errs = append(errs, o.tryRelease(ctx, name, h))
		}
	}
	return errors.Join(errs...)
}

// ReleaseAll gives all jobs back, before this server stops.
func (o *Owners) ReleaseAll(ctx context.Context) error {
	o.mu.Lock()
	for name, h := range o.owned {
		o.toRelease[name] = h
		delete(o.owned, name)
	}
	o.mu.Unlock()
	return o.ReleasePending(ctx)
}

// updateRow changes the note of a job of this server: note gets the present note and returns the new one. If note is
// nil, updateRow removes the row of the job. Errors: ErrOwnershipLost if the row does not name this server with the
// epoch of h; errors of the store.
func (o *Owners) updateRow(ctx context.Context, name string, h *ownership, note func(was []byte) []byte) error {
	return storage.RetryConflicts(ctx, func() error {
		t, err := o.store.Begin(ctx, storage.TxnOptions{Essential: true})
		if err != nil {
			return err
		}
		defer t.Close()
		now, err := readJob(ctx, t, name)
		switch {
		case err != nil:
			return err
		case now.Owner != o.members.Member() || now.Epoch != h.epoch:
			return ErrOwnershipLost
		case note == nil:
			err = t.Delete(jobKey(name))
		default:
			next := note(now.Note)
			if bytes.Equal(next, now.Note) {
				return nil
			}
			now.Note = next
			err = t.Set(jobKey(name), now.encode())
		}
		if err == nil {
			_, err = t.Commit(ctx, storage.Synced)
		}
		return err
	})
}

// UpdateNote changes the note of a job that this server owns: note gets the present note and returns the new one.
// Errors: ErrOwnershipLost; errors of the store.
func (o *Owners) UpdateNote(ctx context.Context, name string, note func(was []byte) []byte) error {
	o.mu.Lock()
	h := o.owned[name]
	o.mu.Unlock()
	if h == nil {
		return ErrOwnershipLost
	}
	return o.updateRow(ctx, name, h, note)
}

// Request changes the note of a job that any server may own, as a request to its owner: note gets the present note
// and returns the new one. found is false if the job has no row.
func (o *Owners) Request(ctx context.Context, name string, note func(was []byte) []byte) (found bool, err error) {
	err = storage.RetryConflicts(ctx, func() error {
		t, err := o.store.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			return err
		}
		defer t.Close()
		now, err := readJob(ctx, t, name)
		if found = now.Epoch > 0; err != nil || !found {
			return err
		}
		now.Note = note(now.Note)
		if err := t.Set(jobKey(name), now.encode()); err != nil {
			return err
		}
		_, err = t.Commit(ctx, storage.Synced)
		return err
	})
	return found, err
}

// List reads the rows of the jobs whose names begin with a prefix.
func (o *Owners) List(ctx context.Context, prefix string) (list []Job, err error) {
	s, err := o.store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	it, err := s.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaJob, []byte(jobPrefix+prefix)), storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Next() {
		_, name, _ := keyspace.SplitMeta(it.Key())
		one, err := decodeJob(string(name[len(jobPrefix):]), it.Value())
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, it.Err()
}
