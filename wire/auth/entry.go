package auth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// Name identifies a user or a role by its name and its database.
type Name struct{ Name, DB string }

// String returns "name@db".
func (n Name) String() string { return n.Name + "@" + n.DB }

// Compare orders names by database, then by name.
func Compare(a, b Name) int {
	if c := strings.Compare(a.DB, b.DB); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// id returns the _id that MongoDB gives users and roles.
func (n Name) id() string { return n.DB + "." + n.Name }

// key returns the name in the form of keys of the store: the database, a zero byte, the name. Neither part contains
// a zero byte.
func (n Name) key() []byte { return []byte(n.DB + "\x00" + n.Name) }

// External is the database of users that are authenticated by an external service, such as a certificate authority.
const External = "$external"

// User is one user. Immutable once it is in a Directory.
type User struct {
	Name
	ID           [16]byte // a UUID, new with each createUser
	Credentials  map[Mechanism]Credential
	Roles        []Name
	CustomData   bson.Raw          // nil without
	Restrictions Restrictions      // on the addresses of a connection, both the client's and the server's
	RequestMax   ratelimit.MicroRU // the default cap of the user's commands; 0 for none

	bytes int64 // bytes that the user counts for
}

// Role is a role that is not built-in. Immutable once it is in a Directory.
type Role struct {
	Name
	Privileges   []Privilege // each resource once
	Roles        []Name
	Restrictions Restrictions
	RequestMax   ratelimit.MicroRU // as that of a user, for every user that has the role

	bytes int64 // bytes that the role counts for
}

// sameUser reports whether other is this user, changed or not, rather than a later user with the same name. other
// may be nil.
func (u *User) sameUser(other *User) bool { return other != nil && other.ID == u.ID }

// Same reports whether other is the same user and has the same password for the mechanism, so that a proof for one
// is also a proof for the other.
func (u *User) Same(other *User, m Mechanism) bool {
	return u.sameUser(other) && bytes.Equal(u.Credentials[m].StoredKey, other.Credentials[m].StoredKey)
}

// Key returns the user's identity.
func (u *User) Key() collection.User {
	return collection.User{Name: u.Name.Name, DB: u.DB, ID: u.ID}
}

// NewUserID makes the UUID of a new user.
func NewUserID() (id [16]byte) {
	rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// Mechanisms returns the mechanisms by which the user can log in, in alphabetical order; "external" for a user of
// $external.
func (u *User) Mechanisms() []Mechanism {
	if u.DB == External {
		return []Mechanism{"external"}
	}
	var list []Mechanism
	for m := range u.Credentials {
		list = append(list, m)
	}
	slices.Sort(list)
	return list
}

// Doc returns the user as a document of admin.system.users.
// Manual: reference/system-users-collection.
func (u *User) Doc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", u.id())
	b.Binary("userId", 4, u.ID[:])
	b.String("user", u.Name.Name)
	b.String("db", u.DB)
	u.AppendCredentials(b)
	if u.CustomData != nil {
		b.Raw("customData", u.CustomData)
	}
	AppendNames(b, "roles", "role", u.Roles)
	if u.Restrictions != nil {
		u.Restrictions.Append(b, "authenticationRestrictions")
	}
	AppendRequestMax(b, u.RequestMax)
	return b.Doc()
}

// AppendCredentials writes the user's credentials.
func (u *User) AppendCredentials(b *bson.Builder) {
	b.BeginDoc("credentials")
	for _, m := range u.Mechanisms() {
		if m == "external" {
			b.Bool("external", true)
			continue
		}
		u.Credentials[m].append(b, string(m))
	}
	b.End()
}

// AppendNames writes an array of {user, db} or {role, db}.
func AppendNames(b *bson.Builder, field, kind string, list []Name) {
	b.BeginArray(field)
	for _, n := range list {
		b.BeginDoc("")
		b.String(kind, n.Name)
		b.String("db", n.DB)
		b.End()
	}
	b.End()
}

// Doc returns the role as a document of admin.system.roles.
// Manual: reference/system-roles-collection.
func (r *Role) Doc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", r.id())
	b.String("role", r.Name.Name)
	b.String("db", r.DB)
	b.BeginArray("privileges")
	for _, p := range r.Privileges {
		p.Append(b, "")
	}
	b.End()
	AppendNames(b, "roles", "role", r.Roles)
	if r.Restrictions != nil {
		r.Restrictions.Append(b, "authenticationRestrictions")
	}
	AppendRequestMax(b, r.RequestMax)
	return b.Doc()
}

// parseUser reads a document of User.Doc.
// Errors: storage.ErrCorruption.
func parseUser(d bson.Raw) (*User, error) {
	u := &User{Credentials: map[Mechanism]Credential{}, bytes: weigh(len(d))}
	u.Name.Name, _ = d.Get("user").Str()
	u.DB, _ = d.Get("db").Str()
	_, id, _ := d.Get("userId").Binary()
	copy(u.ID[:], id)
	u.Roles = parseNames(d.Get("roles"), "role")
	u.RequestMax = parseRequestMax(d)
	if c, ok := d.Get("customData").Doc(); ok {
		u.CustomData = c.Clone()
	}
	creds, _ := d.Get("credentials").Doc()
	for it := creds.Iter(); it.Next(); {
		if m := Mechanism(it.Name); m.known() {
			c, err := parseCredential(it.Value)
			if err != nil {
				return nil, err
			}
			u.Credentials[m] = c
		}
	}
	var err error
	if v, ok := d.Lookup("authenticationRestrictions"); ok {
		u.Restrictions, err = ParseRestrictions(v)
	}
	if err != nil || u.Name.Name == "" || u.DB == "" {
		return nil, storage.ErrCorruption
	}
	return u, nil
}

// parseRole reads a document of Role.Doc.
// Errors: storage.ErrCorruption.
func parseRole(d bson.Raw) (*Role, error) {
	r := &Role{bytes: weigh(len(d))}
	r.Name.Name, _ = d.Get("role").Str()
	r.DB, _ = d.Get("db").Str()
	r.Roles = parseNames(d.Get("roles"), "role")
	r.RequestMax = parseRequestMax(d)
	list, _ := d.Get("privileges").Array()
	var err error
	if r.Privileges, err = ParsePrivileges(mql.NewEnv(context.Background()), list); err != nil {
		return nil, storage.ErrCorruption
	}
	if v, ok := d.Lookup("authenticationRestrictions"); ok {
		r.Restrictions, err = ParseRestrictions(v)
	}
	if err != nil || r.Name.Name == "" || r.DB == "" {
		return nil, storage.ErrCorruption
	}
	return r, nil
}

// requestMaxField is the field of a user or role with the default cap of commands, in request units.
const requestMaxField = "defaultMaxRequestUnits"

// AppendRequestMax writes a default cap of commands, if there is one.
func AppendRequestMax(b *bson.Builder, m ratelimit.MicroRU) {
	if m != 0 {
		b.Double(requestMaxField, m.Exact())
	}
}

func parseRequestMax(d bson.Raw) ratelimit.MicroRU {
	n, _ := d.Get(requestMaxField).AsFloat()
	return ratelimit.AmountOf(min(n, 1e9))
}

func parseNames(v bson.Value, kind string) (names []Name) {
	list, _ := v.Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get(kind).Str()
		db, _ := d.Get("db").Str()
		names = append(names, Name{name, db})
	}
	return names
}
