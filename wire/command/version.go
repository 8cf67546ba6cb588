package command

import "github.com/cantledb/cantle/collection/release"

// cosmosRelease is the release that the Cosmos listener shows itself as, whatever the others
// do. Source: Azure Cosmos DB for MongoDB, feature-support-70.
const cosmosRelease = release.V7_0

// Release is the release of MongoDB that the client of the connection is shown: drivers and
// tools decide by it what they may ask for, and languages what an answer is.
func (c *Call) Release() release.Release {
	if c.Strict() {
		return cosmosRelease
	}
	return c.Server.Release
}

// FeatureVersion is the feature compatibility version that the client is shown.
func (c *Call) FeatureVersion() string {
	if c.Strict() {
		return cosmosRelease.String()
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
