package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command/shards"
)

// prices returns the price list by which the server charges. All addresses use one list: their requests spend the
// same RU/s of the same partitions, so a request must cost the same at each address.
// Errors: no list has the name of --prices.
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

// budgets makes the budgets of the server, and returns the clock that they use. With test commands, tests can stop
// that clock.
// Errors: the errors of prices.
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

// pricesEvery is the interval at which peers' price lists are compared.
const pricesEvery = time.Minute

// comparePrices warns of each peer that charges by another price list than this server, once per peer: servers over
// one store spend the same RU/s, so a request should cost the same at each.
func (d *Daemon) comparePrices(ctx context.Context) {
	own, warned := d.cluster.Budgets.PriceList().String(), map[storage.MemberID]bool{}
	tick := time.NewTicker(pricesEvery)
	defer tick.Stop()
	for {
		_, list, err := storage.MembershipOf(d.store).Members(ctx)
		if err != nil {
			list = nil // read again after pricesEvery
		}
		for _, m := range list {
			if other := shards.Prices(m); other != "" && other != own && !warned[m.ID] {
				warned[m.ID] = true
				d.log.Warn().Str("prices", own).Str("server", shards.Host(m)).Str("itsPrices", other).
					Msg("servers over one database charge by different price lists, so that a request costs what its server says; start all with the same --prices")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
