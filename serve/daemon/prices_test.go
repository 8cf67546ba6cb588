package daemon

import "testing"

// With a Cosmos address, the default price list is that of Cosmos DB's API; --prices overrides it. The error for an
// unknown name has the valid names.
func TestPrices(t *testing.T) {
	for _, x := range []struct{ prices, cosmos, want string }{
		{"", "", "normative"}, {"", "127.0.0.1:0", "mongo-2023"}, {"normative", "127.0.0.1:0", "normative"}, {"mongo-2023", "", "mongo-2023"},
	} {
		list, err := (&Config{Prices: x.prices, CosmosListen: x.cosmos}).prices()
		if err != nil || list.Name != x.want {
			t.Errorf("%+v: %v, %v", x, list, err)
		}
	}
	if _, err := (&Config{Prices: "azure"}).prices(); err == nil || err.Error() != "--prices azure: there is no such list; there are normative, mongo-2023" {
		t.Error(err)
	}
}
