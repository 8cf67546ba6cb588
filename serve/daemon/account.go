package daemon

import (
	"fmt"

	"github.com/cantledb/cantle/collection/cosmos"
)

// account makes the Cosmos DB account that the Cosmos address offers to clients, from the settings.
// Errors: invalid values of the account's flags.
func (c *Config) account() (*cosmos.Account, error) {
	a := cosmos.NewAccount()
	a.Lenient = c.CosmosLenient
	var err error
	if c.CosmosVersion != "" {
		if a.Version, err = cosmos.ParseVersion(c.CosmosVersion); err != nil {
			return nil, fmt.Errorf("--cosmos-version: %w", err)
		}
	}
	if a.Capabilities, err = cosmos.ParseCapabilities(c.CosmosCapabilities); err != nil {
		return nil, fmt.Errorf("--cosmos-capabilities: %w", err)
	}
	return a, nil
}

// retriesRequests reports whether the server itself retries requests that exceed their budget, instead of refusing
// them.
func (c *Config) retriesRequests(a *cosmos.Account) bool {
	return c.ServerRetry || a.Capabilities&cosmos.DisableRateLimitingResponses != 0
}

// cosmosOptions returns the options of the connection string of an account.
func cosmosOptions(a *cosmos.Account) string {
	options := "replicaSet=" + cosmos.ReplicaSet
	if a.Capabilities&cosmos.EnableMongoRetryableWrites == 0 {
		options += "&retryWrites=false"
	}
	return options
}
