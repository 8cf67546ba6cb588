package tikvkv

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Location is the parsed address of a store: PD's addresses, the keyspace, files for TLS, and
// whether only one process may use the keyspace.
type Location struct {
	Addresses     []string // of PD, host:port
	Keyspace      string
	CA, Cert, Key string // PEM files; "" for a cluster without TLS
	Exclusive     bool
}

// Scheme is the scheme of a location's URL.
const Scheme = "tikv"

// ParseLocation parses the address of a store as operators write it:
// tikv://pd1:2379,pd2:2379/keyspace?ca=FILE&cert=FILE&key=FILE&exclusive=true. Its errors are messages for the
// operator.
func ParseLocation(text string) (l Location, err error) {
	rest, ok := strings.CutPrefix(text, Scheme+"://")
	if !ok {
		return l, fmt.Errorf("a TiKV cluster is %s://pd1:2379,pd2:2379/keyspace, not %q", Scheme, text)
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, keyspace, _ := strings.Cut(rest, "/")
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return l, errors.New("the addresses of PD are missing: " + Scheme + "://pd1:2379,pd2:2379/keyspace")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "2379")
		}
		l.Addresses = append(l.Addresses, host)
	}
	if l.Keyspace = keyspace; keyspace == "" {
		l.Keyspace = "cantle"
	}
	if _, err := newLayout(l.Keyspace); err != nil {
		return l, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return l, err
	}
	for name := range values {
		switch name {
		case "ca":
			l.CA = values.Get(name)
		case "cert":
			l.Cert = values.Get(name)
		case "key":
			l.Key = values.Get(name)
		case "exclusive":
			if l.Exclusive = values.Get(name) == "true"; !l.Exclusive && values.Get(name) != "false" {
				return l, fmt.Errorf("exclusive is true or false, not %q", values.Get(name))
			}
		default:
			return l, fmt.Errorf("%q is none of ca, cert, key and exclusive", name)
		}
	}
	if (l.Cert == "") != (l.Key == "") || l.Cert != "" && l.CA == "" {
		return l, errors.New("TLS to the cluster needs ca, and cert and key together")
	}
	return l, nil
}

// String returns the location as a URL, without its query.
func (l Location) String() string {
	return Scheme + "://" + strings.Join(l.Addresses, ",") + "/" + l.Keyspace
}
