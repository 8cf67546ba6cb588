package daemon

import (
	"fmt"
	"path/filepath"

	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/serve/secretfile"
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

// accountFileName is the file in the folder of --data with the connection string of the Cosmos address, which contains
// the key that the server generated.
const accountFileName = "cosmos-account.txt"

// writeAccount writes the connection string of the Cosmos address into a file that only the user of the server can
// read, because the key is printed once only: at the start that generates it. It writes none if logins are not
// required, if the key is a setting, or if the server keeps no files. An error is only logged.
func (d *Daemon) writeAccount() {
	if !d.cfg.Auth || d.cfg.CosmosKey != "" || d.cosmos == nil || !d.cfg.KeepsFiles() || d.cfg.ServeDamaged {
		return
	}
	file := filepath.Join(d.cfg.Data, accountFileName)
	if err := secretfile.Replace(file, []byte(d.CosmosURI()+"\n")); err != nil {
		d.log.Warn().Err(err).Msg("the account's connection string could not be written")
		return
	}
	d.accountFile = file
}

// AccountFile returns the file with the connection string of the Cosmos address and its key, "" if there is none.
func (d *Daemon) AccountFile() string { return d.accountFile }

// cosmosOptions returns the options of the connection string of an account.
func cosmosOptions(a *cosmos.Account) string {
	options := "replicaSet=" + cosmos.ReplicaSet
	if a.Capabilities&cosmos.EnableMongoRetryableWrites == 0 {
		options += "&retryWrites=false"
	}
	return options
}
