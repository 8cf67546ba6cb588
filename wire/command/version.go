package command

import (
	"strconv"
	"strings"

	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/release"
)

// cosmosRelease is the release of MongoDB by whose rules the server runs all commands of the Cosmos listener,
// whatever release the other listeners have and whichever version the account shows: versions of accounts differ only
// in their tables of features. Source: Azure Cosmos DB for MongoDB, feature-support-70.
const cosmosRelease = release.V7_0

// Release returns the release of MongoDB that the client of the connection sees. Drivers and tools choose the
// features that they use by this release, and the query languages follow its behaviour.
func (c *Call) Release() release.Release {
	if c.Strict() {
		return cosmosRelease
	}
	return c.Server.Release
}

// shownVersion holds the release of MongoDB that a client sees in the replies to hello and buildInfo.
type shownVersion struct {
	Version string   // such as "4.2.0"
	Parts   [4]int32 // of the version
	Wire    int32    // the last version of the protocol
}

// ShownVersion returns the release of MongoDB that the client sees; on the Cosmos listener that is the version of the
// account.
func (c *Call) ShownVersion() shownVersion {
	r := c.Release()
	if !c.Strict() {
		return shownVersion{r.Version(), r.VersionArray(), r.MaxWireVersion()}
	}
	v := c.ConnState.Cosmos.Version
	if v == cosmos.Newest {
		return shownVersion{r.Version(), r.VersionArray(), v.Wire()}
	}
	s := shownVersion{Version: v.String() + ".0", Wire: v.Wire()}
	for i, part := range strings.Split(v.String(), ".") {
		n, _ := strconv.ParseInt(part, 10, 32) // digits of a row
		s.Parts[i] = int32(n)
	}
	return s
}

// FeatureVersion returns the feature compatibility version that the client sees.
func (c *Call) FeatureVersion() string {
	if c.Strict() {
		return c.ConnState.Cosmos.Version.String()
	}
	return c.Server.FeatureVersion()
}

// FeatureVersion returns the feature compatibility version of the server: its release, unless
// setFeatureCompatibilityVersion has lowered it. The version is only shown. As in MongoDB, the meaning of a
// request follows the release; data has the same format under every version.
func (s *Server) FeatureVersion() string {
	if lower := s.Lowered.Load(); lower != nil {
		return *lower
	}
	return s.Release.String()
}
