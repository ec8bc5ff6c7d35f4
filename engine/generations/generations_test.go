package generations

import "testing"

// The number of entries is bounded, and used entries stay.
func TestMap(t *testing.T) {
	g := Map[int, int]{Most: 10}
	for i := range 1000 {
		g.Put(i, i)
		if value, ok := g.Get(0); !ok || value != 0 {
			t.Fatalf("after %d, the value in use is forgotten", i)
		}
		if n := len(g.young) + len(g.old); n > 10 {
			t.Fatalf("%d are remembered", n)
		}
	}
	if _, ok := g.Get(500); ok {
		t.Error("an unused value is remembered")
	}
}

// A value that is large counts as several.
func TestMapByWeight(t *testing.T) {
	g := Map[int, int]{Most: 100, Weigh: func(value int) int { return value }}
	for i := range 1000 {
		g.Put(i, 20)
		if n := len(g.young) + len(g.old); n > 5 {
			t.Fatalf("%d are remembered", n)
		}
	}
	g.Put(1000, 500)
	if _, ok := g.Get(1000); !ok {
		t.Error("the latest value is forgotten")
	}
	g.Put(1001, 1)
	if _, ok := g.Get(1001); !ok || len(g.young)+len(g.old) > 2 {
		t.Error("more is remembered than the latest values")
	}
}
