package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// kind of what servers over one store are asked to do with sessions: whoever ends what a session does wants it
// ended at all of them, as mongos does.
const kind = "killSessions"

// patternsMax is how many patterns are told at a time.
const patternsMax = 10_000

// told is a sessionPattern as it is told to another server.
type told struct {
	UUID, Owner []byte   `json:",omitempty"`
	Users       [][]byte // nil: those of any
	UID         []byte   `json:",omitempty"`
}

func (p *sessionPattern) tell() (t told) {
	if !p.id.IsZero() {
		t.UUID, t.Owner = p.id.UUID[:], p.id.Owner[:]
	}
	if p.users != nil {
		t.Users = [][]byte{}
		for u := range p.users {
			t.Users = append(t.Users, u[:])
		}
	}
	if p.hasUID {
		t.UID = p.owner[:]
	}
	return t
}

func (t *told) pattern() (p sessionPattern) {
	copy(p.id.UUID[:], t.UUID)
	copy(p.id.Owner[:], t.Owner)
	if t.Users != nil {
		p.users = map[session.Owner]bool{}
		for _, u := range t.Users {
			p.users[session.Owner(u)] = true
		}
	}
	if p.hasUID = t.UID != nil; p.hasUID {
		p.owner = session.Owner(t.UID)
	}
	return p
}

// answerKill ends what sessions do here, for another server.
func (s *State) answerKill(_ context.Context, body []byte) ([]byte, error) {
	var list []told
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	patterns := make([]sessionPattern, len(list))
	for i := range list {
		for _, u := range append(list[i].Users, list[i].UID) {
			if u != nil && len(u) != len(session.Owner{}) {
				return nil, fmt.Errorf("%d bytes are no user", len(u))
			}
		}
		patterns[i] = list[i].pattern()
	}
	s.kill(patterns, 0)
	return nil, nil
}

// killElsewhere has the other servers do the same.
// Errors: HostUnreachable (6) if one does not answer; those of the store.
func killElsewhere(c *command.Call, patterns []sessionPattern) error {
	if c.Cluster.Others == nil {
		return nil
	}
	for first := true; first || len(patterns) > 0; first = false {
		part := patterns[:min(len(patterns), patternsMax)]
		patterns = patterns[len(part):]
		list := make([]told, len(part))
		for i := range part {
			list[i] = part[i].tell()
		}
		body, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, silent, err := c.Cluster.Others.Ask(c.Ctx, kind, body)
		if err != nil {
			return err
		}
		if len(silent) > 0 {
			return mongoerr.New(mongoerr.HostUnreachable, "What the sessions do was ended at all servers but %s, which did not answer: run the command again, "+
				"until they do or are gone", strings.Join(silent, ", "))
		}
	}
	return nil
}
