package articlesearch

import (
	"context"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources/article"
)

// target is one member of a targeting object that names things.
type target struct {
	names   []string
	negated bool
}

// targets are those members of a targeting object that narrow a search. All
// must hold; one that names nothing does.
type targets struct{ publishers, sites, groups, countries, urls, domains target }

// targetsOf reads them from a targeting object in its stored form.
func targetsOf(members map[string]any) targets {
	of := func(key, list string) (t target) {
		member, _ := members[key].(map[string]any)
		items, _ := member[list].([]any)
		for _, item := range items {
			if name, ok := item.(string); ok {
				t.names = append(t.names, name)
			}
		}
		t.negated, _ = member["negated"].(bool)
		return t
	}
	return targets{
		publishers: of("publisherTarget", "earningsAccounts"), sites: of("siteTarget", "sites"), groups: of("siteGroupTarget", "siteGroups"),
		countries: of("siteCountryTarget", "countries"), urls: of("articleTarget", "urls"), domains: of("domainNameTarget", "names"),
	}
}

// filter makes a condition of the targets, and of what the caller sees. What
// sites say of themselves is read now, so that a change of a site counts at
// once; it is nil when there is nothing to narrow by.
func (n *targets) filter(ctx context.Context, e *engine.Engine, r *engine.Reading, t *schema.Type) (func(*article.Entry) bool, error) {
	var conditions []func(*article.Entry) bool
	add := func(t target, matches func(*article.Entry) bool) {
		conditions = append(conditions, func(e *article.Entry) bool { return matches(e) != t.negated })
	}
	everything, visible, err := r.Scope(ctx, t)
	if err != nil {
		return nil, err
	}
	if !everything {
		conditions = append(conditions, func(e *article.Entry) bool { return visible[e.ID] })
	}
	if names := setOf(n.sites.names); len(names) > 0 {
		add(n.sites, func(e *article.Entry) bool { return names[e.Site] })
	}
	if names := setOf(n.urls.names); len(names) > 0 {
		add(n.urls, func(e *article.Entry) bool { return names[e.URL] })
	}
	if names := n.domains.names; len(names) > 0 {
		add(n.domains, func(e *article.Entry) bool { return slices.ContainsFunc(names, e.InDomain) })
	}
	if len(n.groups.names) > 0 {
		sites, err := sitesOf(ctx, e, r, "siteGroup", n.groups.names)
		if err != nil {
			return nil, err
		}
		add(n.groups, func(e *article.Entry) bool { return sites[e.Site] })
	}
	if names := setOf(n.publishers.names); len(names) > 0 {
		sites, err := sitesOf(ctx, e, r, "earningsAccount", n.publishers.names)
		if err != nil {
			return nil, err
		}
		add(n.publishers, func(e *article.Entry) bool {
			if e.EarningsAccount != "" {
				return names[e.EarningsAccount]
			}
			return sites[e.Site]
		})
	}
	if names := setOf(n.countries.names); len(names) > 0 {
		hosts, err := siteHosts(ctx, e, r)
		if err != nil {
			return nil, err
		}
		add(n.countries, func(e *article.Entry) bool {
			host := hosts[e.Site]
			if host == "" {
				host = e.Host
			}
			return names[countryOf(host)]
		})
	}
	if len(conditions) == 0 {
		return nil, nil
	}
	return func(e *article.Entry) bool {
		for _, holds := range conditions {
			if !holds(e) {
				return false
			}
		}
		return true
	}, nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// asked is how many values a query names at most.
const asked = 500

// sitesOf are the ids of the sites that refer to one of the objects.
func sitesOf(ctx context.Context, e *engine.Engine, r *engine.Reading, property string, ids []string) (map[string]bool, error) {
	sites := map[string]bool{}
	t, served := e.Registry().Type("sites")
	if !served {
		return sites, nil
	}
	field, err := t.Field("", property)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(ids, asked) {
		values := make([]any, len(some))
		for i, id := range some {
			values[i] = id
		}
		err := r.Find(ctx, t, query.In{Field: field, Values: values}, func(site *store.Record) error {
			sites[site.ID] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// siteHosts are the hosts of the sites' URLs.
func siteHosts(ctx context.Context, e *engine.Engine, r *engine.Reading) (map[string]string, error) {
	hosts := map[string]string{}
	t, served := e.Registry().Type("sites")
	if !served {
		return hosts, nil
	}
	err := r.Find(ctx, t, query.And{}, func(site *store.Record) error {
		address := textOf(site, "siteUrl")
		if !strings.Contains(address, "://") {
			address = "//" + address // as people write it
		}
		hosts[site.ID] = article.HostOf(address)
		return nil
	})
	return hosts, err
}

// countryOf is the country of a host by its top-level domain, "" for one that
// is of no country.
func countryOf(host string) string {
	top := host[strings.LastIndexByte(host, '.')+1:]
	if len(top) != 2 || top == host || top[0] < 'a' {
		return ""
	}
	if top == "uk" {
		return "GB"
	}
	return strings.ToUpper(top)
}

// textOf is a text of a record, "" for none.
func textOf(r *store.Record, name string) string {
	at, _, ok := document.Member(r.Document, 0, name)
	if !ok || r.Document[at] != '"' {
		return ""
	}
	return document.Text(r.Document, at)
}
