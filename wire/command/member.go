package command

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cantledb/cantle/collection/cosmos"
)

// ReplicaSet describes the replica set as whose member the server appears to clients. If it is zero, the server appears
// as a mongos.
type ReplicaSet struct {
	Name string
	// Member is the host:port of this server in replies; if it is "", clients see the address at which they connected
	// (Call.socketAddress).
	Member string
	// Others are the host:port of the other members, as they are configured: this server has no connections to them.
	Others []string
}

// Hosts returns the host:port of all members, this server's first.
func (r *ReplicaSet) Hosts() []string { return append([]string{r.Member}, r.Others...) }

// ParseReplicaSet parses an option of the form "name", "name/host:port" or "name/host:port,other:port,…"; "" means no
// replica set.
// Errors: a description of the mistake.
func ParseReplicaSet(s string) (r ReplicaSet, err error) {
	name, member, found := strings.Cut(s, "/")
	switch {
	case s == "":
		return r, nil
	case name == "", strings.ContainsAny(name, ",? &"):
		return r, fmt.Errorf("%q is not the name of a replica set: expected name or name/host:port, as in a connection string", s)
	}
	r.Name = name
	if !found {
		return r, nil
	}
	hosts := strings.Split(member, ",")
	for i, host := range hosts {
		if err := CheckMember(host); err != nil {
			return ReplicaSet{}, err
		}
		if slices.Contains(hosts[:i], host) {
			return ReplicaSet{}, fmt.Errorf("%q is named twice in %q", host, s)
		}
	}
	r.Member, r.Others = hosts[0], hosts[1:]
	return r, nil
}

// CheckMember refuses a text that is not of the form host:port.
func CheckMember(s string) error {
	if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not the address of a member: expected host:port", s)
	}
	return nil
}

// ShownSet returns the replica set that the client of the connection sees, with the address of its member; ok is
// false if the client sees a mongos.
func (c *Call) ShownSet() (r ReplicaSet, ok bool) {
	if r = c.Server.ReplicaSet; c.Strict() {
		r = ReplicaSet{Name: cosmos.ReplicaSet, Member: c.Server.CosmosMember}
	}
	if r.Name == "" {
		return r, false
	}
	if r.Member == "" {
		r.Member = c.socketAddress()
	}
	return r, true
}

// socketAddress returns the address at which the client's connection arrived, with the host name of the TLS handshake
// if there is one: drivers then connect again by the name in the certificate. Behind a port forwarder the port may be
// wrong, because the server does not see the forwarder's.
func (c *Call) socketAddress() string {
	local := c.Conn.Local().String()
	t := c.Conn.TLS()
	if t == nil || t.ServerName == "" {
		return local
	}
	_, port, err := net.SplitHostPort(local)
	if err != nil {
		return local // a socket in the file system
	}
	return net.JoinHostPort(t.ServerName, port)
}

// IsMember reports whether the client sees the server as a member of a replica set, not as a mongos.
func IsMember(c *Call) bool { return c.Strict() || c.Server.ReplicaSet.Name != "" }
