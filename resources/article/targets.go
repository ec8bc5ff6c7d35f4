package article

import (
	"context"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources/article/index"
)

// target is a member of a targeting object with a list of names.
type target struct {
	names   []string
	negated bool
}

// targets are the members of a targeting object that narrow a search. An article must
// match all of them; an empty one matches every article.
type targets struct{ publishers, sites, groups, countries, urls, domains target }

// targetsOf reads targets from a targeting object in its stored form.
func targetsOf(members map[string]any) targets {
	of := func(key, list string) (t target) {
		member, _ := members[key].(map[string]any)
		t.names = document.Strings(member[list])
		t.negated, _ = member["negated"].(bool)
		return t
	}
	return targets{
		publishers: of("publisherTarget", "earningsAccounts"), sites: of("siteTarget", "sites"), groups: of("siteGroupTarget", "siteGroups"),
		countries: of("siteCountryTarget", "countries"), urls: of("articleTarget", "urls"), domains: of("domainNameTarget", "names"),
	}
}

// filter are conditions of a search, all of which an article must meet.
type filter []func(*index.Entry) bool

func (f *filter) add(t target, matches func(*index.Entry) bool) {
	*f = append(*f, func(e *index.Entry) bool { return matches(e) != t.negated })
}

func (f filter) holds(e *index.Entry) bool {
	for _, holds := range f {
		if !holds(e) {
			return false
		}
	}
	return true
}

// filter returns a condition for the targets and for what the caller can see, or nil
// if all articles match.
func (n *targets) filter(ctx context.Context, e *engine.Engine, r *engine.Reading, t *schema.Type) (func(*index.Entry) bool, error) {
	var conditions filter
	everything, visible, err := r.Scope(ctx, t)
	if err != nil {
		return nil, err
	}
	if !everything {
		conditions = append(conditions, func(e *index.Entry) bool { return visible[e.ID] })
	}
	if names := setOf(n.sites.names); len(names) > 0 {
		conditions.add(n.sites, func(e *index.Entry) bool { return names[e.Site] })
	}
	if names := setOf(n.urls.names); len(names) > 0 {
		conditions.add(n.urls, func(e *index.Entry) bool { return names[e.URL] })
	}
	if names := n.domains.names; len(names) > 0 {
		conditions.add(n.domains, index.DomainsOf(names).Hold)
	}
	if err := n.filterBySites(ctx, e, r, &conditions); err != nil || len(conditions) == 0 {
		return nil, err
	}
	return conditions.holds, nil
}

// filterBySites adds the conditions that depend on properties of an article's site. It
// reads the sites, so that changes of sites take effect immediately.
func (n *targets) filterBySites(ctx context.Context, e *engine.Engine, r *engine.Reading, conditions *filter) error {
	if len(n.groups.names) > 0 {
		sites, err := sitesOf(ctx, e, r, "siteGroup", n.groups.names)
		if err != nil {
			return err
		}
		conditions.add(n.groups, func(e *index.Entry) bool { return sites[e.Site] })
	}
	if names := setOf(n.publishers.names); len(names) > 0 {
		sites, err := sitesOf(ctx, e, r, "earningsAccount", n.publishers.names)
		if err != nil {
			return err
		}
		conditions.add(n.publishers, func(e *index.Entry) bool {
			if e.EarningsAccount != "" {
				return names[e.EarningsAccount]
			}
			return sites[e.Site]
		})
	}
	if names := setOf(n.countries.names); len(names) > 0 {
		hosts, err := siteHosts(ctx, e, r)
		if err != nil {
			return err
		}
		conditions.add(n.countries, func(e *index.Entry) bool {
			host := hosts[e.Site]
			if host == "" {
				host = e.Host
			}
			return names[countryOf(host)]
		})
	}
	return nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// maxValues is the maximum number of values in a query.
const maxValues = 500

// sitesOf returns the ids of the sites that refer to one of the objects.
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
	for some := range slices.Chunk(ids, maxValues) {
		err := r.Find(ctx, t, query.In{Field: field, Values: document.Array(some)}, func(site *store.Record) error {
			sites[site.ID] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// siteHosts returns the hosts of the sites' URLs by site.
func siteHosts(ctx context.Context, e *engine.Engine, r *engine.Reading) (map[string]string, error) {
	hosts := map[string]string{}
	t, served := e.Registry().Type("sites")
	if !served {
		return hosts, nil
	}
	err := r.Find(ctx, t, query.All, func(site *store.Record) error {
		address := document.MemberText(site.Document, "siteUrl")
		if !strings.Contains(address, "://") {
			address = "//" + address // without a scheme
		}
		hosts[site.ID] = index.HostOf(address)
		return nil
	})
	return hosts, err
}

// countryOf returns the country of a host's top-level domain, or "".
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
