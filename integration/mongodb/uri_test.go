package mongodb

import "testing"

func TestWithDatabase(t *testing.T) {
	for _, test := range [][2]string{
		{"mongodb://a", "mongodb://a/new"},
		{"mongodb://a:1,b:2/", "mongodb://a:1,b:2/new"},
		{"mongodb://a:1,b:2/old?replicaSet=rs0", "mongodb://a:1,b:2/new?replicaSet=rs0"},
		{"mongodb+srv://u:p@a/old", "mongodb+srv://u:p@a/new?authSource=old"},
		{"mongodb://u:p@a/?w=1", "mongodb://u:p@a/new?w=1&authSource=admin"},
		{"mongodb://u:p@a/old?authsource=x", "mongodb://u:p@a/new?authsource=x"},
	} {
		if got := withDatabase(test[0], "new"); got != test[1] {
			t.Errorf("%s: %s, want %s", test[0], got, test[1])
		}
	}
}
