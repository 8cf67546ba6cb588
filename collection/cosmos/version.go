package cosmos

import (
	"fmt"
	"strings"
)

// Version is a server version of an account of Azure Cosmos DB. The zero value is no version.
type Version uint8

// The server versions that accounts are offered as. Source: "upgrade-version".
const (
	V3_6 Version = 1 + iota
	V4_0
	V4_2
	V5_0
	V6_0
	V7_0

	Newest = V7_0
)

// versions is the table of server versions. wire is the maxWireVersion that MongoDB's release of the same name
// reports to drivers.
var versions = [Newest + 1]struct {
	name string
	wire int32
}{
	V3_6: {"3.6", 6},
	V4_0: {"4.0", 7},
	V4_2: {"4.2", 8},
	V5_0: {"5.0", 13},
	V6_0: {"6.0", 17},
	V7_0: {"7.0", 21},
}

// ParseVersion parses the name of a server version of an account, such as "4.2". Errors: for an unknown name, one
// that lists all names.
func ParseVersion(name string) (Version, error) {
	for v := V3_6; v <= Newest; v++ {
		if versions[v].name == name {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%q is no server version of Azure Cosmos DB for MongoDB: choose %s", name, strings.Join(VersionNames(), ", "))
}

// VersionNames lists the names of the versions, the oldest first.
func VersionNames() []string {
	var names []string
	for v := V3_6; v <= Newest; v++ {
		names = append(names, v.String())
	}
	return names
}

// String returns the name of the version, such as "4.2".
func (v Version) String() string { return versions[v].name }

// Wire returns the newest version of the wire protocol that accounts of the version support.
func (v Version) Wire() int32 { return versions[v].wire }

// Versions is a set of server versions, as bits.
type Versions uint8

// The sets that rows use.
const (
	Never   Versions = 0
	Until40 Versions = 1<<V3_6 | 1<<V4_0
	Since42 Versions = 1<<V4_2 | 1<<V5_0 | 1<<V6_0 | 1<<V7_0
	Since40 Versions = 1<<V4_0 | Since42
	All     Versions = 1<<V3_6 | Since40
)

// Has reports whether v is in the set.
func (s Versions) Has(v Version) bool { return s>>v&1 != 0 }

// String lists the versions, for people.
func (s Versions) String() string {
	var names []string
	for v := V3_6; v <= Newest; v++ {
		if s.Has(v) {
			names = append(names, v.String())
		}
	}
	return strings.Join(names, ", ")
}

// QueryCommands reports whether accounts of the version accept commands in messages with the opcode OP_QUERY, which
// MongoDB has not accepted since 5.1. Manual: legacy-opcodes.
func (v Version) QueryCommands() bool { return v <= V5_0 }
