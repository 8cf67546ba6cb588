package command

import (
	"fmt"
	"net"
	"strings"
)

// ReplicaSet is the set whose only member the server is shown as. The zero
// ReplicaSet is none: the server is shown as a mongos.
type ReplicaSet struct {
	Name string
	// Member is the host:port that clients are told to reach the member at; ""
	// is the address they have reached it at.
	Member string
}

// ParseReplicaSet reads "name" or "name/host:port"; "" is no set.
// Errors: what is wrong with it.
func ParseReplicaSet(s string) (r ReplicaSet, err error) {
	name, member, found := strings.Cut(s, "/")
	switch {
	case s == "":
		return r, nil
	case name == "", strings.ContainsAny(name, ",? &"):
		return r, fmt.Errorf("%q is not the name of a replica set: expected name or name/host:port, as in a connection string", s)
	case found:
		if host, port, err := net.SplitHostPort(member); err != nil || host == "" || port == "" {
			return r, fmt.Errorf("%q is not the address of a member: expected host:port", member)
		}
	}
	return ReplicaSet{name, member}, nil
}

// accountSet is the set of an account. Source: Azure Cosmos DB for MongoDB,
// connection strings (replicaSet=globaldb).
const accountSet = "globaldb"

// ShownSet is the set that the client of the connection sees, with the member's
// address; ok is false when it sees a mongos.
func (c *Call) ShownSet() (r ReplicaSet, ok bool) {
	switch {
	case c.Strict():
		return ReplicaSet{accountSet, c.Conn.Local().String()}, true
	case c.Server.ReplicaSet.Name == "":
		return r, false
	}
	if r = c.Server.ReplicaSet; r.Member == "" {
		r.Member = c.Conn.Local().String()
	}
	return r, true
}

// IsMember reports a client that sees a member of a set.
func IsMember(c *Call) bool {
	_, ok := c.ShownSet()
	return ok
}
