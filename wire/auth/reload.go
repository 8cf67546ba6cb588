package auth

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Topic is the name by which servers over one store announce a change of users and roles to each other, because each
// caches them in memory.
const Topic = "users"

// Reload replaces the users and roles in memory by those of a snapshot of the store, unless this process has newer
// ones. Errors: storage.ErrCorruption, errors of the store.
func (d *Directory) Reload(ctx context.Context, r storage.Reader) error {
	users, roles := map[Name]*User{}, map[Name]*Role{}
	err := each(ctx, r, keyspace.MetaUser, func(doc bson.Raw) error {
		u, err := parseUser(doc)
		if err == nil {
			users[u.Name] = u
		}
		return err
	})
	if err == nil {
		err = each(ctx, r, keyspace.MetaRole, func(doc bson.Raw) error {
			x, err := parseRole(doc)
			if err == nil {
				roles[x.Name] = x
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	d.notifyDropped(d.replace(users, roles, r.ReadTimestamp()))
	return nil
}

// replace installs the users and roles of a snapshot with the timestamp at, unless the directory has newer ones. It
// returns the users that this removed, for OnDropped.
func (d *Directory) replace(users map[Name]*User, roles map[Name]*Role, at storage.Timestamp) (gone []*User) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at < d.appliedUpTo {
		return nil
	}
	for n, was := range d.users {
		if !was.sameUser(users[n]) {
			gone = append(gone, was)
		}
	}
	d.users, d.roles, d.appliedUpTo = users, roles, at
	d.memoryUse.recount(users, roles)
	d.version.Add(1)
	return gone
}
