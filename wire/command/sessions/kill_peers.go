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

// killSessionsKind is the kind of call that a server sends to its peers to kill sessions there: as with several
// mongos, a session can have commands at every server.
const killSessionsKind = "killSessions"

// patternsMax is the maximum number of session patterns in one call to peers; more patterns need several calls.
const patternsMax = 10_000

// patternMessage is a sessionPattern in the JSON form of a call to peers.
type patternMessage struct {
	UUID, Owner []byte   `json:",omitempty"`
	Users       [][]byte // nil: the sessions of any user
	UID         []byte   `json:",omitempty"`
}

func (p *sessionPattern) doc() (t patternMessage) {
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

func (t *patternMessage) pattern() (p sessionPattern) {
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

// answerKill kills sessions at this server for a peer.
func (s *State) answerKill(_ context.Context, body []byte) ([]byte, error) {
	var list []patternMessage
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

// killAtPeers kills the sessions that match one of the patterns at all peers; without patterns, all sessions.
// Errors: HostUnreachable (6) if a peer does not answer; errors of the store.
func killAtPeers(c *command.Call, patterns []sessionPattern) error {
	for first := true; first || len(patterns) > 0; first = false {
		part := patterns[:min(len(patterns), patternsMax)]
		patterns = patterns[len(part):]
		list := make([]patternMessage, len(part))
		for i := range part {
			list[i] = part[i].doc()
		}
		body, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, unreachable, err := c.Cluster.Peers.Call(c.Ctx, killSessionsKind, body)
		if err != nil {
			return err
		}
		if len(unreachable) > 0 {
			return mongoerr.New(mongoerr.HostUnreachable, "What the sessions do was ended at all servers but %s, which did not answer: run the command again, "+
				"until they do or are gone", strings.Join(unreachable, ", "))
		}
	}
	return nil
}
