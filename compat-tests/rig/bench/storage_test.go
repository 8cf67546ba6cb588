package main

import (
	"strings"
	"testing"
	"time"
)

// TestStorage runs every measurement of two servers over a simulated cluster.
func TestStorage(t *testing.T) {
	var out strings.Builder
	s := settings{documents: 200, seconds: 0.2, storage: simulatedStorage, delay: time.Millisecond}
	if err := measureStorage(t.Context(), &out, s, extent{servers: 2, rounds: 1, writes: 5, idle: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 servers: definitions", "  createIndex  ", "  nobody else writes  ", "  4 others write  ", "2 servers: idle", "2        read  ", "2        update", "2        insert"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

// TestPlace checks the values of the flag: the simulator or the address of a cluster.
func TestPlace(t *testing.T) {
	for value, ok := range map[string]bool{"true": true, "tikv://pd:2379/x": true, "shop": false} {
		var p storageFlag
		if err := p.Set(value); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
}
