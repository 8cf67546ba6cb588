package shard

import "testing"

func TestMove(t *testing.T) {
	m := newMap(t, Hashed, 3)
	fresh, err := m.Move(1, 9)
	if err != nil || fresh.Check() != nil {
		t.Fatal(err, fresh.Check())
	}
	if d := fresh.Shard(9); d == nil || d.Lo.String() != m.Shard(1).Lo.String() || d.Newest() != m.Shard(1).Newest() || fresh.Shard(1) != nil || fresh.Len() != 3 {
		t.Fatalf("%+v", fresh)
	}
	if v := fresh.Version(); v.Epoch != m.Version().Epoch || !m.Version().Before(v) {
		t.Fatalf("a new id needs no new epoch: %v", v)
	}
	// The previous id may come back, in another epoch.
	back, err := fresh.Move(9, 1)
	if err != nil || back.Check() != nil {
		t.Fatal(err, back.Check())
	}
	if v := back.Version(); v.Epoch == fresh.Version().Epoch || !fresh.Version().Before(v) {
		t.Fatalf("%v after %v", v, fresh.Version())
	}
	// Children get ids above all previous ones.
	at, _ := back.Shard(1).Middle()
	split, err := back.Split(1, HashPosition(at))
	if err != nil || split.Check() != nil || split.Shard(10) == nil || split.Shard(11) == nil {
		t.Fatal(err, split)
	}
	again, err := Decode(split.Encode())
	if err != nil || again.Shard(10) == nil {
		t.Fatal(err)
	}
	if moved, err := split.Move(0, 1); err != nil || moved.Check() != nil { // 1 is the parent of 10 and 11
		t.Fatal(err, moved.Check())
	}
	for _, bad := range [][2]ID{{7, 8}, {0, 2}, {0, 0}} {
		if _, err := m.Move(bad[0], bad[1]); err == nil {
			t.Errorf("%v was moved to %v", bad[0], bad[1])
		}
	}
}
