package sessions

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// runKillAllSessions kills the sessions of the users that the command lists, or all sessions if the list is empty.
// Manual: reference/command/killAllSessions.
func (s *State) runKillAllSessions(c *command.Call) error {
	const field = "KillAllSessionsCmd.killAllSessions"
	list, err := sessionList(c, field)
	if err != nil {
		return err
	}
	owners, err := parseUsers(list, field)
	if err != nil {
		return err
	}
	var patterns []sessionPattern
	if !list.IsEmpty() {
		patterns = []sessionPattern{{users: owners}}
	}
	return s.killSessions(c, patterns)
}

// parseUsers reads an array of users {user, db}, and returns the owner of each one's sessions. It skips nulls. field
// is the array's name in errors.
// Errors: TypeMismatch (14), IDLFailedToParse (40414), IDLUnknownField (40415).
func parseUsers(list bson.Raw, field string) (map[session.Owner]bool, error) {
	owners := map[session.Owner]bool{}
	for it := list.Iter(); it.Next(); {
		if it.Value.IsNullish() {
			continue
		}
		d, ok := it.Value.Doc()
		if !ok || it.Value.Type != bson.TypeDocument {
			return nil, mongoerr.WrongType(field+"."+string(it.Name), it.Value.Type.String(), "object")
		}
		if name, twice := d.Repeated(); twice {
			return nil, mongoerr.RepeatedField(field + "." + string(name))
		}
		var user, db string
		var hasUser, hasDB bool
		for it := d.Iter(); it.Next(); {
			name := string(it.Name)
			if name != "user" && name != "db" {
				return nil, mongoerr.UnknownField(field + "." + name)
			}
			if it.Value.IsNullish() {
				continue
			}
			if it.Value.Type != bson.TypeString {
				return nil, mongoerr.WrongType(field+"."+name, it.Value.Type.String(), "string")
			}
			if s, _ := it.Value.Str(); name == "user" {
				user, hasUser = s, true
			} else {
				db, hasDB = s, true
			}
		}
		switch {
		case !hasUser:
			return nil, mongoerr.MissingField(field + ".user")
		case !hasDB:
			return nil, mongoerr.MissingField(field + ".db")
		}
		owners[session.OwnerOf(user, db)] = true
	}
	return owners, nil
}

// sessionPattern is a condition on sessions.
type sessionPattern struct {
	id     session.ID // zero for any session
	users  map[session.Owner]bool
	owner  session.Owner
	hasUID bool
	roles  bool // the pattern also had roles
}

// of reports whether the pattern matches the sessions of a user.
func (p *sessionPattern) of(owner session.Owner) bool {
	return (p.users == nil || p.users[owner]) && (!p.hasUID || p.owner == owner)
}

// parseKillByPattern reads the arguments of killAllSessionsByPattern, which kills the sessions that match one of the
// patterns, or all sessions if the list is empty. A pattern with users or roles needs the privilege impersonate.
// Manual: reference/command/killAllSessionsByPattern#access-control.
func (s *State) parseKillByPattern(c *command.Call) (command.Request, error) {
	const field = "KillAllSessionsByPatternCmd.killAllSessionsByPattern"
	list, err := sessionList(c, field)
	if err != nil {
		return nil, err
	}
	var patterns []sessionPattern
	impersonates := false
	for it := list.Iter(); it.Next(); {
		if it.Value.IsNullish() {
			continue
		}
		d, ok := it.Value.Doc()
		if !ok || it.Value.Type != bson.TypeDocument {
			return nil, mongoerr.WrongType(field+"."+string(it.Name), it.Value.Type.String(), "object")
		}
		p, err := parseSessionPattern(c, d, field)
		if err != nil {
			return nil, err
		}
		impersonates = impersonates || p.users != nil || p.roles
		patterns = append(patterns, p)
	}
	return command.NewRequest(func(q *command.PrivilegeCheck) {
		if impersonates {
			q.NeedOnCluster(auth.Impersonate)
		}
	}, func(c *command.Call) error {
		if patterns == nil && !list.IsEmpty() {
			return nil // only nulls, which match no session
		}
		return s.killSessions(c, patterns)
	}), nil
}

// parseSessionPattern reads a pattern {lsid, uid, users, roles} of killAllSessionsByPattern.
// Errors: TypeMismatch (14), IDLUnknownField (40415), errors of session.ParseID.
func parseSessionPattern(c *command.Call, d bson.Raw, field string) (p sessionPattern, err error) {
	if name, twice := d.Repeated(); twice {
		return p, mongoerr.RepeatedField(field + "." + string(name))
	}
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "lsid":
			p.id, err = session.ParseID(it.Value, c.ConnState.Owner, field+"."+name)
		case "uid":
			sub, b, ok := it.Value.Binary()
			if !ok || sub != 0 || len(b) != len(p.owner) {
				return p, mongoerr.WrongType(field+"."+name, it.Value.Type.String(), "binData")
			}
			copy(p.owner[:], b)
			p.hasUID = true
		case "users":
			list, ok := it.Value.Array()
			if !ok {
				return p, mongoerr.WrongType(field+"."+name, it.Value.Type.String(), "array")
			}
			p.users, err = parseUsers(list, field+"."+name)
		case "roles":
			if _, ok := it.Value.Array(); !ok {
				return p, mongoerr.WrongType(field+"."+name, it.Value.Type.String(), "array")
			}
			p.roles = true
		default:
			err = mongoerr.UnknownField(field + "." + name)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}
