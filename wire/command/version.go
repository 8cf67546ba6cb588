package command

import (
	"strconv"
	"strings"

	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/release"
)

// cosmosRelease is the release by which requests on the Cosmos listener are answered, whatever
// the others do and whichever version the account shows: the versions of accounts differ by
// their tables of features. Source: Azure Cosmos DB for MongoDB, feature-support-70.
const cosmosRelease = release.V7_0

// Release is the release of MongoDB that the client of the connection is shown: drivers and
// tools decide by it what they may ask for, and languages what an answer is.
func (c *Call) Release() release.Release {
	if c.Strict() {
		return cosmosRelease
	}
	return c.Server.Release
}

// shown is the release that a client of the connection is shown, in hello and buildInfo.
type shown struct {
	Version string   // "4.2.0"
	Parts   [4]int32 // of the version
	Wire    int32    // the last version of the protocol
}

// Shown is the release that the client is shown; on the Cosmos listener that of the account.
func (c *Call) Shown() shown {
	r := c.Release()
	if !c.Strict() {
		return shown{r.Version(), r.VersionArray(), r.MaxWireVersion()}
	}
	v := c.Peer.Cosmos.Version
	if v == cosmos.Newest {
		return shown{r.Version(), r.VersionArray(), v.Wire()}
	}
	s := shown{Version: v.String() + ".0", Wire: v.Wire()}
	for i, part := range strings.Split(v.String(), ".") {
		n, _ := strconv.ParseInt(part, 10, 32) // digits of a row
		s.Parts[i] = int32(n)
	}
	return s
}

// FeatureVersion is the feature compatibility version that the client is shown.
func (c *Call) FeatureVersion() string {
	if c.Strict() {
		return c.Peer.Cosmos.Version.String()
	}
	return c.Server.FeatureVersion()
}

// FeatureVersion is the feature compatibility version of the server: its release, unless
// setFeatureCompatibilityVersion has set it down. It is only shown. What a request means
// follows the release, as with MongoDB; what a lower version would forbid to write down in a
// new form has one form here.
func (s *Server) FeatureVersion() string {
	if lower := s.Lowered.Load(); lower != nil {
		return *lower
	}
	return s.Release.String()
}
