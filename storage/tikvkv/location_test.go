package tikvkv

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

func TestParseLocation(t *testing.T) {
	for text, want := range map[string]string{
		"tikv://pd1:2379,pd2:1/shop":                 "tikv://pd1:2379,pd2:1/shop",
		"tikv://pd1":                                 "tikv://pd1:2379/cantle",
		"tikv://[::1]:2379/a?ca=x&cert=/y%20z&key=k": "tikv://[::1]:2379/a",
	} {
		if l, err := ParseLocation(text); err != nil || l.String() != want {
			t.Errorf("%s is %s, %v", text, l, err)
		}
	}
	if l, _ := ParseLocation("tikv://a?ca=x&cert=/y%20z&key=k"); l.CA != "x" || l.Cert != "/y z" || l.Key != "k" {
		t.Errorf("the files of TLS are %+v", l)
	}
	for text, want := range map[string]bool{"tikv://a": false, "tikv://a/b?exclusive=true": true, "tikv://a/b?exclusive=false&ca=x": false} {
		if l, err := ParseLocation(text); err != nil || l.Exclusive != want {
			t.Errorf("%s: exclusive is %v, %v", text, l.Exclusive, err)
		}
	}
	for text, want := range map[string]string{
		"tikv://a/b?exclusive=1": "true or false", "tikv://a/b?exclusive": "true or false",
		"pd1:2379": "a TiKV cluster is tikv://", "tikv:///shop": "addresses of PD are missing", "tikv://a,,b/c": "addresses of PD are missing",
		"tikv://a/b/c": "letters, digits", "tikv://a/b?cert=x": "TLS to the cluster", "tikv://a/b?cert=x&key=y": "TLS to the cluster", "tikv://a/b?sa=x": "none of ca",
	} {
		if _, err := ParseLocation(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// If PD does not answer, connect returns ErrUnavailable with the address when its timeout has passed.
func TestNoReplyOfPeers(t *testing.T) {
	fake(t) // silences the client
	_, err := connect(t.Context(), Location{Addresses: []string{"127.0.0.1:1"}, Keyspace: "k"}, 300*time.Millisecond)
	if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
}
