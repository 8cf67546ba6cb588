package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Directory holds all users and roles in memory, as the store has them. A change is durable before checks use it.
// Safe for concurrent use.
type Directory struct {
	store   storage.Store
	version atomic.Uint64
	changes sync.Mutex // one change at a time

	// WaitAppliedByAll, if not nil, waits until all peers have applied every change of users and roles with a
	// timestamp up to at. It is set before the first change.
	WaitAppliedByAll func(ctx context.Context, at storage.Timestamp) error

	mu          sync.RWMutex
	onDropped   func(*User)       // called for users that were dropped; see OnDropped
	appliedUpTo storage.Timestamp // the users and roles include all changes up to this timestamp; used only with peers
	users       map[Name]*User
	roles       map[Name]*Role
	memoryUse   *memoryUse

	decoy [decoyBytes]byte // of fabricated credentials, see KeepDecoy
}

// Open reads the users and roles of a store. Their memory is counted in m; if m is nil or larger than
// directoryBytesMax, the limit is directoryBytesMax. Errors: storage.ErrCorruption, errors of the store.
func Open(ctx context.Context, s storage.Store, m *ratelimit.Memory) (*Directory, error) {
	d := &Directory{store: s, users: map[Name]*User{}, roles: map[Name]*Role{}, memoryUse: newMemoryUse(m)}
	d.version.Store(1)
	rand.Read(d.decoy[:]) // never fails
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	err = each(ctx, r, keyspace.MetaUser, func(doc bson.Raw) error {
		u, err := parseUser(doc)
		if err == nil {
			d.users[u.Name] = u
		}
		return err
	})
	if err == nil {
		err = each(ctx, r, keyspace.MetaRole, func(doc bson.Raw) error {
			x, err := parseRole(doc)
			if err == nil {
				d.roles[x.Name] = x
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	d.memoryUse.recount(d.users, d.roles)
	return d, nil
}

func each(ctx context.Context, r storage.Reader, kind keyspace.MetaKind, visit func(bson.Raw) error) error {
	return storage.Each(ctx, r, keyspace.MetaRange(kind), func(_, value []byte) error { return visit(bson.Raw(slices.Clone(value))) })
}

// Version returns a number that increases with every change of the directory and is never 0, so that a cache of
// Grants can detect a change.
func (d *Directory) Version() uint64 { return d.version.Load() }

// Invalidate makes every client's privileges be resolved again.
func (d *Directory) Invalidate() { d.version.Add(1) }

// User returns a user; nil if there is none.
func (d *Directory) User(n Name) *User {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.users[n]
}

// Role returns a role that is not built-in; nil if there is none.
func (d *Directory) Role(n Name) *Role {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.roles[n]
}

// HasRole reports whether a role exists, built-in ones included.
func (d *Directory) HasRole(n Name) bool { return builtinNamed(n) != nil || d.Role(n) != nil }

// IsBuiltin reports whether the role is built-in.
func IsBuiltin(n Name) bool { return builtinNamed(n) != nil }

// Empty reports whether there are neither users nor roles. Then a client on the server's machine may create the
// first user without a login.
func (d *Directory) Empty() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.users) == 0 && len(d.roles) == 0
}

// Users returns the users of a database in the order of their names; "" means all databases.
func (d *Directory) Users(db string) []*User {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return listed(d.users, db)
}

// Roles returns the roles of a database, without the built-in ones, in the order of their names; "" means all
// databases.
func (d *Directory) Roles(db string) []*Role {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return listed(d.roles, db)
}

// listed returns the entries of a database in the order of their names; "" means all databases.
func listed[E any](entries map[Name]E, db string) (out []E) {
	for _, n := range slices.SortedFunc(maps.Keys(entries), Compare) {
		if db == "" || n.DB == db {
			out = append(out, entries[n])
		}
	}
	return out
}

// Inherited returns the given roles and all roles that they inherit, directly or not, in the order of Compare. Roles
// that no longer exist are left out. Errors: errors of env, which end the command.
func (d *Directory) Inherited(env *mql.Env, roles []Name) (out []Name, err error) {
	err = d.walk(env, map[Name]bool{}, roles, func(n Name, _ *Role) error {
		out = append(out, n)
		return nil
	})
	slices.SortFunc(out, Compare)
	return out, err
}

// Leading returns the first of the given roles that is the role to, or inherits it; ok is false if there is none.
// Errors: errors of env, which end the command.
func (d *Directory) Leading(env *mql.Env, roles []Name, to Name) (n Name, ok bool, err error) {
	seen := map[Name]bool{} // roles that do not lead to the role to
	for _, n := range roles {
		found := n == to
		err := d.walk(env, seen, []Name{n}, func(m Name, _ *Role) error {
			found = found || m == to
			return nil
		})
		if found || err != nil {
			return n, found, err
		}
	}
	return n, false, nil
}

// walk calls visit once for each of the given roles and each role that they inherit, and adds them to seen. It leaves
// out roles that are in seen already or do not exist. r is nil for a built-in role. Errors: errors of visit; errors of
// env, which end the command.
func (d *Directory) walk(env *mql.Env, seen map[Name]bool, roles []Name, visit func(n Name, r *Role) error) error {
	todo := slices.Clone(roles)
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		if err := env.Tick(); err != nil {
			return err
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		var r *Role
		if builtinNamed(n) == nil {
			if r = d.Role(n); r == nil {
				continue
			}
			todo = append(todo, r.Roles...)
		}
		if err := visit(n, r); err != nil {
			return err
		}
	}
	return nil
}

// Privileges returns all privileges of the given roles and of the roles that they inherit, each resource once, without
// the actions of ofAdministrators in roles outside admin. Errors: errors of env, which end the command.
func (d *Directory) Privileges(env *mql.Env, roles []Name) ([]Privilege, error) {
	var m merged
	err := d.walk(env, map[Name]bool{}, roles, func(n Name, r *Role) error {
		if r == nil {
			m.add(builtinNamed(n).Privileges(n.DB))
			return nil
		}
		less := Actions{}
		if n.DB != "admin" {
			less = ofAdministrators
		}
		m.addWithout(r.Privileges, less)
		return env.Spend(len(r.Privileges) * entryWork)
	})
	return m.list, err
}

// Restrictions returns the restrictions on addresses of a user and of all its roles; a connection must satisfy each
// of them. Errors: errors of env, which end the command.
func (d *Directory) Restrictions(env *mql.Env, u *User) (all []Restrictions, err error) {
	all = append(all, u.Restrictions)
	err = d.walk(env, map[Name]bool{}, u.Roles, func(_ Name, r *Role) error {
		if r != nil {
			all = append(all, r.Restrictions)
		}
		return nil
	})
	return all, err
}

// RoleRequestMax returns the smallest default cap of commands of the given roles and the roles that they inherit; 0 for
// none. Errors: errors of env, which end the command.
func (d *Directory) RoleRequestMax(env *mql.Env, roles []Name) (least ratelimit.MicroRU, err error) {
	err = d.walk(env, map[Name]bool{}, roles, func(_ Name, r *Role) error {
		if r != nil && r.RequestMax != 0 && (least == 0 || r.RequestMax < least) {
			least = r.RequestMax
		}
		return nil
	})
	return least, err
}

// Edit is a change of the directory in progress.
type Edit struct {
	*Directory
	users map[Name]*User // nil: dropped
	roles map[Name]*Role
}

// User returns a user as the change leaves it.
func (e *Edit) User(n Name) *User {
	if u, ok := e.users[n]; ok {
		return u
	}
	return e.Directory.User(n)
}

// PutUser adds or replaces a user.
func (e *Edit) PutUser(u *User) { e.users[u.Name] = u }

// DropUser removes a user.
func (e *Edit) DropUser(n Name) { e.users[n] = nil }

// PutRole adds or replaces a role.
func (e *Edit) PutRole(r *Role) { e.roles[r.Name] = r }

// DropRoles removes roles from the directory, and from the users and roles to which they were granted. Errors:
// errors of env, which end the command.
func (e *Edit) DropRoles(env *mql.Env, names ...Name) error {
	dropped := map[Name]bool{}
	for _, n := range names {
		e.roles[n] = nil
		dropped[n] = true
	}
	gone := func(m Name) bool { return dropped[m] }
	for _, u := range e.Directory.Users("") {
		if err := env.Spend(entryWork * (1 + len(u.Roles)/16)); err != nil {
			return err
		}
		if now := e.User(u.Name); now != nil && slices.ContainsFunc(now.Roles, gone) {
			changed := *now
			changed.Roles = slices.DeleteFunc(slices.Clone(now.Roles), gone)
			e.PutUser(&changed)
		}
	}
	for _, r := range e.Directory.Roles("") {
		if err := env.Spend(entryWork * (1 + len(r.Roles)/16)); err != nil {
			return err
		}
		now, ok := e.roles[r.Name]
		if !ok {
			now = r
		}
		if now != nil && slices.ContainsFunc(now.Roles, gone) {
			changed := *now
			changed.Roles = slices.DeleteFunc(slices.Clone(now.Roles), gone)
			e.PutRole(&changed)
		}
	}
	return nil
}

// Change makes the change that fn describes, and returns when it is durable and all peers have applied it. fn is
// called with the state of the store, and again after a write conflict. If fn returns an error, nothing changes.
// Errors: errors of fn and of the store; BSONObjectTooLarge (10334) and OperationFailed (96) if the change exceeds a
// limit; errors of WaitAppliedByAll, after the change.
func (d *Directory) Change(ctx context.Context, fn func(e *Edit) error) error {
	d.changes.Lock()
	defer d.changes.Unlock()
	var at storage.Timestamp
	err := storage.RetryConflicts(ctx, func() error {
		t, err := d.store.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			return err
		}
		defer t.Close()
		if !storage.Exclusive(d.store) { // peers may have changed users
			if err := d.Reload(ctx, t); err != nil {
				return err
			}
		}
		e, err := d.edit(fn)
		if e == nil || err != nil {
			return err
		}
		if err := e.put(t); err != nil {
			return err
		}
		if err := keyspace.TouchTopic(ctx, d.store, t, Topic); err != nil {
			return err
		}
		if at, err = t.Commit(ctx, storage.Synced); err == nil {
			d.apply(e, at)
		}
		return err
	})
	if err != nil || d.WaitAppliedByAll == nil {
		return err
	}
	return d.WaitAppliedByAll(ctx, at)
}

// edit calls fn, which fills in an empty Edit on the present state, and returns that Edit without applying it; nil if
// fn changes nothing. Errors: errors of fn and of checkMemory.
func (d *Directory) edit(fn func(e *Edit) error) (*Edit, error) {
	e := &Edit{d, map[Name]*User{}, map[Name]*Role{}}
	if err := fn(e); err != nil || len(e.users) == 0 && len(e.roles) == 0 {
		return nil, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := e.checkMemory(); err != nil {
		return nil, err
	}
	return e, nil
}

// apply makes the change e, which was committed at the timestamp at, part of the state in memory.
func (d *Directory) apply(e *Edit, at storage.Timestamp) {
	var gone []*User
	d.mu.Lock()
	d.appliedUpTo = max(d.appliedUpTo, at)
	for n, u := range e.users {
		if was := d.users[n]; was != nil && !was.sameUser(u) {
			gone = append(gone, was)
		}
		d.memoryUse.count(n.DB, u.weight()-d.users[n].weight())
		if d.users[n] = u; u == nil {
			delete(d.users, n)
		}
	}
	for n, r := range e.roles {
		d.memoryUse.count(n.DB, r.weight()-d.roles[n].weight())
		if d.roles[n] = r; r == nil {
			delete(d.roles, n)
		}
	}
	d.mu.Unlock()
	d.version.Add(1)
	d.notifyDropped(gone)
}

// OnDropped sets a function that is called for each dropped user, to end what the user has in progress. It is
// called whichever server dropped the user, even if a new user has the same name, and before the command that
// dropped the user is answered. The function must not change the directory.
func (d *Directory) OnDropped(fn func(*User)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onDropped = fn
}

// notifyDropped calls the function set by OnDropped for each of the dropped users. The caller does not hold mu.
func (d *Directory) notifyDropped(users []*User) {
	d.mu.RLock()
	gone := d.onDropped
	d.mu.RUnlock()
	if gone == nil {
		return
	}
	for _, u := range users {
		gone(u)
	}
}

// put writes the change in a transaction.
func (e *Edit) put(t storage.Txn) error {
	put := func(kind keyspace.MetaKind, n Name, doc bson.Raw) error {
		key := keyspace.AppendMeta(nil, kind, n.key())
		if doc == nil {
			return t.Delete(key)
		}
		return t.Set(key, doc)
	}
	var errs []error
	for n, u := range e.users {
		var doc bson.Raw
		if u != nil {
			doc = u.Doc()
		}
		errs = append(errs, put(keyspace.MetaUser, n, doc))
	}
	for n, r := range e.roles {
		var doc bson.Raw
		if r != nil {
			doc = r.Doc()
		}
		errs = append(errs, put(keyspace.MetaRole, n, doc))
	}
	return errors.Join(errs...)
}
