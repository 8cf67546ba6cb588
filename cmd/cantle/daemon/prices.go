package daemon

import (
	"fmt"
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// prices returns the price list of the server. There is one for all addresses: they spend the same RU/s of the same
// partitions, so a request has to cost the same wherever it comes in.
// Errors: there is no list of that name.
func (c *Config) prices() (*ratelimit.PriceList, error) {
	switch {
	case c.Prices != "":
		list, err := ratelimit.ParsePriceList(c.Prices)
		if err != nil {
			return nil, fmt.Errorf("--prices %w", err)
		}
		return list, nil
	case c.CosmosListen != "":
		return ratelimit.Mongo2023(), nil
	}
	return ratelimit.Normative(), nil
}

// budgets makes the budgets of the server, and the clock of both, which tests may stop.
// Errors: those of prices.
func (c *Config) budgets() (b *ratelimit.Budgets, now func() time.Time, err error) {
	prices, err := c.prices()
	if err != nil {
		return nil, nil, err
	}
	b, now = &ratelimit.Budgets{Prices: prices}, c.clock()
	if c.TestCommands {
		b.Clock = ratelimit.FollowClock(now)
		now = b.Clock.Now
	}
	b.SetMetadataRate(now(), c.MetadataRU)
	return b, now, nil
}
