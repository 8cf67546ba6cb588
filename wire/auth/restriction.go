package auth

import (
	"net"
	"net/netip"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Restrictions restrict the addresses from which, and at which, a client may connect: a connection must match one of
// them. An empty list restricts nothing. Manual: reference/method/db.createUser#authentication-restrictions.
type Restrictions []Restriction

// Restriction matches a connection whose client address is in Client and whose server address is in Server; an empty
// list matches every address.
type Restriction struct {
	Client []netip.Prefix
	Server []netip.Prefix
}

// ParseRestrictions reads an array of {clientSource, serverAddress}.
// Errors: TypeMismatch (14), BadValue (2), UnsupportedFormat (12), IDLDuplicateField (40413).
func ParseRestrictions(v bson.Value) (Restrictions, error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.UnsupportedFormat, "'authenticationRestrictions' field must be an array, but found %s", v.Type)
	}
	out := Restrictions{}
	for v := range list.Values() {
		d, ok := v.Doc()
		if !ok || v.Type != bson.TypeDocument {
			return nil, mongoerr.New(mongoerr.UnsupportedFormat, "'authenticationRestrictions' array sub-documents must be objects, but found %s", v.Type)
		}
		if name, twice := d.Repeated(); twice {
			return nil, mongoerr.RepeatedField("authenticationRestrictions." + string(name))
		}
		var r Restriction
		for it := d.Iter(); it.Next(); {
			addresses, err := parseAddresses(string(it.Name), it.Value)
			if err != nil {
				return nil, err
			}
			switch string(it.Name) {
			case "clientSource":
				r.Client = addresses
			case "serverAddress":
				r.Server = addresses
			default:
				return nil, mongoerr.New(mongoerr.BadValue, "'%s' is not a known authentication restriction", it.Name)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// parseAddresses reads addresses and ranges of them: "10.0.0.1", "10.0.0.0/8".
func parseAddresses(field string, v bson.Value) (out []netip.Prefix, err error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'%s' must be an array of addresses, but found %s", field, v.Type)
	}
	for v := range list.Values() {
		s, ok := v.Str()
		if !ok || v.Type != bson.TypeString {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "'%s' must hold strings, but found %s", field, v.Type)
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, err := netip.ParseAddr(s)
			if err != nil {
				return nil, mongoerr.New(mongoerr.BadValue, "'%s' holds \"%s\", which is no address and no range in CIDR notation", field, s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Append writes the restrictions as an array.
func (rs Restrictions) Append(b *bson.Builder, name string) {
	b.BeginArray(name)
	for _, r := range rs {
		b.BeginDoc("")
		appendAddresses(b, "clientSource", r.Client)
		appendAddresses(b, "serverAddress", r.Server)
		b.End()
	}
	b.End()
}

func appendAddresses(b *bson.Builder, name string, list []netip.Prefix) {
	if list == nil {
		return
	}
	b.BeginArray(name)
	for _, p := range list {
		if p.IsSingleIP() {
			b.String("", p.Addr().String())
		} else {
			b.String("", p.String())
		}
	}
	b.End()
}

// Allow reports whether a connection between two addresses satisfies the restrictions. A connection over a Unix
// socket has no addresses, and matches only a Restriction whose lists are empty.
func (rs Restrictions) Allow(client, server net.Addr) bool {
	if len(rs) == 0 {
		return true
	}
	for _, r := range rs {
		if contains(r.Client, client) && contains(r.Server, server) {
			return true
		}
	}
	return false
}

func contains(list []netip.Prefix, a net.Addr) bool {
	if list == nil {
		return true
	}
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return false
	}
	ip := t.AddrPort().Addr().Unmap()
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
