package memkv

import (
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
)

func open(testing.TB) storage.Store { return Open(Options{}) }

func TestConformance(t *testing.T) { storagetest.Conformance(t, open) }

func TestNemesis(t *testing.T) { storagetest.Nemesis(t, open, storagetest.NemesisOptions{}) }
