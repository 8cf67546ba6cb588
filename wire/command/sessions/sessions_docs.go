package sessions

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/session"
)

// listSessionDocs returns the documents of $listSessions.
// Manual: reference/operator/aggregation/listSessions.
func (s *State) listSessionDocs(o *cluster.Op, _ collection.Namespace, spec bson.Raw) ([]bson.Raw, error) {
	return s.sessionsOf(o.User, spec, "$listSessions.users")
}

// localSessionDocs returns the documents of the stage $listLocalSessions: the same sessions as $listSessions, because
// both stages list the sessions of this server.
// Manual: reference/operator/aggregation/listLocalSessions.
func (s *State) localSessionDocs(o *cluster.Op, _ collection.Namespace, spec bson.Raw) ([]bson.Raw, error) {
	return s.sessionsOf(o.User, spec, "$listLocalSessions.users")
}

// sessionsOf returns the documents of the sessions that a stage selects by its arguments spec: by default the user's
// own or, without access control, all. field is the name of the argument users in errors.
func (s *State) sessionsOf(user collection.User, spec bson.Raw, field string) ([]bson.Raw, error) {
	own := session.OwnerOf(user.Name, user.DB)
	all := !s.RequireAuth || spec.Get("allUsers").Truthy()
	var of map[session.Owner]bool
	if list, ok := spec.Get("users").Array(); ok {
		var err error
		if of, err = parseUsers(list, field); err != nil {
			return nil, err
		}
	}
	return s.sessionDocs(func(id session.ID) bool {
		if of != nil {
			return of[id.Owner]
		}
		return all || id.Owner == own
	}), nil
}

// sessionDocs returns a document for each session of this server for which include returns true: {_id: {id: UUID, uid:
// digest}, lastUse: date, user: {name: "user@db"}}. user exists only with access control, and as long as there is
// such a user.
// Manual: reference/operator/aggregation/listSessions.
func (s *State) sessionDocs(include func(session.ID) bool) (docs []bson.Raw) {
	names := map[session.Owner]string{}
	if s.RequireAuth {
		for _, u := range s.Auth.Users("") {
			names[session.OwnerOf(u.Name.Name, u.DB)] = u.Name.String()
		}
	}
	s.Sessions.Each(func(id session.ID, used time.Time) bool {
		if !include(id) {
			return true
		}
		b := bson.NewBuilder(nil)
		b.BeginDoc("_id")
		b.Binary("id", 4, id.UUID[:])
		b.Binary("uid", 0, id.Owner[:])
		b.End()
		b.DateTime("lastUse", used.UnixMilli())
		if name := names[id.Owner]; name != "" {
			b.BeginDoc("user")
			b.String("name", name)
			b.End()
		}
		docs = append(docs, b.Doc())
		return true
	})
	return docs
}

// allSessionDocs returns the documents of config.system.sessions.
// Manual: reference/config-database#config.system.sessions.
func (s *State) allSessionDocs() []bson.Raw {
	return s.sessionDocs(func(session.ID) bool { return true })
}
