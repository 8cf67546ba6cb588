package release

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Release is a release of MongoDB, such as 8.0. Releases are counted in tenths from 8.0, so that they are in order
// and the zero value is Default.
type Release int8

// The releases that a server can report, and those between, from which behaviours hold.
const (
	V7_0 Release = iota - 10
	V7_1
	V7_2
	V7_3
	V8_0 Release = iota - 4
	V8_1
	V8_2
	V8_3
	V9_0 Release = 10
)

// Default is the release of a server that is configured without one.
const Default = V8_0

// offer holds the properties of a release that clients see.
type offer struct {
	release Release
	wire    int32  // wire is hello's maxWireVersion
	lower   string // lower are the feature compatibility versions to which a server of the release can be lowered
}

// offers are the releases of MongoDB that a server can report to clients, in order.
//
// Manual: reference/command/setFeatureCompatibilityVersion. Wire versions: the drivers' own tables
// (mongo-csharp-driver WireVersion.cs; DRIVERS-2885 for 8.0, CDRIVER-6290 for 9.0).
var offers = []offer{
	{release: V7_0, wire: 21, lower: "6.0"},
	{release: V8_0, wire: 25, lower: "7.0"},
	{release: V8_3, wire: 28, lower: "8.0 8.2"},
	{release: V9_0, wire: 29, lower: "8.0 8.3"},
}

// offer returns the row of offers for r. If servers cannot report r, it is that of the last release before r that
// they can.
func (r Release) offer() offer {
	i := len(offers) - 1
	for i > 0 && offers[i].release > r {
		i--
	}
	return offers[i]
}

// Parse parses the name of a release that servers can report, such as "8.0".
// Errors: for an unknown name, one that lists these releases.
func Parse(s string) (Release, error) {
	i := slices.IndexFunc(offers, func(o offer) bool { return o.release.String() == s })
	if i < 0 {
		return Default, fmt.Errorf("%q is no release to be compatible with: choose %s", s, Names())
	}
	return offers[i].release, nil
}

// Offered returns the releases that a server can report, in order.
func Offered() []Release {
	var out []Release
	for _, o := range offers {
		out = append(out, o.release)
	}
	return out
}

// Names lists the offered releases, for people.
func Names() string {
	var names []string
	for _, o := range offers {
		names = append(names, o.release.String())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// String returns the name of the release, such as "8.0", which is also its feature compatibility version.
func (r Release) String() string {
	major, minor := r.parts()
	return strconv.Itoa(major) + "." + strconv.Itoa(minor)
}

// parts returns the numbers of r's name.
func (r Release) parts() (major, minor int) {
	n := int(r) + 80
	return n / 10, n % 10
}

// Version returns the version of a server of the release with three numbers, as buildInfo reports it.
func (r Release) Version() string { return r.String() + ".0" }

// VersionArray returns the parts of the version, as in buildInfo's versionArray.
func (r Release) VersionArray() [4]int32 {
	major, minor := r.parts()
	return [4]int32{int32(major), int32(minor)}
}

// MaxWireVersion returns the newest version of the wire protocol that a server of the release supports. Drivers
// derive from it which features they may use.
func (r Release) MaxWireVersion() int32 { return r.offer().wire }

// LowerFeatures returns the feature compatibility versions to which a server of the release can be lowered: that of
// the last major release, and that of the last minor one after it, if any.
func (r Release) LowerFeatures() []string { return strings.Fields(r.offer().lower) }

// Has reports whether a behaviour holds in r.
func (r Release) Has(b Behaviour) bool { return r >= Behaviours[b].Since }
