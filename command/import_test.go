package command

import "testing"

// A progress file names the store, and nobody's password.
func TestStoreNameHoldsNoPassword(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://u:p%40w@h1,h2/db?replicaSet=rs0": "mongodb://h1,h2/db",
		"mongodb+srv://u:p@host/db":                 "mongodb+srv://host/db",
		"mongodb://h/db":                            "mongodb://h/db",
		"sqlite:/a/b.db":                            "sqlite:/a/b.db",
	} {
		if got := storeName(uri); got != want {
			t.Errorf("%s is %s", uri, got)
		}
	}
}
