package location

// ranksOf returns the populations that order locations. A region ranks directly
// after the city in it with the same name, instead of before it for a population
// that includes the city's. A country ranks before all locations in it.
func ranksOf(locations []Location) []int64 {
	cities, largest := map[container]map[string]int64{}, map[string]int64{}
	for i := range locations {
		l := &locations[i]
		if l.Type != Country {
			largest[l.Country] = max(largest[l.Country], l.Population)
		}
		if l.Type == City && l.Region != "" {
			in := container{l.Region, l.Country}
			if cities[in] == nil {
				cities[in] = map[string]int64{}
			}
			name := firstForm(l.Name)
			cities[in][name] = max(cities[in][name], l.Population)
		}
	}
	ranks := make([]int64, len(locations))
	for i := range locations {
		l := &locations[i]
		ranks[i] = l.Population
		switch l.Type {
		case Region:
			if city, named := cities[container{l.Name, l.Country}][firstForm(l.Name)]; named {
				ranks[i] = min(l.Population, city-1)
			}
		case Country:
			ranks[i] = max(l.Population, largest[l.Name]+1)
		}
	}
	return ranks
}

func firstForm(name string) string {
	if all := forms(name); len(all) > 0 {
		return all[0]
	}
	return ""
}
