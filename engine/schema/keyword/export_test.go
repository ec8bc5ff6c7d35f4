package keyword

import "slices"

// Remove takes a keyword that a test has declared from the list.
func Remove(k *Keyword) {
	is := func(other *Keyword) bool { return other == k }
	all, values, types = slices.DeleteFunc(all, is), slices.DeleteFunc(values, is), slices.DeleteFunc(types, is)
	delete(byName, k.Name)
}
