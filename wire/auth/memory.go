package auth

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// All users and roles are held in memory. Each of them has a limit in bytes, and together they are limited to a part
// of the working memory. The users and roles of one database may hold at most twice the memory that is left for all.
const (
	// entriesMax is the maximum number of users and roles together.
	entriesMax = 100_000
	// entryBytesMax is the maximum size in bytes of the document of one user or role: some hundred privileges.
	entryBytesMax = 64 << 10
	// customDataMax is the maximum size of a user's customData, in bytes.
	customDataMax = 16 << 10
	// directoryBytesMax is the limit of all users and roles together, in bytes as weigh counts them.
	directoryBytesMax = 128 << 20
	// entryFactor and entryBase bound the heap memory of a user or role: at most entryFactor times the bytes of its
	// document, plus entryBase bytes. TestMetadataBytes checks this.
	entryFactor, entryBase = 3, 512
)

// weigh returns the bytes of memory that are counted for a user or role whose document has doc bytes.
func weigh(doc int) int64 { return int64(doc)*entryFactor + entryBase }

// memoryUse counts the bytes of the entries of each database.
type memoryUse struct {
	memory *ratelimit.Memory
	all    int64
	by     map[string]int64
}

func newMemoryUse(of *ratelimit.Memory) *memoryUse {
	if of == nil || of.Max() > directoryBytesMax {
		of = of.Part(directoryBytesMax)
	}
	return &memoryUse{memory: of, by: map[string]int64{}}
}

// count adds n bytes to the memory counted for the users and roles of a database, even above the limit.
func (h *memoryUse) count(db string, n int64) {
	h.all += n
	if h.by[db] += n; h.by[db] == 0 {
		delete(h.by, db)
	}
	h.memory.Force(n)
}

// fits returns an error if more bytes would make the users and roles of a database exceed their share of the memory.
// Errors: OperationFailed (96).
func (h *memoryUse) fits(db string, more int64) error {
	if own, free := h.by[db]+more, h.memory.Free()-more; more > 0 && (free < 0 || own > ratelimit.ShareFactor*free) {
		return mongoerr.New(mongoerr.OperationFailed, "the users and roles of %s would hold %d bytes of memory, with %d left for all: shorten or drop some that are not needed, or raise --work-memory",
			db, own, max(0, free))
	}
	return nil
}

// recount counts all entries anew.
func (h *memoryUse) recount(users map[Name]*User, roles map[Name]*Role) {
	h.memory.Give(h.all)
	h.all, h.by = 0, map[string]int64{}
	for _, u := range users {
		h.count(u.DB, u.bytes)
	}
	for _, r := range roles {
		h.count(r.DB, r.bytes)
	}
}

// checkMemory returns an error if the change e makes a user or role, those of one database, or all of them together
// too large, or may make them too many (entriesMax). An entry that is already too large may stay so large or shrink.
// The caller holds mu. Errors: BSONObjectTooLarge (10334), OperationFailed (96).
func (e *Edit) checkMemory() error {
	more := map[string]int64{}
	for n, u := range e.users {
		was := e.Directory.users[n]
		if u != nil {
			u.bytes = weigh(len(u.Doc()))
			if err := tooLarge("The user", n, u.bytes, was.weight()); err != nil {
				return err
			}
			if len(u.CustomData) > customDataMax && (was == nil || len(u.CustomData) > len(was.CustomData)) {
				return mongoerr.New(mongoerr.BSONObjectTooLarge, "The customData of %s has %d bytes, more than the %d that are kept of a user; "+
					"keep the rest in a collection, by the name of the user", n, len(u.CustomData), customDataMax)
			}
		}
		more[n.DB] += u.weight() - was.weight()
	}
	for n, r := range e.roles {
		was := e.Directory.roles[n]
		if r != nil {
			r.bytes = weigh(len(r.Doc()))
			if err := tooLarge("The role", n, r.bytes, was.weight()); err != nil {
				return err
			}
		}
		more[n.DB] += r.weight() - was.weight()
	}
	if n := len(e.Directory.users) + len(e.Directory.roles) + len(e.users) + len(e.roles); n > entriesMax {
		return mongoerr.New(mongoerr.OperationFailed, "there are too many users and roles; at most %d are kept", entriesMax)
	}
	for db, n := range more {
		if err := e.memoryUse.fits(db, n); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge(what string, n Name, is, was int64) error {
	if is <= was || is <= weigh(entryBytesMax) {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge, "%s %s would have %d bytes, more than the %d that one may have; "+
		"give it fewer roles, privileges or restrictions, or several roles in its place", what, n, (is-entryBase)/entryFactor, entryBytesMax)
}

// weight returns the bytes of memory that are counted for a user, 0 for nil.
func (u *User) weight() int64 {
	if u == nil {
		return 0
	}
	return u.bytes
}

// weight returns the bytes of memory that are counted for a role, 0 for nil.
func (r *Role) weight() int64 {
	if r == nil {
		return 0
	}
	return r.bytes
}
